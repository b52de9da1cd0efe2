#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packages made in another folder, at another time, by another user's umask have the same bytes. The
# second tree takes its object files from ccache; but the server and what the programs share are
# compiled there anew, without it, and must come out the same.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
first=$PWD
scratch=$(mktemp -d)
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
export TZ=Pacific/Auckland LC_ALL=C CCACHE_BASEDIR=$second CCACHE_NOHASHDIR=true
[[ -w ${HOME:-} ]] || export CCACHE_DIR=$first/build/ccache

quietly() {
  "$@" >"$scratch/log" 2>&1 </dev/null || {
    cat "$scratch/log"
    exit 1
  }
}
quietly cmake --preset release
anew=(cloud_ps/libweft_cloud_ps.a apps/job/libweft_job.a)
CCACHE_DISABLE=1 quietly cmake --build --preset release --target weft_cloud_ps weft_job
for library in "${anew[@]}"; do
  cmp "$first/build/release/$library" "build/release/$library"
done
quietly cmake --build --preset release --target package-files
quietly cpack --config build/release/CPackConfig.cmake -B "$second/debs"
quietly python3 tools/sbom.py --tree build/release debs/*.deb
for file in "$first"/build/packages/*_amd64.*; do
  cmp "$file" "debs/$(basename "$file")"
  printf 'same bytes: %s\n' "$(basename "$file")"
done
