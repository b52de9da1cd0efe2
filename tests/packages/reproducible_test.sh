#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packages made in another folder, at another time, by another user's umask have the same bytes. The
# second tree takes its object files from ccache; but those of the server are compiled there anew,
# without it, and must come out the same.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
first=$PWD
scratch=$first/build/test/reproducible  # known, so what a killed test has left goes with the next
rm -rf "$scratch"
trap 'rm -rf "$scratch"' EXIT
second=$scratch/some/other/place
mkdir -p "$second"

git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
  [[ -e $file ]] && printf '%s\0' "$file"
done | tar --create --null --files-from=- | tar --extract --directory="$second"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
cd "$second"
umask 027
export TZ=Pacific/Auckland CCACHE_BASEDIR=$second CCACHE_NOHASHDIR=true
[[ -w ${HOME:-} ]] || export CCACHE_DIR=$first/build/ccache

quietly() {
  "$@" >"$scratch/log" 2>&1 </dev/null || {
    cat "$scratch/log"
    exit 1
  }
}
quietly cmake --preset release
quietly cmake --build --preset release --target weft_cloud_ps
find build/release/cloud_ps -name '*.o' -delete
# To ccache another language is another compiler, so only here.
CCACHE_DISABLE=1 LC_ALL=C quietly cmake --build --preset release --target weft_cloud_ps
cmp {"$first/",}build/release/cloud_ps/libweft_cloud_ps.a
quietly cmake --build --preset release --target package-files
. tools/packages.sh
mkdir debs
LC_ALL=C pack release "$second/debs"
for file in "$first"/build/packages/*_amd64.*; do
  cmp "$file" "debs/$(basename "$file")"
  printf 'same bytes: %s\n' "$(basename "$file")"
done
