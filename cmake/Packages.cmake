# SPDX-License-Identifier: Apache-2.0
# The Debian packages weft-edge, weft-ps and, where the workbench is built, weft: what goes into
# them, and CPack's settings. `./dev package` builds the target package-files and runs cpack. What
# they hold beside the programs is in boards/packages and docs/man.
#
# Something more for the boards: install(... DESTINATION usr/share/weft COMPONENT weft-edge).

set(package_sources ${PROJECT_SOURCE_DIR}/boards/packages)
set(package_build ${PROJECT_BINARY_DIR}/packages)
file(READ ${package_sources}/sandbox.conf SANDBOX)
find_program(PYTHON_PROGRAM python3)
mark_as_advanced(PYTHON_PROGRAM)

if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "armv7l")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE armhf)
else()
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
endif()
set(CPACK_COMPONENTS_ALL weft-edge)
if(NOT CPACK_DEBIAN_PACKAGE_ARCHITECTURE STREQUAL "armhf")
  list(APPEND CPACK_COMPONENTS_ALL weft-ps)
endif()
if(TARGET weft)
  list(APPEND CPACK_COMPONENTS_ALL weft)
endif()

# A package's program, man page, completion, change log and copyright.
set(package_files "")
function(weft_package name summary description)
  string(TOUPPER ${name} component)
  set(documents ${package_build}/${name}.1 ${package_build}/${name}.bash)
  add_custom_command(OUTPUT ${documents} ${package_build}/${name}.1.gz
    COMMAND ${CMAKE_COMMAND} -E make_directory ${package_build}
    COMMAND ${PYTHON_PROGRAM} ${PROJECT_SOURCE_DIR}/tools/help_pages.py
      --page ${PROJECT_SOURCE_DIR}/docs/man/${name}.1.in --version ${PROJECT_VERSION}
      --man ${package_build}/${name}.1 --completion ${package_build}/${name}.bash
      -- ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${name}>
    COMMAND gzip -9 -n -k -f ${package_build}/${name}.1
    DEPENDS ${name} ${PROJECT_SOURCE_DIR}/docs/man/${name}.1.in
      ${PROJECT_SOURCE_DIR}/tools/help_pages.py
    VERBATIM)
  install(TARGETS ${name} RUNTIME DESTINATION usr/bin COMPONENT ${name})
  install(FILES ${package_build}/${name}.1.gz DESTINATION usr/share/man/man1 COMPONENT ${name})
  install(FILES ${package_build}/${name}.bash RENAME ${name}
    DESTINATION usr/share/bash-completion/completions COMPONENT ${name})
  install(FILES ${package_build}/changelog.gz ${package_sources}/copyright
    DESTINATION usr/share/doc/${name} COMPONENT ${name})
  set(package_files ${package_files} ${package_build}/${name}.1.gz PARENT_SCOPE)
  set(CPACK_DEBIAN_${component}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${component}_DESCRIPTION "${summary}\n${description}" PARENT_SCOPE)
endfunction()

# And a service's unit, user, maintainer scripts and a sample of its configuration. The configuration
# itself is no file of the package: it may be a link into a cluster, or a device's enrolment, and
# neither is dpkg's to ask about or to delete. ENROLLED: what of /etc/weft goes with a purge.
function(weft_service name role description enrolled)
  string(TOUPPER ${name} component)
  set(NAME ${name})
  set(ROLE ${role})
  set(DESCRIPTION ${description})
  set(ENROLLED ${enrolled})
  set(folder ${package_build}/${name})
  configure_file(${package_sources}/${name}.service.in ${folder}/${name}.service @ONLY)
  configure_file(${package_sources}/sysusers.in ${folder}/${name}.conf @ONLY)
  foreach(script postinst prerm postrm)
    configure_file(${package_sources}/${script}.in ${folder}/${script} @ONLY
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
        WORLD_EXECUTE)
  endforeach()
  install(FILES ${package_sources}/${role}.toml DESTINATION usr/share/doc/${name}/examples
    COMPONENT ${name})
  install(DIRECTORY DESTINATION etc/weft COMPONENT ${name})
  install(FILES ${folder}/${name}.service DESTINATION lib/systemd/system COMPONENT ${name})
  install(FILES ${folder}/${name}.conf DESTINATION usr/lib/sysusers.d COMPONENT ${name})
  set(CPACK_DEBIAN_${component}_PACKAGE_CONTROL_EXTRA
    "${folder}/postinst;${folder}/prerm;${folder}/postrm" PARENT_SCOPE)
endfunction()

add_custom_command(OUTPUT ${package_build}/changelog.gz
  COMMAND ${CMAKE_COMMAND} -E copy ${package_sources}/changelog ${package_build}/changelog
  COMMAND gzip -9 -n -f ${package_build}/changelog
  DEPENDS ${package_sources}/changelog
  VERBATIM)

weft_package(weft-edge "trains vision models on this device, alone or with others"
"weft-edge trains convolutional networks on the images of an edge device and
joins jobs of a parameter server over an MQTT broker, hiding communication
behind computation. This package has the program and its systemd service,
which begins once the device is enrolled.")
weft_service(weft-edge edge "weft trainer"
  "/etc/weft/ca.crt /etc/weft/device.crt /etc/weft/device.key /etc/weft/edge.toml /etc/weft/edge.toml.old")
if("weft-ps" IN_LIST CPACK_COMPONENTS_ALL)
  weft_package(weft-ps "parameter server for training on edge devices over MQTT"
"weft-ps runs a training job: devices join it over an MQTT broker, it sums
their gradients round by round and sends the parameters back. What is killed
goes on with the same bits. This package has the program, its systemd
service, and the guard with which a broker sends away devices that flood it.")
  weft_service(weft-ps ps "weft parameter server" "/etc/weft/ps.toml")
  install(TARGETS weft_guard LIBRARY DESTINATION usr/lib/weft COMPONENT weft-ps)
endif()
if("weft" IN_LIST CPACK_COMPONENTS_ALL)
  weft_package(weft "workbench for training on edge devices over MQTT"
"weft shows models, plans and simulates their communication, measures, makes
clusters, and starts a whole training job on one machine to look at.")
  set(CPACK_DEBIAN_WEFT_PACKAGE_RECOMMENDS "gnuplot-nox, mosquitto")
endif()
set(CPACK_DEBIAN_WEFT-PS_PACKAGE_SUGGESTS "mosquitto")
add_custom_target(package-files DEPENDS ${package_files} ${package_build}/changelog.gz)
if(TARGET weft_guard)
  add_dependencies(package-files weft_guard)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SOURCE "")
set(CPACK_PACKAGE_CONTACT "weft maintainers <maintainers@weft.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
# Read when cpack runs, when the programs are there.
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/PackageDepends.cmake)
set(CPACK_WEFT_BIN ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
set(CPACK_WEFT_SYSROOT "${CMAKE_SYSROOT}")
set(CPACK_WEFT_SOURCES ${PROJECT_SOURCE_DIR})
include(CPack)
