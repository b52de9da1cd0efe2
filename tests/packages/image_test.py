#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The virt-arm64 image, made by boards/image, boots in an emulated machine and with no hands joins a
broker of this one over mutual TLS and trains. Then the plug is pulled; powered on again, it goes on by
itself. `./dev image-test`; minutes, most of them Debian's own installation and booting.
"""

import json
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

HOUSE = pathlib.Path(__file__).resolve().parents[2]
DEVICE, HOST = "virt1", "10.0.2.2"  # what this machine is called in the emulated one's network
ROUNDS, BEFORE_THE_PLUG = 60, 10
BOOT_S = 600  # an emulated machine on a busy one


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, stderr=subprocess.DEVNULL)


def certify(folder, name, extensions):
    """name.key and name.crt, signed by ca."""
    key, request = folder / f"{name}.key", folder / f"{name}.csr"
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
            "-out", request, "-subj", f"/CN={name}")
    (folder / "extensions").write_text(extensions)
    openssl("x509", "-req", "-in", request, "-CA", folder / "ca.crt", "-CAkey", folder / "ca.key",
            "-CAcreateserial", "-days", "2", "-extfile", folder / "extensions", "-out",
            folder / f"{name}.crt")


def make_bundle(folder, port):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-keyout", folder / "ca.key", "-out", folder / "ca.crt", "-subj", "/CN=weft test")
    certify(folder, "broker", f"subjectAltName=IP:{HOST},IP:127.0.0.1\nextendedKeyUsage=serverAuth\n")
    for name in ("ps", DEVICE):
        certify(folder, name, "extendedKeyUsage=clientAuth\n")
    (folder / "edge.toml").write_text(f"""broker = "{HOST}:{port}"
ca = "/etc/weft/ca.crt"
cert = "/etc/weft/device.crt"
key = "/etc/weft/device.key"
job = "digits"
worker = "{DEVICE}"
data = "synthetic:1x28x28:10:256"
""")
    bundle = folder / f"{DEVICE}.tar"
    with tarfile.open(bundle, "w") as tar:
        for inside, file in (("edge.toml", "edge.toml"), ("ca.crt", "ca.crt"),
                             ("device.crt", f"{DEVICE}.crt"), ("device.key", f"{DEVICE}.key")):
            tar.add(folder / file, inside)
    return bundle


def start_broker(folder, port):
    (folder / "mosquitto.conf").write_text(f"""listener {port} 127.0.0.1
cafile {folder}/ca.crt
certfile {folder}/broker.crt
keyfile {folder}/broker.key
require_certificate true
use_identity_as_username true
use_username_as_clientid true
allow_anonymous false
persistence false
user root
""")
    return subprocess.Popen(["/usr/sbin/mosquitto", "-c", folder / "mosquitto.conf"],
                            stderr=subprocess.DEVNULL)


class Server:
    """weft-ps, and the rounds it has closed."""

    def __init__(self, folder, port):
        self.round, self.final = 0, None
        self.process = subprocess.Popen(
            [HOUSE / "build/release/bin/weft-ps", "serve", "--broker", f"127.0.0.1:{port}",
             "--ca", folder / "ca.crt", "--cert", folder / "ps.crt", "--key", folder / "ps.key",
             "--job", "digits", "--state", folder / "state", "--model", "lenet5", "--input", "1x28x28",
             "--classes", "10", "--batch", "32", "--rounds", str(ROUNDS), "--json"],
            stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            said = json.loads(line)
            self.round = max(self.round, said.get("round", 0))
            if said.get("final"):
                self.final = said


class Machine:
    """The emulated board. What its console shows is kept."""

    def __init__(self, image, console):
        base = str(image).removesuffix(".img")
        self.console = console
        self.process = subprocess.Popen(
            ["qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a57", "-smp", "2", "-m", "1G",
             "-display", "none", "-serial", f"file:{console}", "-no-reboot",
             "-kernel", f"{base}.vmlinuz", "-initrd", f"{base}.initrd",
             "-append", "root=/dev/vda rw console=ttyAMA0 panic=-1",
             "-drive", f"file={image},format=raw,if=none,id=disk",
             "-device", "virtio-blk-pci,drive=disk", "-netdev", "user,id=net",
             "-device", "virtio-net-pci,netdev=net,romfile=", "-device", "virtio-rng-pci"])

    def pull_the_plug(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def wait(what, holds, machine, seconds=BOOT_S):
    """Polls until it holds; how long that took."""
    begin = time.monotonic()
    while not holds():
        if time.monotonic() - begin > seconds or machine.process.poll() is not None:
            shown = pathlib.Path(machine.console).read_text(errors="replace")[-4000:]
            sys.exit(f"{shown}\nNOT SO, after {time.monotonic() - begin:.0f} s: {what}")
        time.sleep(0.2)
    took = time.monotonic() - begin
    print(f"ok, after {took:.0f} s: {what}", flush=True)
    return took


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to stop"))  # by way of what is below
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weft-image-"))
    started = []
    try:
        port = free_port()
        bundle = make_bundle(folder, port)
        begin = time.monotonic()
        subprocess.run([HOUSE / "boards/image", "virt-arm64", "--bundle", bundle, "--out", folder],
                       check=True, stdout=subprocess.DEVNULL)
        print(f"ok, after {time.monotonic() - begin:.0f} s: the image is made", flush=True)
        image = folder / f"virt-arm64-{DEVICE}.img"

        started.append(start_broker(folder, port))
        server = Server(folder, port)
        started.append(server.process)
        machine = Machine(image, folder / "console-1")
        started.append(machine.process)
        wait("it boots, joins and trains with no hands", lambda: server.round >= 1, machine)
        wait(f"{BEFORE_THE_PLUG} rounds are trained", lambda: server.round >= BEFORE_THE_PLUG, machine)

        machine.pull_the_plug()
        stopped = server.round
        if stopped >= ROUNDS:
            sys.exit("the job was over before the plug was pulled")
        machine = Machine(image, folder / "console-2")
        started.append(machine.process)
        wait(f"after the plug was pulled in round {stopped}, it comes back by itself",
             lambda: server.round > stopped + 1, machine)
        wait(f"all {ROUNDS} rounds are trained", lambda: server.final is not None, machine)
        if server.process.wait(60) != 0:
            sys.exit("NOT SO: the server ended well")
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
