#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# For image_test.py: makes FOLDER/cloud.img, .vmlinuz and .initrd, a cloud machine for
# qemu-system-aarch64 -M virt, as docs/deploy.md has it: mosquitto, weft-ps and the cluster CLUSTER, which
# was made elsewhere. When the server is ready, the console is told how it is shut in.
set -euo pipefail
folder=$1 cluster=$2
house=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$house/tools/archive.sh"
. "$house/boards/image.d/debian.sh"
umask 022
PATH+=:/usr/sbin:/sbin
private() { (umask 077 && : >"$1"); }

deb=$(compgen -G "$house/build/packages/weft-ps_*_arm64.deb")
device=cloud ssh_key=
scratch=$(mktemp -d)
trap 'as_root rm -rf --one-file-system "$scratch"' EXIT
virt_root mosquitto
root=$scratch/root
as_root mkdir "$root/etc/weft/cluster"
as_root cp -r "$cluster/broker" "$cluster/server" "$root/etc/weft/cluster"
as_root sed -i "s#$cluster#/etc/weft/cluster#; s#^plugin .*/#plugin /usr/lib/weft/#" \
  "$root"/etc/weft/cluster/broker/mosquitto.conf "$root/etc/weft/cluster/server/ps.toml"
as_root chown -R "$(owner_in "$root" mosquitto)" "$root/etc/weft/cluster/broker"
as_root chown -R "$(owner_in "$root" weft-ps)" "$root/etc/weft/cluster/server"
as_root ln -s /etc/weft/cluster/broker/mosquitto.conf "$root/etc/mosquitto/conf.d/weft.conf"
as_root ln -sf /etc/weft/cluster/server/ps.toml "$root/etc/weft/ps.toml"
as_root tee "$root/etc/systemd/system/witness.service" >/dev/null <<'END'
[Unit]
After=weft-ps.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'cd /proc/$$(systemctl show --property MainPID --value weft-ps) && \
  echo "WITNESS user=$$(stat -c %%U .) $$(grep -E "^(NoNewPrivs|Seccomp|CapBnd|CapEff):" status | tr -d "\t" | \
  tr "\n" " ")root=$$(grep -o -E "^[^ ]+ [^ ]+ [^ ]+ / / r." mountinfo | tail -c 3)"'
[Install]
WantedBy=multi-user.target
END
as_root systemctl --quiet --root="$root" enable mosquitto weft-ps witness
virt_disk "$folder/cloud"
