# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Read by boards/image: what the caller gives it to put inside, looked at before anything is made.

data_home=/var/lib/weft/edge  # the service sees no other

# Unpacks the bundle into $scratch/bundle, if it is one: as strictly as `weft-edge enrol`, for a link
# that is a "file" of it would bring this machine's own files into the image.
open_bundle() {
  local names kinds name
  [[ -f $bundle ]] || die "there is no bundle '$bundle'; weft cluster add DEVICE makes one"
  # Nothing larger is read at all.
  (($(stat -L -c %s "$bundle") <= 1 << 20)) || die "'$bundle' is too large to be a device's bundle"
  names=$(tar -t --quoting-style=escape -f - <"$bundle" 2>/dev/null | sort | tr '\n' ' ') ||
    die "'$bundle' is not a tar file, so not a device's bundle"
  [[ $names == "ca.crt device.crt device.key edge.toml " ]] ||
    die "'$bundle' is not a device's bundle: it holds ${names:-nothing }instead of ca.crt device.crt" \
      "device.key edge.toml"
  kinds=$(LC_ALL=C tar -tv -f - <"$bundle" 2>/dev/null | cut -c 1 | sort -u)
  [[ $kinds == - ]] ||
    die "'$bundle' is not a device's bundle: it holds something other than plain files"
  mkdir "$scratch/bundle"
  for name in $names; do
    (umask 077 && tar -x --to-stdout -f - "$name" <"$bundle" >"$scratch/bundle/$name")
    [[ -s $scratch/bundle/$name ]] || die "'$bundle' is not a device's bundle: its $name is empty"
  done
  device=$(sed -n 's/^ *worker *= *"\([A-Za-z0-9._-]*\)".*/\1/p' "$scratch/bundle/edge.toml")
  [[ $device ]] || die "the bundle's edge.toml does not say which worker the device is"
}

# That every line of it is a public key, as ssh-keygen writes them.
check_ssh_key() {
  local line lines=0
  [[ $board == rpi4 || $board == virt-arm64 ]] ||
    die "--ssh-key is for rpi4 and virt-arm64; who may log in to a $board is its own system's affair"
  [[ -f $ssh_key ]] || die "there is no key '$ssh_key'"
  ! grep -q 'PRIVATE KEY' "$ssh_key" ||
    die "'$ssh_key' is a private key; give the public one, $ssh_key.pub"
  while IFS= read -r line || [[ $line ]]; do
    [[ $line =~ ^(ssh-(ed25519|rsa)|ecdsa-sha2-nistp[0-9]+|sk-[a-z0-9@.-]+)\ AAAA[A-Za-z0-9+/]+=*(\ .*)?$ ]] ||
      die "'$ssh_key' is no public key: its line $((lines + 1)) is not one of a .pub file"
    lines=$((lines + 1))
  done <"$ssh_key"
  ((lines)) || die "'$ssh_key' is empty"
  ! command -v ssh-keygen >/dev/null || ssh-keygen -l -f "$ssh_key" >/dev/null 2>&1 ||
    die "'$ssh_key' is no public key: ssh-keygen cannot read it"
}

# The name of folder $1 on the device.
data_name() {
  basename "$(realpath --no-symlinks "$1")"
}

# That what edge.toml trains on is there when the board boots. Where somebody can log in, it may
# still come later.
check_data() {
  local spec place folder path
  for folder in "${data[@]}"; do
    [[ -d $folder ]] || die "there is no folder '$folder' to take data from"
  done
  spec=$(sed -n 's/^ *data *= *"\(.*\)".*/\1/p' "$scratch/bundle/edge.toml")
  [[ $spec != synthetic:* ]] || return 0
  place=${spec#*:}
  place=${place%/}
  for folder in "${data[@]}"; do
    path=$data_home/$(data_name "$folder")
    if [[ $place == "$path" || ($place == "$path"/* && -e $folder/${place#"$path/"}) ]]; then
      return
    fi
  done
  if [[ -z $spec ]]; then
    lacks_data "$device's edge.toml names no data to train on: weft cluster add takes" \
      "--data KIND:$data_home/NAME"
  elif [[ $place == "$data_home"/?* ]]; then
    lacks_data "$device trains on $spec, which would not be there:" \
      "give that folder with --data …/${place##*/}"
  else
    lacks_data "$device trains on $spec, which would not be there: --data puts folders into $data_home," \
      "and weft cluster add takes --data ${spec%%:*}:$data_home/NAME"
  fi
}

lacks_data() {
  [[ $ssh_key || $board == rpi5 || $board == jetson ]] || die "$*"
  printf 'boards/image: warning: %s; or bring it there yourself, then: systemctl restart weft-edge\n' "$*" >&2
}

# Copies the data into the root $1; further words are who writes it. It is read as the caller, so that
# a link in it leads to nothing that is not the caller's to see.
put_data() {
  local root=$1 folder place
  shift
  "$@" install -d -m 755 "$root${data_home%/*}"
  "$@" install -d -m 750 "$root$data_home"
  for folder in "${data[@]}"; do
    place=$root$data_home/$(data_name "$folder")
    "$@" install -d -m 755 "$place"
    tar --create --dereference --owner=root:0 --group=root:0 --mode=u=rwX,go=rX -C "$folder" . |
      "$@" tar --extract -C "$place"
  done
}
