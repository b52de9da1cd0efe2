#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# While mmdebstrap unpacks a sysroot: writes down in its dpkg/ which package brought which file and
# which symbols, as dpkg does for what it installs. So dependencies on a board's libraries can be told.
set -euo pipefail
root=$1
mkdir -p "$root/dpkg/info"
printf '1\n' >"$root/dpkg/info/format"
for deb in "$root"/var/cache/apt/archives/*.deb; do
  package=$(dpkg-deb --field "$deb" Package)
  if [[ $(dpkg-deb --field "$deb" Multi-Arch) == same ]]; then
    package+=:$(dpkg-deb --field "$deb" Architecture)
  fi
  {
    dpkg-deb --field "$deb"
    printf 'Status: install ok installed\n\n'
  } >>"$root/dpkg/status"
  dpkg-deb --fsys-tarfile "$deb" | tar -t | sed -n 's#^\./\(.*[^/]\)/*$#/\1#p' \
    >"$root/dpkg/info/$package.list"
  for part in symbols shlibs; do
    dpkg-deb --info "$deb" "$part" >"$root/dpkg/info/$package.$part" 2>/dev/null ||
      rm -f "$root/dpkg/info/$package.$part"
  done
done
