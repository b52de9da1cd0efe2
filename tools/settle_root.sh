#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Does for a root that is only unpacked what the packages' scripts would do and ours rely on: dpkg's
# records, which record_packages.sh has written, and the users that every Debian has.
set -euo pipefail
cd "$1"
cp -r dpkg/. var/lib/dpkg
rm -r dpkg var/lib/dpkg/info/*.triggers  # what they are for has not been made
for kind in passwd group; do
  cp usr/share/base-passwd/$kind.master etc/$kind
done
touch etc/shadow etc/gshadow etc/.pwd.lock
chmod 640 etc/shadow etc/gshadow
chmod 600 etc/.pwd.lock
