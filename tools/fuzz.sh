#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/fuzz.sh [seconds] [target ...]: builds the fuzz targets with clang under the address and
# undefined behaviour sanitizers and runs each for so long (20 s; 0: only builds) from its saved
# corpus. What it finds that is new stays in build/fuzz/corpus; an input that crashes is kept there
# and named.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-20}
shift $(($# > 0 ? 1 : 0))
targets=("$@")
((${#targets[@]})) || targets=(message worker gate_server checkpoint)

cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=Debug \
  -DWEFT_SANITIZE=fuzzer-no-link,address,undefined -DWEFT_WORKBENCH=OFF >/dev/null
cmake --build build/fuzz --target "${targets[@]/%/_fuzz}"
((seconds)) || exit 0

failed=0
for target in "${targets[@]}"; do
  case $target in
    message) max_len=1024 ;;
    *) max_len=4096 ;;
  esac
  new=build/fuzz/corpus/$target
  mkdir -p "$new"
  echo "$target, $seconds s"
  if "build/fuzz/bin/${target}_fuzz" "$new" "tests/fuzz/corpus/${target}_fuzz" \
    -max_total_time="$seconds" -max_len="$max_len" -malloc_limit_mb=64 -rss_limit_mb=1024 \
    -timeout=5 -artifact_prefix="$new-" -print_final_stats=1 -print_funcs=0 \
    &>"build/fuzz/$target.log"; then
    sed -n 's/^stat::/  /p' "build/fuzz/$target.log"
  else
    tail -n 60 "build/fuzz/$target.log" >&2
    failed=1
  fi
done
exit "$failed"
