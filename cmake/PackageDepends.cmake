# SPDX-License-Identifier: Apache-2.0
# Read by cpack: what each package depends on, found out from its program.
foreach(name IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${name} component)
  set(root "")
  if(CPACK_WEFT_SYSROOT)
    set(root --root ${CPACK_WEFT_SYSROOT})
  endif()
  execute_process(
    COMMAND python3 ${CPACK_WEFT_SOURCES}/tools/package_depends.py ${root} ${CPACK_WEFT_BIN}/${name}
    OUTPUT_VARIABLE depends OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  if(name STREQUAL "weft")
    set(version ${CPACK_PACKAGE_VERSION})
    if(CPACK_DEBIAN_PACKAGE_VERSION)
      set(version ${CPACK_DEBIAN_PACKAGE_VERSION})
    endif()
    string(APPEND depends ", weft-edge (= ${version}), weft-ps (= ${version})")
  else()  # a service, whose user is made by systemd-sysusers
    string(APPEND depends ", systemd | systemd-standalone-sysusers | systemd-sysusers")
  endif()
  set(CPACK_DEBIAN_${component}_PACKAGE_DEPENDS "${depends}")
endforeach()
