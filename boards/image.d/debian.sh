# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Read by boards/image: images of Debian itself. Nothing is mounted and no loop device used: file
# systems are filled as they are made. Sets no password: who may log in is --ssh-key's affair.

# Makes $scratch/root: Debian with $deb, the network by DHCP, and these packages.
debian_root() {
  local packages
  packages=$(dpkg-deb --field "$deb" Depends | tr ',' '\n' | sed 's/^ *//; s/[ (|].*//' | tr '\n' ',')
  packages+=systemd-sysv,systemd-resolved,systemd-timesyncd,udev,iproute2,initramfs-tools,fdisk
  [[ -z $ssh_key ]] || packages+=,openssh-server
  mkdir "$scratch/hook"
  cp "$deb" "$scratch/hook/weft.deb"
  bootstrap --variant=minbase --architectures=arm64 --components='main non-free-firmware' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' --include="$packages,$1" \
    --essential-hook='mkdir -p "$1/etc/initramfs-tools/conf.d"' \
    --essential-hook="printf '%s\n' '${2:-MODULES=most}' >\"\$1/etc/initramfs-tools/conf.d/weft\"" \
    --essential-hook="printf '%s\n' ${3:-} >\"\$1/etc/initramfs-tools/modules\"" \
    --customize-hook="cp '$scratch/hook/weft.deb' \"\$1/tmp\"" \
    --customize-hook='chroot "$1" dpkg --install /tmp/weft.deb && rm "$1/tmp/weft.deb"' \
    "$(suite)" "$scratch/root" "$(archive)"
  settle "$scratch/root"
}

# What makes a root a machine of its own.
settle() {
  local root=$1 units=(grow-root systemd-networkd systemd-resolved systemd-timesyncd)
  as_root tee "$root/etc/hostname" >/dev/null <<<"$device"
  printf '127.0.0.1 localhost\n127.0.1.1 %s\n::1 localhost\n' "$device" |
    as_root tee "$root/etc/hosts" >/dev/null
  printf '[Match]\nName=en* eth*\n\n[Network]\nDHCP=yes\n' |
    as_root tee "$root/etc/systemd/network/20-wired.network" >/dev/null
  as_root install -D -m 755 "$house/boards/image.d/grow-root" "$root/usr/local/sbin/grow-root"
  as_root install -m 644 "$house"/boards/image.d/*.service "$root/etc/systemd/system"
  if [[ $ssh_key ]]; then
    as_root install -d -m 700 "$root/root/.ssh"
    as_root install -m 600 "$ssh_key" "$root/root/.ssh/authorized_keys"
    units+=(ssh ssh-host-keys)
  fi
  as_root systemctl --quiet --root="$root" enable "${units[@]}"
  as_root rm -f "$root/etc/machine-id" "$root"/etc/ssh/ssh_host_*
  as_root tee "$root/etc/machine-id" >/dev/null <<<uninitialized
}

# The bundle and the data.
enrol() {
  local root=$scratch/root name edge
  edge=$(owner_in "$root" weft-edge)
  for name in edge.toml ca.crt device.crt; do
    as_root install -m 644 "$scratch/bundle/$name" "$root/etc/weft/$name"
  done
  as_root install -m 600 -o "${edge%:*}" -g "${edge#*:}" "$scratch/bundle/device.key" "$root/etc/weft"
  put_data "$root" as_root
  as_root chown -R "$edge" "$root$data_home"
}

# UID:GID that user $2 has in the root $1.
owner_in() {
  sed -n "s/^$2:[^:]*:\([0-9]*:[0-9]*\):.*/\1/p" "$1/etc/passwd"
}

# The MiB that a file system needs for folder $1, with $2 left free.
room_for() {
  local used
  used=$(as_root du -sm "$1" | cut -f 1)
  printf '%d' $((used * 115 / 100 + $2))
}

# Makes the disk $1 of $2 MiB, with the partitions that stdin says.
partition() {
  private "$1"
  truncate -s "$2M" "$1"
  sfdisk --quiet "$1"
}

# Makes a file system $4 of $3 MiB, from MiB $2 of the disk $1 on, with what is in $scratch/root.
ext4() {
  as_root mke2fs -q -t ext4 -L "$4" -d "$scratch/root" -E offset=$(($2 << 20)) -F "$1" "$3M"
}

image_virt() {
  local name=$out/virt-arm64-$device
  virt_root
  enrol
  virt_disk "$name"
  cat <<END
made $name.img, .vmlinuz and .initrd. The disk is the device's identity: keep it to yourself. To boot them:
qemu-system-aarch64 -M virt -cpu cortex-a57 -smp 2 -m 1G -nographic \\
  -kernel $name.vmlinuz -initrd $name.initrd -append 'root=/dev/vda1 rw console=ttyAMA0' \\
  -drive file=$name.img,format=raw,if=none,id=disk -device virtio-blk-pci,drive=disk \\
  -netdev user,id=net -device virtio-net-pci,netdev=net,romfile= -device virtio-rng-pci
END
}

# Only what that machine has, so that it starts soon under emulation too.
virt_root() {
  debian_root "linux-image-cloud-arm64${1:+,$1}" 'MODULES=list' 'virtio_pci virtio_blk virtio_net virtio_rng ext4'
}

# Makes $1.img, .vmlinuz and .initrd of the root.
virt_disk() {
  local name=$1 root_mb
  printf 'LABEL=weft / ext4 x-systemd.growfs 0 1\n' | as_root tee "$scratch/root/etc/fstab" >/dev/null
  private "$name.vmlinuz"
  private "$name.initrd"
  as_root cp "$scratch"/root/boot/vmlinuz-* "$name.vmlinuz"
  as_root cp "$scratch"/root/boot/initrd.img-* "$name.initrd"
  root_mb=$(room_for "$scratch/root" 300)
  partition "$name.img" $((1 + root_mb)) <<<$'label: dos\nstart=1MiB, type=83'
  ext4 "$name.img" 1 "$root_mb" weft
}

image_rpi4() {
  local name=$out/rpi4-$device.img firmware_mb=256 root_mb
  debian_root linux-image-arm64,raspi-firmware,firmware-brcm80211
  enrol
  printf 'LABEL=RASPIROOT / ext4 rw,noatime,x-systemd.growfs 0 1\nLABEL=RASPIFIRM /boot/firmware vfat rw 0 2\n' |
    as_root tee "$scratch/root/etc/fstab" >/dev/null
  as_root mv "$scratch/root/boot/firmware" "$scratch/firmware"
  as_root mkdir "$scratch/root/boot/firmware"
  [[ -f $scratch/firmware/config.txt && -f $scratch/firmware/start4.elf ]] ||
    die "raspi-firmware left no firmware for the first partition"

  truncate -s ${firmware_mb}M "$scratch/firmware.fat"
  mkfs.vfat -n RASPIFIRM "$scratch/firmware.fat" >/dev/null
  as_root mcopy -s -i "$scratch/firmware.fat" "$scratch"/firmware/* ::
  root_mb=$(room_for "$scratch/root" 1000)
  partition "$name" $((1 + firmware_mb + root_mb)) <<END
label: dos
start=1MiB, size=${firmware_mb}MiB, type=c, bootable
start=$((1 + firmware_mb))MiB, type=83
END
  dd if="$scratch/firmware.fat" of="$name" bs=1M seek=1 conv=notrunc,sparse status=none
  ext4 "$name" $((1 + firmware_mb)) "$root_mb" RASPIROOT
  cat <<END
made $name. It is the device's identity: keep it to yourself.
Write it to a card: dd if=$name of=/dev/sdX bs=4M conv=fsync
END
}
