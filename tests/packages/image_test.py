#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The virt-arm64 image, made by boards/image for a device of a cluster, boots in an emulated machine,
grows to its disk, and with no hands joins the cluster's broker and trains. In the next job the plug is
pulled; powered on again, it goes on by itself, to the same bits as undisturbed. Then the cloud side is
an emulated machine as well, where the real systemd starts and shuts in the server. `./dev image-test`;
minutes, most of them Debian's own installation and booting.

Machines meet at 10.0.2.2, which is this machine to the emulated ones, and in the test's own network
namespace to itself.
"""

import json
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True

from clean_root import HOUSE, check, enter_namespaces, run

DEVICE, HOST, PORT = "virt1", "10.0.2.2", 8883
ROUNDS, BEFORE_THE_PLUG = 60, 10
BOOT_S = 600  # an emulated machine on a busy one
MORE_MIB = 500  # the disk is so much larger than the image


def timed(what, *command):
    begin = time.monotonic()
    run(*command)
    print(f"ok, after {time.monotonic() - begin:.0f} s: {what}", flush=True)


def make_all(folder):
    """The cluster, the device's image and the cloud machine's."""
    folder.chmod(0o711)  # the broker has a user of its own
    weft, cluster = HOUSE / "build/release/bin/weft", folder / "cluster"
    run(weft, "cluster", "init", cluster, "--host", HOST, "--port", PORT, "--job", "digits", "--model",
        "lenet5", "--input", "1x28x28", "--classes", "10", "--batch", "32", "--rounds", ROUNDS)
    run(weft, "cluster", "add", DEVICE, "--dir", cluster, "--data", "synthetic:1x28x28:10:256")
    with (cluster / "server/ps.toml").open("a") as more:
        more.write("json = true\n")
    timed("the image is made", HOUSE / "boards/image", "virt-arm64", "--bundle",
          cluster / f"devices/{DEVICE}/{DEVICE}.tar", "--out", folder)
    run("truncate", "-s", f"+{MORE_MIB}M", folder / f"virt-arm64-{DEVICE}.img")
    timed("the cloud's image is made", HOUSE / "tests/packages/cloud_image.sh", folder, cluster)


class Server:
    """weft-ps on this machine, and the rounds it has closed."""

    def __init__(self, folder, job):
        self.round, self.final = 0, None
        self.process = subprocess.Popen(
            [HOUSE / "build/release/bin/weft-ps", "serve", "--config", folder / "cluster/server/ps.toml",
             "--state", folder / f"state-{job}", "--save", folder / f"{job}.safetensors"],
            stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            said = json.loads(line)
            self.round = max(self.round, said.get("round", 0))
            if said.get("final"):
                self.final = said


class Machine:
    """An emulated one. What its console shows is kept."""

    def __init__(self, base, console, append="", network=""):
        self.console = pathlib.Path(console)
        self.process = subprocess.Popen(
            ["qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a57", "-smp", "2", "-m", "1G",
             "-display", "none", "-serial", f"file:{console}", "-no-reboot",
             "-kernel", f"{base}.vmlinuz", "-initrd", f"{base}.initrd",
             "-append", f"root=/dev/vda1 rw console=ttyAMA0 panic=-1 {append}",
             "-drive", f"file={base}.img,format=raw,if=none,id=disk",
             "-device", "virtio-blk-pci,drive=disk", "-netdev", f"user,id=net{network}",
             "-device", "virtio-net-pci,netdev=net,romfile=", "-device", "virtio-rng-pci"])

    def shown(self):
        return self.console.read_text(errors="replace") if self.console.exists() else ""

    def pull_the_plug(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def wait(what, holds, *machines, seconds=BOOT_S):
    """Polls until it holds."""
    begin = time.monotonic()
    while not holds():
        died = any(machine.process.poll() is not None for machine in machines)
        if time.monotonic() - begin > seconds or died:
            for machine in machines:
                print(machine.shown()[-6000:])
            sys.exit(f"NOT SO, after {time.monotonic() - begin:.0f} s: {what}")
        time.sleep(0.2)
    print(f"ok, after {time.monotonic() - begin:.0f} s: {what}", flush=True)


def unused_mib(image):
    """Of the disk, what its file system does not reach."""
    with open(image, "rb") as disk:
        disk.seek((1 << 20) + 1024)
        block = disk.read(1024)
    blocks, log_size = struct.unpack_from("<I", block, 4)[0], struct.unpack_from("<I", block, 24)[0]
    return (image.stat().st_size - (1 << 20) - (blocks << (10 + log_size))) >> 20


def try_device(folder):
    """Two jobs, the second with a pulled plug; the model's hash."""
    base = folder / f"virt-arm64-{DEVICE}"
    run("chown", "-R", "mosquitto", folder / "cluster/broker")  # where root did not make it
    broker = subprocess.Popen(["/usr/sbin/mosquitto", "-c", folder / "cluster/broker/mosquitto.conf"],
                              stderr=subprocess.DEVNULL)
    server = Server(folder, "undisturbed")
    machine = Machine(base, folder / "console-1")
    wait("it boots, joins and trains with no hands", lambda: server.round >= 1, machine)
    wait(f"all {ROUNDS} rounds are trained, undisturbed", lambda: server.final, machine)
    machine.pull_the_plug()
    undisturbed = server.final["model_hash"]
    check("the server ends well", server.process.wait(60) == 0)

    server = Server(folder, "disturbed")
    machine = Machine(base, folder / "console-2")
    wait("it boots and joins the next job", lambda: server.round >= 1, machine)
    wait(f"{BEFORE_THE_PLUG} rounds are trained", lambda: server.round >= BEFORE_THE_PLUG, machine)
    machine.pull_the_plug()
    stopped = server.round
    check("the job was not over before the plug was pulled", stopped < ROUNDS)
    machine = Machine(base, folder / "console-3")
    wait(f"after the plug was pulled in round {stopped}, it comes back by itself",
         lambda: server.round > stopped + 1, machine)
    wait(f"all {ROUNDS} rounds are trained", lambda: server.final, machine)
    machine.pull_the_plug()
    check("the server ends well", server.process.wait(60) == 0)
    check("the model has the same bits as undisturbed", server.final["model_hash"] == undisturbed,
          f"{server.final['model_hash']}, not {undisturbed}")
    check("the root has grown to the disk", unused_mib(folder / f"virt-arm64-{DEVICE}.img") < 8)
    broker.terminate()
    broker.wait(30)
    return undisturbed


def try_cloud(folder, undisturbed):
    """The same job, the server and the broker being services of an emulated machine."""
    cloud = Machine(folder / "cloud", folder / "console-cloud", "systemd.journald.forward_to_console=1",
                    f",hostfwd=tcp::{PORT}-:{PORT}")
    wait("the cloud machine's server is ready", lambda: "WITNESS" in cloud.shown(), cloud)
    said = re.search(r"WITNESS.*", cloud.shown()).group(0)
    for shut_in in ("user=weft-ps ", "NoNewPrivs:1 ", "Seccomp:2 ", "CapEff:0000000000000000 ",
                    "CapBnd:0000000000000000 ", "root=ro"):
        check(f"systemd has shut it in: {shut_in}", shut_in in said, said)
    device = Machine(folder / f"virt-arm64-{DEVICE}", folder / "console-4")
    wait("a device trains with it", lambda: '"round":' in cloud.shown(), cloud, device)
    wait("all rounds are trained", lambda: '"final":true' in cloud.shown(), cloud, device)
    final = re.search(r'"model_hash":"([0-9a-f]+)"', cloud.shown()).group(1)
    check("the model has the same bits as with a server on this machine", final == undisturbed,
          f"{final}, not {undisturbed}")
    for machine in (device, cloud):
        machine.pull_the_plug()


def main():
    if len(sys.argv) == 1:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="weft-image-"))
        try:
            make_all(folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        sys.argv.append(str(folder))
    enter_namespaces()  # what is started there ends with the test, however that ends
    folder = pathlib.Path(sys.argv[1])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to stop"))  # by way of what is below
    try:
        run("ip", "link", "set", "lo", "up")
        run("ip", "address", "add", f"{HOST}/32", "dev", "lo")
        try_cloud(folder, try_device(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
