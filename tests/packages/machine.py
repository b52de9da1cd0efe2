# SPDX-License-Identifier: Apache-2.0
"""A clean root that passes for a machine: a network of its own with a cable to the cloud's, somebody
who types commands there, and a systemctl whose requests the test fulfils. Without systemd a unit's
program is started by service.py; the broker's here, because it finds its user itself."""

import contextlib
import ctypes
import os
import re
import signal
import socket
import subprocess
import time

from clean_root import PLACE, CleanRoot, check, run
from service import Service

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
STAND_INS = {
    "/usr/local/bin/sudo": 'exec "$@"',
    "/usr/local/bin/systemctl": 'echo "$*" >>/tmp/asked',
    "/usr/sbin/policy-rc.d": "exit 101",  # who installs a package starts nothing: there is no systemd
}


def change_network(how, *arguments):
    if how(*arguments) != 0:
        raise OSError(ctypes.get_errno(), "cannot change the network namespace")


class Machine(CleanRoot):
    """`number` 0 is the cloud, in the test's own network; the others have a cable to it each."""

    def __init__(self, name, arch, number):
        place = PLACE / name
        place.mkdir()
        super().__init__(arch, place)
        self.name, self.services, self.broker = name, {}, None
        self.home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        self.network = self.home
        cloud = "127.0.0.1"
        if number > 0:
            cloud = f"10.0.{number}.1"
            change_network(LIBC.unshare, CLONE_NEWNET)
            self.network = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
            change_network(LIBC.setns, self.home, CLONE_NEWNET)
            run("ip", "link", "add", f"cloud{number}", "type", "veth", "peer", "name", "cable")
            run("ip", "link", "set", "cable", "netns", f"/proc/{os.getpid()}/fd/{self.network}")
            run("ip", "address", "add", f"{cloud}/24", "dev", f"cloud{number}")
            run("ip", "link", "set", f"cloud{number}", "up")
            with self.inside():
                run("ip", "link", "set", "lo", "up")
                run("ip", "address", "add", f"10.0.{number}.2/24", "dev", "cable")
                run("ip", "link", "set", "cable", "up")
        self.write("/etc/hosts", f"127.0.0.1 localhost\n{cloud} cloud.example other.example\n")
        for path, command in STAND_INS.items():
            self.write(path, f"#!/bin/sh\n{command}\n")
            os.chmod(self.path / path[1:], 0o755)

    @contextlib.contextmanager
    def inside(self):
        """Programs that are started meanwhile are on this machine's network."""
        change_network(LIBC.setns, self.network, CLONE_NEWNET)
        try:
            yield
        finally:
            change_network(LIBC.setns, self.home, CLONE_NEWNET)

    def ask(self, command):
        """Types it, as its administrator at home who agrees; (exit code, what it said)."""
        with self.inside():
            done = subprocess.run(
                ["chroot", self.path, "sh", "-c", f"cd /root && {command}"], text=True,
                input="y\n", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={
                    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                    "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "HOME": "/root"})
        return done.returncode, done.stdout

    def type(self, command):
        """Types it, and does what it asked systemd for. It must succeed."""
        began = time.monotonic()
        code, said = self.ask(command)
        check(f"{self.name}$ {command}  ({time.monotonic() - began:.0f} s)", code == 0, said)
        asked = self.path / "tmp/asked"
        if asked.exists():
            requests = asked.read_text().splitlines()
            asked.unlink()
            for request in requests:
                self.obey(request.split())
        return said

    def obey(self, words):
        """What systemd would do."""
        name = words[-1]
        if words in (["restart", "mosquitto"], ["start", "mosquitto"]):
            self.stop_broker()
            self.start_broker()
        elif words == ["reload", "mosquitto"]:
            with self.broker_says("Reloading config"):
                self.broker.send_signal(signal.SIGHUP)
        elif words == ["enable", "--now", name]:
            service = Service(self, name)
            check(f"{name} has something to do", service.condition_holds())
            with self.inside():
                self.services[name] = service.start()
            check(f"{name} works", service.hears("READY=1"), service.said)
        else:
            check(f"systemctl {' '.join(words)} is known to this test", False)

    @contextlib.contextmanager
    def broker_says(self, words):
        """That, in its log, after what is done meanwhile."""
        log = self.path / "var/log/mosquitto/mosquitto.log"
        before = log.stat().st_size
        yield
        deadline = time.monotonic() + 60
        while words not in log.read_text()[before:] and time.monotonic() < deadline:
            time.sleep(0.02)
        said = log.read_text()[before:]
        check(f"the broker says {words}", words in said, said)

    def start_broker(self):
        unit = self.read("/lib/systemd/system/mosquitto.service")
        for before in re.findall(r"^ExecStartPre=(.*)$", unit, re.MULTILINE):
            self.run(*before.split())
        command = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE).group(1).split()
        self.broker = subprocess.Popen(["chroot", self.path, *command])
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and self.broker.poll() is None:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", 8883), 1).close()
                return
        check("the broker takes connections", False, self.run("cat", "/var/log/mosquitto/mosquitto.log"))

    def stop_broker(self):
        if self.broker:
            self.broker.terminate()
            self.broker.wait(30)

    def stop(self):
        """Its services, and what they leave with."""
        return {name: service.stop() for name, service in self.services.items()}
