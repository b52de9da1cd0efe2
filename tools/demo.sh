#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `./dev demo` shows, once the workbench is built: planning at work.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

weft=build/release/bin/weft
pictures=build/demo
mkdir -p "$pictures"

show() {
  printf '\n$ %s\n\n' "$*"
  "$@"
}

cat <<'TEXT'

A device trains ResNet-18 over a home line: 50 Mb/s down, 20 Mb/s up, 5 ms per publish. Its
profile says what each unit costs. How should parameters and gradients travel?
TEXT
show "$weft" plan --profile docs/examples/resnet18-home-uplink.json

cat <<'TEXT'

The paper's four networks under its own conditions, and what weave adds. The picture redraws its
Figures 6 and 7; the trace opens in Perfetto.
TEXT
show "$weft" sim --models vgg19,googlenet,inception_v4,resnet152 --batch 32 --gflops 100 \
  --mbps 280 --overhead-ms 40 --rtt-ms 0 --plot "$pictures/figures-6-and-7.svg" \
  --trace "$pictures/trace.json"

cat <<'TEXT'

A thousand workers, no two equally fast, on 100 Mb/s lines.
TEXT
show "$weft" sim --models resnet152 --gflops 150 --mbps 100 --workers 1000 --spread 20

cat <<'TEXT'

Planning has to be cheap enough to be done while the link is still busy: nanoseconds per unit.
TEXT
show "$weft" bench planner

cat <<TEXT

Next: $weft sim --help, or your own profile (docs/profile.md): $weft plan --profile FILE
TEXT
