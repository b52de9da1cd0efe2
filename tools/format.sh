#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Brings every C++ source of the house to .clang-format, or with --check only says which are not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

action=(-i)
if [[ ${1:-} == --check ]]; then
  action=(--dry-run -Werror --ferror-limit=1)
  trap 'echo "./dev fmt puts it right" >&2' ERR
fi
find . \( -path ./build -o -path ./.git \) -prune -o \( -name '*.h' -o -name '*.cc' \) -print0 |
  xargs -0 -r clang-format --style=file "${action[@]}"
