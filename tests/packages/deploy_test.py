#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/deploy.md, word for word: its commands are read from it and typed on a clean cloud machine, on
a board, whose programs run in the emulator, and on a Xeon. They end in a job of two devices over mutual
TLS. Then one thing is wrong at a time, and the doctor names it in one line.

Around the document the test is the name service, the safe way of a bundle, and the board's images.
"""

import random
import re
import shutil
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True

from clean_root import HOUSE, PLACE, check, enter_namespaces, run
from machine import Machine


def commands(heading, nth=0):
    """The lines of the nth block below a heading of the document."""
    text = (HOUSE / "docs/deploy.md").read_text()
    section = text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^```\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)[nth].splitlines()


def bring_packages(machine, arch):
    for deb in (HOUSE / "build/packages").glob(f"*_{arch}.deb"):
        shutil.copy(deb, machine.path / "root")


def bring_images(machine, folder, count=64):
    """As MNIST has them, of noise."""
    place = machine.path / folder.lstrip("/")
    place.mkdir(parents=True)
    noise = random.Random(1)
    (place / "train-images-idx3-ubyte").write_bytes(
        struct.pack(">4I", 0x803, count, 28, 28) + noise.randbytes(count * 28 * 28))
    (place / "train-labels-idx1-ubyte").write_bytes(
        struct.pack(">2I", 0x801, count) + bytes(i % 10 for i in range(count)))


def make_cloud():
    cloud = Machine("cloud", "amd64", 0)
    bring_packages(cloud, "amd64")
    shutil.copytree(HOUSE / "build/roots/shelf", cloud.path / "srv/shelf")
    for name in (cloud.path / "etc/apt").glob("sources.list*"):
        shutil.rmtree(name) if name.is_dir() else name.unlink()
    cloud.write("/etc/apt/sources.list", "deb [trusted=yes] file:/srv/shelf ./\n")
    cloud.run("apt-get", "update")
    for line in commands("The cloud machine"):
        cloud.type(line)
    return cloud


def join(cloud, device, arch):
    """A device as the document has it, but for its name and architecture; with its doctor's word."""

    def own(line):
        return line.replace("pi1", device.name).replace("arm64", arch)

    for line in map(own, commands("The cloud machine", 1)):
        cloud.type(line)
        bundle = re.search(r"# its bundle: (\S+)", line).group(1)
        bring_images(device, re.search(r"--data mnist:(\S+)", line).group(1))
    shutil.move(cloud.path / bundle.lstrip("/"), device.path / "root")
    bring_packages(device, arch)
    for line in map(own, commands("A Raspberry Pi, or a Xeon")):
        said = device.type(line)
        if "weft-edge doctor" in line:
            print(said, end="", flush=True)
            check(f"{device.name}'s doctor finds every link of the chain whole",
                  not re.search(r"^(fails|-) ", said, re.MULTILINE), said)


def examine(device, trouble, line, before=""):
    """The doctor finds that, and nothing else."""
    began = time.monotonic()
    code, said = device.ask(f"{before}sudo weft-edge doctor")
    fails = re.findall(r"^fails +(.*)$", said, re.MULTILINE)
    check(f"{trouble}, the doctor fails with one line  ({time.monotonic() - began:.0f} s)",
          code == 1 and len(fails) == 1, said)
    check(f"  {fails[0]}", re.search(line, fails[0]), f"wanted: {line}")


def with_clock(device, days):
    """What to type before a command for which it is that many days later than it is."""
    shutil.copy("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1", device.path / "root")
    return (f"LD_PRELOAD=/root/libfaketimeMT.so.1 FAKETIME={days:+}d FAKETIME_DONT_FAKE_MONOTONIC=1 ")


def break_one_by_one(cloud, device):
    config = device.read("/etc/weft/edge.toml")
    device.write("/etc/weft/edge.toml", config.replace("cloud.example", "clout.example"))
    examine(device, "with a host that there is not", r"^name .*clout\.example.* → ")
    device.write("/etc/weft/edge.toml", config.replace("cloud.example", "other.example"))
    examine(device, "with a host that is another",
            r"^TLS .*certificate \('cloud\.example'\) is for another name than other\.example → ")
    device.write("/etc/weft/edge.toml", config)

    cloud.stop_broker()
    examine(device, "with the port closed", r"^port .*8883.* → ")
    with cloud.broker_says("u'ps'"):  # the server is back
        cloud.start_broker()

    acl = cloud.read("/etc/weft/cluster/broker/acl")
    line = "pattern write weft/train/%u/push\n"
    cloud.write("/etc/weft/cluster/broker/acl", acl.replace(line, ""))
    cloud.obey(["reload", "mosquitto"])
    examine(device, "with a line of the ACL missing",
            r"^publish push +the broker forbids .* → add `pattern write weft/train/%u/push`")
    cloud.write("/etc/weft/cluster/broker/acl", acl)

    cloud.type(f"sudo weft cluster revoke {device.name}")
    cloud.obey(["reload", "mosquitto"])
    examine(device, "once it is revoked", r"^TLS .*refuses /etc/weft/device\.crt: it was revoked → ")


def main():
    enter_namespaces()
    run("mount", "-t", "tmpfs", "tmpfs", PLACE)
    cloud = make_cloud()
    board, xeon = Machine("pi1", "arm64", 1), Machine("xeon1", "amd64", 2)
    join(cloud, board, "arm64")
    join(cloud, xeon, "amd64")
    for device in (board, xeon):
        service = device.services["weft-edge"]
        check(f"{device.name} trains", service.hears("round 3"), service.said)
    for device in (board, xeon):
        check(f"{device.name} leaves when told to", device.stop() == {"weft-edge": 0})
    break_one_by_one(cloud, board)
    examine(xeon, "with a clock that is late", r"^clock +the clock is not set: it says .* → ",
            before=with_clock(xeon, -3))
    cloud.stop()
    cloud.stop_broker()


if __name__ == "__main__":
    main()
