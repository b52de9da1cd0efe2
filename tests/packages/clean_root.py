# SPDX-License-Identifier: Apache-2.0
"""A copy of a clean Debian root for one test, in namespaces of its own: what is done there to files,
processes and the network ends with the test, however that ends."""

import os
import pathlib
import subprocess
import sys

HOUSE = pathlib.Path(__file__).resolve().parents[2]
PLACE = pathlib.Path("/mnt")  # in the test's own mount namespace only


def enter_namespaces():
    """Starts this program again where it can do no harm."""
    if os.environ.get("WEFT_IN_NAMESPACES"):
        return
    command = ["env", "WEFT_IN_NAMESPACES=yes", "unshare", "--mount", "--propagation", "private", "--net",
               "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, *sys.argv]
    if os.geteuid() != 0:
        command = ["sudo", *command]
    os.execvp(command[0], command)


def run(*command, **options):
    """Its output; stops the test, showing that, if it fails."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\nfailed: {' '.join(str(word) for word in command)}")
    return done.stdout


def check(claim, holds, seen=""):
    """Says that a claim holds, or stops the test."""
    if not holds:
        sys.exit(f"NOT SO: {claim}\n{seen}")
    print(f"ok: {claim}", flush=True)


class CleanRoot:
    """build/roots/<arch> under a layer that takes every change."""

    def __init__(self, arch, place=PLACE):
        base = HOUSE / "build/roots" / arch
        if not base.is_dir():
            sys.exit(f"no {base}: ./dev package-root {arch} makes it")
        run("ip", "link", "set", "lo", "up")
        run("mount", "-t", "tmpfs", "tmpfs", place)
        self.path = place / "root"
        for folder in ("root", "upper", "work", "scratch"):
            (place / folder).mkdir()
        self.scratch = place / "scratch"
        run("mount", "-t", "overlay", "overlay", "-o",
            f"lowerdir={base},upperdir={place}/upper,workdir={place}/work", self.path)
        run("mount", "--rbind", "/dev", self.path / "dev")
        run("mount", "-t", "proc", "proc", self.path / "proc")
        for name in ("run", "tmp"):
            run("mount", "-t", "tmpfs", "tmpfs", self.path / name)

    def run(self, *command):
        return run("chroot", self.path, *command, env={
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "HOME": "/root"})

    def install(self, *debs):
        for deb in debs:
            (self.path / "tmp" / deb.name).write_bytes(deb.read_bytes())
        return self.run("dpkg", "--install", *(f"/tmp/{deb.name}" for deb in debs))

    def read(self, path):
        return (self.path / path.lstrip("/")).read_text()

    def write(self, path, text):
        place = self.path / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def exists(self, path):
        return os.path.lexists(self.path / path.lstrip("/"))

    def user(self, name):
        """(uid, gid) or None."""
        for line in self.read("/etc/passwd").splitlines():
            fields = line.split(":")
            if fields[0] == name:
                return int(fields[2]), int(fields[3])
        return None

    def listing(self):
        """Every file there is, but for what dpkg and the test keep."""
        skipped = ("dev", "proc", "run", "tmp", "sys", "var/lib/dpkg", "var/log", "var/cache/ldconfig",
                   "var/cache/debconf", "usr/local")
        found = set()
        for folder, below, files in os.walk(self.path):
            inside = os.path.relpath(folder, self.path)
            below[:] = [name for name in below
                        if os.path.normpath(f"{inside}/{name}") not in skipped]
            found |= {os.path.normpath(f"{inside}/{name}") for name in [*below, *files]}
        return {path for path in found if not path.endswith("-")}  # /etc/passwd- and the like
