# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Read by ./dev and boards/image: where Debian packages come from, and how to act as root.

# This machine's Debian.
suite() {
  . /etc/os-release && printf '%s' "${VERSION_CODENAME:-}"
}

# The archive it installs it from.
archive() {
  local mirror
  mirror=$(apt-get update --print-uris |
    sed -n "s#^'\(.*\)/dists/\($(suite)\|stable\)/InRelease'.*#\1#p")
  mirror=${mirror%%$'\n'*}
  [[ $mirror ]] || {
    printf "apt's configuration names no archive of %s to take packages from\n" "$(suite)" >&2
    return 1
  }
  printf '%s' "$mirror"
}

as_root() {
  if ((EUID == 0)); then
    "$@"
  else
    sudo "$@"
  fi
}
