#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The life of the packages in a clean Debian: installed, idle until configured, a job trained by the
services, upgraded, removed, purged. `life_test.py ARCH`; a board's programs run in the emulator.

Without systemd the services are started by service.py, and a systemctl that only notes what it was
asked stands in. The image's test has systemd itself.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True

from clean_root import HOUSE, CleanRoot, check, enter_namespaces, run
from service import Service

PORT = 1883  # of the test's own network
ROUNDS = 10
CLUSTER = "/etc/weft/cluster"


def newer(deb, folder):
    """The same package as version 99, with other samples."""
    inside = folder / deb.stem
    run("dpkg-deb", "--raw-extract", deb, inside)
    control = inside / "DEBIAN/control"
    text = re.sub(r"^Version: .*$", "Version: 99", control.read_text(), flags=re.MULTILINE)
    control.write_text(re.sub(r"\(= [^)]*\)", "(= 99)", text))
    for sample in [*inside.glob("etc/weft/*.toml"), *inside.glob("usr/share/doc/*/examples/*")]:
        sample.write_text(sample.read_text() + "# newer\n")
    run("dpkg-deb", "--build", "-Zgzip", "-z1", "--root-owner-group", inside, folder / deb.name)
    return folder / deb.name


def start_broker(folder):
    config = folder / "mosquitto.conf"
    config.write_text(f"listener {PORT} 127.0.0.1\nallow_anonymous true\nuser root\n")
    return subprocess.Popen(["/usr/sbin/mosquitto", "-c", str(config)], stderr=subprocess.DEVNULL)


def configure(root, rounds):
    """As `weft cluster init` and the link of docs/deploy.md do it, and `weft-edge enrol`."""
    root.write(f"{CLUSTER}/server/ps.toml", f"""broker = "127.0.0.1:{PORT}"
job = "digits"
model = "lenet5"
input = "1x28x28"
classes = 10
batch = 4
workers = 1
rounds = {rounds}
state = "/var/lib/weft/ps/digits"
save = "/var/lib/weft/ps/digits.safetensors"
""")
    root.write(f"{CLUSTER}/server/ps.key", "a secret")
    if server := root.user("weft-ps"):
        for path in ("", "ps.toml", "ps.key"):
            os.chown(root.path / CLUSTER[1:] / "server" / path, *server)
    link = root.path / "etc/weft/ps.toml"
    link.unlink(missing_ok=True)
    link.symlink_to("cluster/server/ps.toml")
    root.write("/etc/weft/edge.toml", f"""broker = "127.0.0.1:{PORT}"
job = "digits"
worker = "pi1"
backend = "ref"
threads = 1
data = "synthetic:1x28x28:10:64"
""")


def train(root, names):
    """A job by the services, until its model is there."""
    configure(root, ROUNDS)
    services = [Service(root, name).start() for name in names]
    for service in services:
        check(f"{service.name} says when it works", service.hears("READY=1"), service.said)
    for service in services:
        check(f"{service.name} says that it is alive", service.hears("WATCHDOG=1"), service.said)
    codes = [service.wait() for service in services]
    check(f"{ROUNDS} rounds later both have ended well", codes == [0, 0], codes)
    check("they said that they were stopping", all(s.hears("STOPPING=1", 5) for s in services))
    model = root.path / "var/lib/weft/ps/digits.safetensors"
    check("the model is there", model.is_file() and model.stat().st_size > 100_000)
    check("and nobody else's to read", model.stat().st_mode & 0o077 == 0, oct(model.stat().st_mode))


def serve_alone_and_stop(root):
    """Without a device, a service waits, alive, and leaves when told to."""
    service = Service(root, "weft-edge", watchdog_s=0.4).start()
    check("a device without a server works and waits",
          service.hears("READY=1") and "waiting" in "".join(service.said), service.said)
    service.said.clear()
    check("and is alive all the while", service.hears("WATCHDOG=1", 30), service.said)
    code = service.stop()
    check("and leaves when told to, which is no failure",
          code == 0 and service.hears("STOPPING=1", 5), (code, service.said))


def main():
    enter_namespaces()
    arch = sys.argv[1]
    root = CleanRoot(arch)
    debs = sorted((HOUSE / "build/packages").glob(f"*_{arch}.deb"))
    names = [deb.name.split("_")[0] for deb in debs]
    services = [name for name in ("weft-ps", "weft-edge") if name in names]
    before = root.listing()

    root.install(*debs)
    audit = root.run("dpkg", "--audit")
    check(f"{', '.join(names)} install", audit == "", audit)
    for name in names:
        version = root.run(f"/usr/bin/{name}", "--version")
        check(f"{name} starts with no more than the packages it depends on",
              re.match(rf"{name} [0-9.]+\n", version), version)
    for name in services:
        role = name.removeprefix("weft-")
        shell = re.search(rf"^{name}:.*:(.*)$", root.read("/etc/passwd"), re.MULTILINE).group(1)
        check(f"{name} has a user who cannot log in",
              root.user(name)[0] < 1000 and shell == "/usr/sbin/nologin", shell)
        check(f"{name} is started at the next boot",
              root.exists(f"/etc/systemd/system/multi-user.target.wants/{name}.service"))
        check(f"{name} does nothing until it is configured",
              not Service(root, name).condition_holds())
        sample = root.read(f"/usr/share/doc/{name}/examples/{role}.toml")
        root.write(f"/etc/weft/{role}.toml", sample)
        check("nor with the sample as it is", not Service(root, name).condition_holds())
        lines = re.sub(r"^# (?=[a-z-]+ = )", "", sample, flags=re.MULTILINE)
        root.write(f"/etc/weft/{role}.toml", lines)
        check("but with its lines taken in", Service(root, name).condition_holds())
        (root.path / f"etc/weft/{role}.toml").unlink()
    configure(root, ROUNDS)
    for name in services:
        check(f"{name} has something to do when it is", Service(root, name).condition_holds())

    broker = start_broker(root.scratch)
    serve_alone_and_stop(root)
    train(root, services)

    asked = root.path / "tmp/asked"
    root.write("/usr/local/bin/systemctl", """#!/bin/sh
echo "$*" >>/tmp/asked
case "$*" in *is-enabled*) echo enabled ;; esac
""")
    os.chmod(root.path / "usr/local/bin/systemctl", 0o755)
    (root.path / "run/systemd/system").mkdir(parents=True)
    kept = {path: root.read(path) for path in ("/etc/weft/edge.toml", "/etc/weft/ps.toml")}
    root.install(*(newer(deb, root.scratch) for deb in debs))
    check("an upgrade asks nothing and keeps the configuration",
          all(root.read(path) == text for path, text in kept.items()))
    for name in services:
        check(f"and restarts {name}", re.search(rf"restart {name}\.service", asked.read_text()),
              asked.read_text())
    check("and keeps the state", root.exists("/var/lib/weft/ps/digits.safetensors"))

    asked.unlink()
    root.run("dpkg", "--remove", *reversed(names))
    for name in services:
        check(f"removing stops {name}", f"stop {name}.service" in asked.read_text(), asked.read_text())
        check("and takes the program away", not root.exists(f"/usr/bin/{name}"))
    check("but not the state, nor the configuration", root.exists("/var/lib/weft/ps/digits.safetensors")
          and root.read("/etc/weft/ps.toml") == kept["/etc/weft/ps.toml"])

    root.write("/etc/weft/device.key", "a secret")
    users = {name: root.user(name) for name in services}
    root.run("dpkg", "--purge", *reversed(names))
    cluster = root.path / CLUSTER[1:]
    check("purging leaves the cluster that the configuration was a link to",
          all(root.exists(f"{CLUSTER}/server/{name}") for name in ("ps.toml", "ps.key"))
          and root.read(f"{CLUSTER}/server/ps.toml") == kept["/etc/weft/ps.toml"])
    check("whose keys are nobody else's: the users stay",
          all(users.values()) and users == {name: root.user(name) for name in services})
    shutil.rmtree(cluster)
    left = root.listing() - before - {"etc/weft"}
    check("and no file of its own", not left, "\n".join(sorted(left)))
    broker.terminate()


if __name__ == "__main__":
    main()
