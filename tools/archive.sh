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

# Makes a root that is configured, which takes root. What is mounted on the way is seen by nobody else
# and goes with it, however it ends.
bootstrap() {
  as_root unshare --mount --propagation private mmdebstrap --quiet --mode=root \
    --aptopt='Acquire::Retries "3"' "$@" </dev/null
}

as_root() {
  if ((EUID == 0)); then
    "$@"
  else
    sudo "$@"
  fi
}
