#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# While mmdebstrap unpacks packages: writes down in dpkg/ which of them brought which file, which
# symbols and all else that dpkg keeps of what it installs. So dependencies on a board's libraries can be
# told, and in a root that is only unpacked dpkg knows what is there.
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
  dpkg-deb --control "$deb" "$root/dpkg/control"
  rm "$root/dpkg/control/control"
  for part in "$root"/dpkg/control/*; do
    mv "$part" "$root/dpkg/info/$package.${part##*/}"
  done
  rmdir "$root/dpkg/control"
done
