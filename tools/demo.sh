#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `./dev demo` shows, once the workbench is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

exec build/release/bin/weft --help
