# SPDX-License-Identifier: Apache-2.0
"""Starts a unit's program in a root as systemd would, as far as that goes without systemd: its user,
folders, environment and working directory, and a socket for what it has to say."""

import os
import re
import signal
import socket
import subprocess
import threading
import uuid


class Service:
    def __init__(self, root, name, watchdog_s=2):
        self.root, self.name = root, name
        self.unit = re.findall(r"^([A-Za-z]+)=(.*)$", root.read(f"/lib/systemd/system/{name}.service"),
                               re.MULTILINE)
        self.said = []
        self.spoke = threading.Condition()
        self.process = None
        self.watchdog_s = watchdog_s

    def value(self, key):
        return next((value for k, value in self.unit if k == key), None)

    def condition_holds(self):
        """Whether systemd would start it at all."""
        words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', self.value("ExecCondition"))]
        return subprocess.run(["chroot", self.root.path, *words]).returncode == 0

    def _folders(self, uid, gid):
        for key, base in (("StateDirectory", "/var/lib"), ("CacheDirectory", "/var/cache")):
            if name := self.value(key):
                place = self.root.path / base[1:] / name
                place.mkdir(parents=True, exist_ok=True)
                os.chown(place, uid, gid)

    def start(self):
        uid, gid = self.root.user(self.value("User"))
        self._folders(uid, gid)
        where = f"/run/notify-{self.name}-{uuid.uuid4().hex}"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(f"{self.root.path}{where}")
        os.chmod(f"{self.root.path}{where}", 0o666)
        threading.Thread(target=self._listen, daemon=True).start()
        environment = {"PATH": "/usr/bin:/bin", "NOTIFY_SOCKET": where,
                       "WATCHDOG_USEC": str(int(self.watchdog_s * 1e6))}
        for key, value in self.unit:
            if key == "Environment":
                variable, content = value.split("=", 1)
                environment[variable] = content.replace("%C", "/var/cache").replace("%S", "/var/lib")
        folder = self.value("WorkingDirectory").replace("%S", "/var/lib")

        def become_the_user():
            os.chroot(self.root.path)
            os.chdir(folder)
            os.setgroups([])
            os.setgid(gid)
            os.setuid(uid)
            os.umask(int(self.value("UMask"), 8))

        self.process = subprocess.Popen(self.value("ExecStart").split(), env=environment,
                                        preexec_fn=become_the_user)
        return self

    def _listen(self):
        """All the while, as systemd does: the kernel keeps ten messages and drops the next."""
        while True:
            message = self.socket.recv(4096).decode()
            with self.spoke:
                self.said.append(message)
                self.spoke.notify_all()

    def hears(self, wanted, within_s=120):
        """Whether it says that, from now on or before."""
        with self.spoke:
            return self.spoke.wait_for(lambda: any(wanted in message for message in self.said), within_s)

    def stop(self):
        """As systemd does; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def wait(self):
        return self.process.wait(240)
