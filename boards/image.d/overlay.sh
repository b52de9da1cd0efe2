# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Read by boards/image: an overlay for a board whose vendor's Linux boots it. Its libraries may be
# older than Debian's, so the program brings its own, and its own loader; the rest is systemd's: the
# user is made, and the key given to it, when the board boots.

# Copies the program's libraries, and theirs, from the sysroot to $1.
copy_libraries() {
  local folder=$1 sysroot=$house/build/sysroots/aarch64 file name found
  local waiting=("$folder/weft-edge") place
  while ((${#waiting[@]})); do
    file=${waiting[0]}
    waiting=("${waiting[@]:1}")
    while read -r name; do
      [[ -e $folder/$name ]] && continue
      found=
      for place in lib/aarch64-linux-gnu usr/lib/aarch64-linux-gnu lib; do
        [[ -e $sysroot/$place/$name ]] && found=$sysroot/$place/$name && break
      done
      [[ $found ]] || die "the sysroot has no $name, which $(basename "$file") needs"
      install -m 755 "$found" "$folder/$name"
      waiting+=("$folder/$name")
    done < <(readelf --dynamic "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
  done
  # What the C library looks up names with, besides.
  for name in ld-linux-aarch64.so.1 libnss_dns.so.2 libnss_files.so.2 libresolv.so.2; do
    [[ -e $folder/$name ]] || install -m 755 "$(compgen -G "$sysroot/lib*/aarch64-linux-gnu/$name" ||
      compgen -G "$sysroot/lib/$name")" "$folder/$name"
  done
}

image_overlay() {
  local root=$scratch/overlay name=$out/$board-$device.tar.gz program=/opt/weft/lib unit
  mkdir -p "$root"/{opt/weft/lib,etc/weft,usr/lib/sysusers.d,usr/lib/tmpfiles.d} \
    "$root/etc/systemd/system/multi-user.target.wants"
  dpkg-deb --extract "$deb" "$scratch/deb"
  install -m 755 "$scratch/deb/usr/bin/weft-edge" "$root/opt/weft/lib/weft-edge"
  copy_libraries "$root/opt/weft/lib"
  unit=$root/etc/systemd/system/weft-edge.service
  sed "s#^ExecStart=/usr/bin/weft-edge#ExecStart=$program/ld-linux-aarch64.so.1 --library-path $program $program/weft-edge#" \
    "$scratch/deb/lib/systemd/system/weft-edge.service" >"$unit"
  ln -s ../weft-edge.service "$root/etc/systemd/system/multi-user.target.wants/weft-edge.service"
  cp "$scratch/deb/usr/lib/sysusers.d/weft-edge.conf" "$root/usr/lib/sysusers.d"
  printf 'z /etc/weft/device.key 0600 weft-edge weft-edge\nZ %s - weft-edge weft-edge\n' $data_home \
    >"$root/usr/lib/tmpfiles.d/weft-edge.conf"
  cat >"$root/opt/weft/weft-edge" <<END
#!/bin/sh
# weft-edge by hand: weft-edge --help
exec $program/ld-linux-aarch64.so.1 --library-path $program $program/weft-edge "\$@"
END
  cp "$scratch"/bundle/* "$root/etc/weft"
  put_data "$root"
  chmod 755 "$root/opt/weft/weft-edge"
  chmod 644 "$root"/etc/weft/{edge.toml,ca.crt,device.crt} "$unit" "$root"/usr/lib/*.d/*
  chmod 600 "$root/etc/weft/device.key"
  # Folders that every system has are left as they are there.
  private "$name"
  tar --create --gzip --file="$name" --owner=root:0 --group=root:0 --sort=name --no-recursion -C "$root" \
    --files-from=<(cd "$root" && find opt/weft etc/weft var/lib/weft && find etc/systemd usr ! -type d)
  python3 "$house/tools/sbom.py" --root "$house/build/sysroots/aarch64" --overlay "$name" "$deb"
  cat <<END
made $name. It is the device's identity: keep it to yourself. What is in it: ${name%.tar.gz}.spdx.json
1. Flash the board with the vendor's Linux: $(vendor_system), and let it boot once.
2. On the board: sudo tar -xzpf $(basename "$name") -C / --no-overwrite-dir && sudo reboot
It then joins by itself; systemctl status weft-edge shows how it stands.
END
}

vendor_system() {
  case $board in
    jetson) printf 'JetPack, by SDK Manager or the card image' ;;
    rpi5) printf 'Raspberry Pi OS Lite, 64 bit, by Raspberry Pi Imager' ;;
  esac
}
