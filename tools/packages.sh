# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Read by ./dev: how packages are made, and the clean roots that they are tried in.

# The preset that builds an architecture's packages.
preset_of() {
  case $1 in
    amd64) printf 'release' ;;
    arm64) printf 'aarch64' ;;
    armhf) printf 'armv7hf' ;;
    *) die "no packages for $1; there are amd64, arm64 and armhf" ;;
  esac
}

# Packs what preset $1 has built into folder $2, and beside each package what is in it. The bytes depend
# on the commit's time, not on that of today, nor on the user's umask.
pack() (
  umask 022
  root=()
  [[ $1 == release ]] || root=(--root "build/sysroots/$1")
  export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
  quietly cpack --config "build/$1/CPackConfig.cmake" -B "$2"
  quietly python3 tools/sbom.py --tree "build/$1" "${root[@]}" "$2"/*.deb
)

# Makes the packages of one architecture, and what is in them, in build/packages. Of one commit and
# one Debian they always have the same bytes.
package() {
  local arch=$1 preset scratch
  preset=$(preset_of "$arch")
  build "$preset" --target package-files
  say "packing $arch"
  mkdir -p build/packages
  scratch=$(mktemp -d "build/packages/.$arch.XXXXXX")
  pack "$preset" "$PWD/$scratch"
  rm -f build/packages/*_"$arch".*
  mv "$scratch"/*_"$arch".* build/packages
  rm -rf "$scratch"
}

# Lets the kernel start a board's programs through the emulator, as Debian's qemu-user-static does on
# machines that systemd has booted.
need_emulator() {
  local known=/proc/sys/fs/binfmt_misc
  [[ -e $known/qemu-aarch64 ]] && return
  [[ -e $known/register ]] || as_root mount -t binfmt_misc binfmt_misc "$known"
  grep ^: /usr/lib/binfmt.d/qemu-aarch64.conf | as_root tee "$known/register" >/dev/null
}

# Makes build/roots/<arch>: the smallest Debian with what our packages of that architecture depend on,
# and nothing of theirs. Does nothing if that is already there.
make_root() {
  local arch=$1 root=build/roots/$1 suite mirror wanted scratch deb how=(--variant=essential)
  [[ $arch == amd64 ]] || need_emulator
  suite=$(suite)
  wanted=$(for deb in build/packages/*_"$arch".deb; do dpkg-deb --field "$deb" Depends; done |
    tr ',' '\n' | sed 's/^ *//; s/[ (|].*//; /^systemd$/d; /^weft/d; /^$/d' | sort -u)
  wanted=$(printf '%s,' "$suite" apt passwd systemd-standalone-sysusers $wanted)
  if [[ -f $root.packages && $(<"$root.packages") == "$wanted" ]]; then
    return
  fi
  if [[ $arch != amd64 ]]; then
    # Only unpacked: to configure it in the emulator would take minutes.
    how=(--variant=extract --include='?essential' --extract-hook='bash tools/record_packages.sh "$1"')
  fi
  say "making a clean root for $arch"
  mirror=$(archive)
  mkdir -p build/roots
  scratch=$(mktemp -d "build/roots/.$arch.XXXXXX")
  quietly bootstrap "${how[@]}" --architectures="$arch" --dpkgopt='path-exclude=/usr/share/locale/*' \
    --include="${wanted#*,}" "$suite" "$scratch" "$mirror"
  [[ $arch == amd64 ]] || as_root bash tools/settle_root.sh "$scratch"
  as_root rm -rf --one-file-system "$root"
  as_root mv -T "$scratch" "$root"
  [[ $arch != amd64 ]] || make_shelf
  printf '%s' "$wanted" >"$root.packages"
}

# Makes build/roots/shelf: an archive of the broker and what it needs beyond our clean root, so that a
# machine without a network can install it as others do.
make_shelf() {
  local shelf=build/roots/shelf scratch
  say "fetching the broker's packages"
  scratch=$(mktemp -d "$PWD/build/roots/.shelf.XXXXXX")
  mkdir -p "$scratch/lists/partial" "$scratch/partial"
  local apt=(apt-get --yes -o APT::Sandbox::User=root -o Debug::NoLocking=yes -o Acquire::Retries=3
    -o Dir::State::lists="$scratch/lists" -o Dir::Cache="$scratch" -o Dir::Cache::archives="$scratch"
    -o Dir::State::status="$PWD/build/roots/amd64/var/lib/dpkg/status")
  quietly "${apt[@]}" update
  quietly "${apt[@]}" --download-only --no-install-recommends install mosquitto
  rm -rf "$scratch/lists" "$scratch/partial" "$scratch"/*.bin
  (cd "$scratch" && dpkg-scanpackages --multiversion . >Packages 2>/dev/null)
  chmod 755 "$scratch"
  rm -rf --one-file-system "$shelf"
  mv -T "$scratch" "$shelf"
}
