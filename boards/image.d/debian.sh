# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Read by boards/image: images of Debian itself. Nothing is mounted and no loop device used: file
# systems are filled as they are made. Sets no password: who may log in is --ssh-key's affair.

# Makes $scratch/root: Debian with weft-edge, the bundle, the network by DHCP, and these packages.
debian_root() {
  local packages
  packages=$(dpkg-deb --field "$deb" Depends | tr ',' '\n' | sed 's/^ *//; s/[ (|].*//' | tr '\n' ',')
  packages+=systemd-sysv,systemd-resolved,systemd-timesyncd,udev,iproute2,initramfs-tools
  [[ -z $ssh_key ]] || packages+=,openssh-server
  mkdir "$scratch/hook"
  cp "$deb" "$scratch/hook/weft-edge.deb"
  bootstrap --variant=minbase --architectures=arm64 --components='main non-free-firmware' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' --include="$packages,$1" \
    --essential-hook='mkdir -p "$1/etc/initramfs-tools/conf.d"' \
    --essential-hook="printf '%s\n' '${2:-MODULES=most}' >\"\$1/etc/initramfs-tools/conf.d/weft\"" \
    --essential-hook="printf '%s\n' ${3:-} >\"\$1/etc/initramfs-tools/modules\"" \
    --customize-hook="cp '$scratch/hook/weft-edge.deb' \"\$1/tmp\"" \
    --customize-hook='chroot "$1" dpkg --install /tmp/weft-edge.deb && rm "$1/tmp/weft-edge.deb"' \
    "$(suite)" "$scratch/root" "$(archive)"
  settle "$scratch/root"
}

# Makes the root this device's.
settle() {
  local root=$1 name
  as_root tee "$root/etc/hostname" >/dev/null <<<"$device"
  printf '127.0.0.1 localhost\n127.0.1.1 %s\n::1 localhost\n' "$device" |
    as_root tee "$root/etc/hosts" >/dev/null
  printf '[Match]\nName=en* eth*\n\n[Network]\nDHCP=yes\n' |
    as_root tee "$root/etc/systemd/network/20-wired.network" >/dev/null
  as_root systemctl --quiet --root="$root" enable systemd-networkd systemd-resolved systemd-timesyncd
  for name in edge.toml ca.crt device.crt; do
    as_root install -m 644 "$scratch/bundle/$name" "$root/etc/weft/$name"
  done
  as_root install -m 600 "$scratch/bundle/device.key" "$root/etc/weft/device.key"
  as_root chroot "$root" chown weft-edge:weft-edge /etc/weft/device.key
  if [[ $ssh_key ]]; then
    as_root install -d -m 700 "$root/root/.ssh"
    as_root install -m 600 "$ssh_key" "$root/root/.ssh/authorized_keys"
  fi
  as_root rm -f "$root/etc/machine-id" "$root"/etc/ssh/ssh_host_*
  as_root tee "$root/etc/machine-id" >/dev/null <<<uninitialized
}

# Fills the file system $1, labelled $2, with $3; $4 MiB are left free.
ext4() {
  local used
  used=$(as_root du -sm "$3" | cut -f 1)
  truncate -s $((used * 115 / 100 + $4))M "$1"
  as_root mke2fs -q -t ext4 -L "$2" -d "$3" -F "$1"
}

image_virt() {
  local name=$out/virt-arm64-$device
  # Only what this machine has, so that it starts soon under emulation too.
  debian_root linux-image-cloud-arm64 'MODULES=list' 'virtio_pci virtio_blk virtio_net virtio_rng ext4'
  printf '/dev/vda / ext4 defaults 0 1\n' | as_root tee "$scratch/root/etc/fstab" >/dev/null
  as_root cp "$scratch"/root/boot/vmlinuz-* "$name.vmlinuz"
  as_root cp "$scratch"/root/boot/initrd.img-* "$name.initrd"
  ext4 "$name.img" weft "$scratch/root" 300
  cat <<END
made $name.img, .vmlinuz and .initrd; to boot them:
qemu-system-aarch64 -M virt -cpu cortex-a57 -smp 2 -m 1G -nographic \\
  -kernel $name.vmlinuz -initrd $name.initrd -append 'root=/dev/vda rw console=ttyAMA0' \\
  -drive file=$name.img,format=raw,if=none,id=disk -device virtio-blk-pci,drive=disk \\
  -netdev user,id=net -device virtio-net-pci,netdev=net,romfile= -device virtio-rng-pci
END
}

image_rpi4() {
  local name=$out/rpi4-$device.img firmware_mb=256 root_mb
  debian_root linux-image-arm64,raspi-firmware,firmware-brcm80211
  printf 'LABEL=RASPIROOT / ext4 rw,noatime 0 1\nLABEL=RASPIFIRM /boot/firmware vfat rw 0 2\n' |
    as_root tee "$scratch/root/etc/fstab" >/dev/null
  as_root mv "$scratch/root/boot/firmware" "$scratch/firmware"
  as_root mkdir "$scratch/root/boot/firmware"
  [[ -f $scratch/firmware/config.txt && -f $scratch/firmware/start4.elf ]] ||
    die "raspi-firmware left no firmware for the first partition"

  truncate -s ${firmware_mb}M "$scratch/firmware.fat"
  mkfs.vfat -n RASPIFIRM "$scratch/firmware.fat" >/dev/null
  as_root mcopy -s -i "$scratch/firmware.fat" "$scratch"/firmware/* ::
  ext4 "$scratch/root.ext4" RASPIROOT "$scratch/root" 1000
  root_mb=$(($(stat -c %s "$scratch/root.ext4") >> 20))
  rm -f "$name"
  truncate -s $((1 + firmware_mb + root_mb + 1))M "$name"
  printf 'label: dos\nstart=1MiB, size=%dMiB, type=c, bootable\nsize=%dMiB, type=83\n' \
    $firmware_mb "$root_mb" | sfdisk --quiet "$name"
  dd if="$scratch/firmware.fat" of="$name" bs=1M seek=1 conv=notrunc,sparse status=none
  dd if="$scratch/root.ext4" of="$name" bs=1M seek=$((1 + firmware_mb)) conv=notrunc,sparse status=none
  printf 'made %s; write it to a card: dd if=%s of=/dev/sdX bs=4M conv=fsync\n' "$name" "$name"
}
