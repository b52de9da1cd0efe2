#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What boards/image makes, looked at without booting it, and what it refuses. Debian itself is a few
files that pass for it: its installation takes minutes, and ./dev image-test boots the real one.

Everything is made with umask 077 and an ordinary user's PATH: neither may show in what is made.
"""

import io
import json
import pathlib
import re
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.dont_write_bytecode = True

from clean_root import HOUSE, enter_namespaces, run

EDGE = (990, 989)  # uid and gid of weft-edge in the made-up Debian
UNIT = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
DEBIAN = {"etc/passwd": "root:x:0:0:root:/root:/bin/bash\nweft-edge:x:{}:{}::/:/bin/false\n".format(*EDGE),
          "etc/weft/edge.toml": "# as the package brings it\n",
          "etc/ssh/ssh_host_ed25519_key": "everybody's\n", "etc/machine-id": "0123\n",
          "etc/systemd/network/README": "", "etc/systemd/system/README": "", "root/.bashrc": "",
          "usr/local/sbin/README": "", "boot/vmlinuz-6.1.0": "kernel", "boot/initrd.img-6.1.0": "initrd",
          "boot/firmware/config.txt": "", "boot/firmware/start4.elf": "",
          **{f"lib/systemd/system/{name}.service": UNIT for name in
             ("systemd-networkd", "systemd-resolved", "systemd-timesyncd", "ssh")}}
FILES = {"edge.toml": 'worker = "pi1"\ndata = "mnist:/var/lib/weft/edge/mnist"\n', "ca.crt": "ca",
         "device.crt": "crt", "device.key": "key"}


class Folder(unittest.TestCase):
    """Each test has a folder with a bundle, a data set, a key, and a mmdebstrap that copies DEBIAN."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="weft-images-")
        self.addCleanup(scratch.cleanup)
        self.path = pathlib.Path(scratch.name)
        self.bundle = self.make_bundle(FILES)
        self.data = self.path / "data/mnist"
        self.data.mkdir(parents=True)
        (self.data / "train-images-idx3-ubyte").write_text("images")
        (self.data / "link").symlink_to("train-images-idx3-ubyte")
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path / "id")
        for name, text in DEBIAN.items():
            file = self.path / "debian" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        stand_in = self.path / "bin/mmdebstrap"
        stand_in.parent.mkdir()
        (self.path / "generated").mkdir()
        stand_in.write_text(f'#!/bin/bash\ncp -a {self.path}/debian "${{@: -2:1}}"\n')
        stand_in.chmod(0o755)

    def make_bundle(self, files, name="pi1.tar"):
        """Of texts and TarInfos."""
        with tarfile.open(self.path / name, "w", format=tarfile.USTAR_FORMAT) as tar:
            for inside, content in files.items():
                if isinstance(content, str):
                    info = tarfile.TarInfo(inside)
                    info.size = len(content)
                    tar.addfile(info, io.BytesIO(content.encode()))
                else:
                    tar.addfile(content)
        return self.path / name

    def ask(self, board, *words, bundle=None):
        """(exit code, what it said)"""
        done = subprocess.run(
            [HOUSE / "boards/image", board, "--bundle", bundle or self.bundle, "--out", self.path / "out",
             *words], umask=0o077, env={"PATH": f"{self.path}/bin:/usr/bin:/bin", "LC_ALL": "C"},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def make(self, board, *words, **options):
        code, said = self.ask(board, *words, **options)
        self.assertEqual(code, 0, said)
        self.assertIn("It is the device's identity" if board != "virt-arm64" else
                      "The disk is the device's identity", said)
        return said

    def assert_refused(self, why, board, *words, **options):
        code, said = self.ask(board, *words, **options)
        self.assertEqual(code, 2, said)
        self.assertRegex(said, f"^boards/image: .*{why}")
        self.assertEqual(said.count("\n"), 1, said)
        self.assertFalse((self.path / "out").exists())


class Refusals(Folder):
    def test_a_bundle_is_four_plain_files_and_nothing_else(self):
        def assert_refused(files, why):
            self.assert_refused(why, "rpi4", "--data", self.data, bundle=self.make_bundle(files, "other.tar"))

        def link(kind, name="device.key", target="/etc/shadow"):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            return info

        for kind, why in ((tarfile.SYMTYPE, "plain files"), (tarfile.LNKTYPE, "plain files"),
                          (tarfile.FIFOTYPE, "plain files"), (tarfile.DIRTYPE, "holds ca.crt device.crt")):
            assert_refused(FILES | {"device.key": link(kind)}, why)
        without = {name: text for name, text in FILES.items() if name != "device.key"}
        for extra in ({}, {"etc/device.key": "key"}, {"../device.key": "key"}, {"/device.key": "key"},
                      {"device.key\n": "key"}):
            assert_refused(without | extra, "is not a device's bundle")
        twice = {"again": tarfile.TarInfo("device.key")}
        assert_refused(FILES | twice, "holds ca.crt device.crt device.key device.key edge")
        assert_refused(FILES | {"device.key": ""}, "its device.key is empty")
        assert_refused(FILES | {"device.key": "k" * (2 << 20)}, "is too large")
        self.bundle.write_text("no tar file")
        self.assert_refused("not a tar file", "rpi4", "--data", self.data)

    def test_a_key_that_may_log_in_is_a_public_one(self):
        public = (self.path / "id.pub").read_text()
        key = self.path / "key"
        for text, why in (((self.path / "id").read_text(), "is a private key; give the public one, "),
                          ("", "is empty"), ("password\n", "its line 1 is not one"),
                          (f"{public}\nmore\n", "its line 2 is not one"),
                          (public[:40] + "\n", "ssh-keygen cannot read it")):
            key.write_text(text)
            self.assert_refused(why, "virt-arm64", "--data", self.data, "--ssh-key", key)
        self.assert_refused("no key", "rpi4", "--ssh-key", self.path / "none")
        self.assert_refused("--ssh-key is for rpi4 and virt-arm64", "rpi5", "--ssh-key", self.path / "id.pub")

    def test_a_board_that_nobody_can_reach_has_the_data_it_trains_on(self):
        self.assert_refused("would not be there: give that folder with --data …/mnist", "rpi4")
        self.assert_refused("no folder '.*none' to take data from", "rpi4", "--data", self.path / "none")
        self.assert_refused("would not be there", "virt-arm64", "--data", self.path / "data")
        for data, why in (
                ("", "names no data"),
                ('data = "cifar10:/home/pi/c"\n', "takes --data cifar10:/var/lib/weft/edge/NAME"),
                ('data = "mnist:/var/lib/weft/edge/mnist/none"\n', "would not be there")):
            bundle = self.make_bundle(FILES | {"edge.toml": f'worker = "pi1"\n{data}'}, "other.tar")
            self.assert_refused(why, "rpi4", "--data", self.data, bundle=bundle)


class Images(Folder):
    """Of Debian: a disk whose last partition is the root."""

    def open_root(self, image):
        """The root, copied out with its owners and modes."""
        # "…img2 : start=…, size=…, type=83"
        start, size = re.findall(r"start= *(\d+), size= *(\d+), type=83", run("sfdisk", "--dump", image))[0]
        self.assertEqual((int(start) + int(size)) * 512, image.stat().st_size)
        root = self.path / "root"
        root.mkdir()
        run("dd", f"if={image}", f"of={self.path}/ext4", "bs=1M", f"skip={int(start) // 2048}", "conv=sparse")
        run("e2fsck", "-fn", self.path / "ext4")
        run("debugfs", "-R", f"rdump / {root}", self.path / "ext4")
        return root

    def assert_file(self, path, mode, owner=(0, 0)):
        seen = path.lstat()
        self.assertEqual((oct(stat.S_IMODE(seen.st_mode)), seen.st_uid, seen.st_gid), (oct(mode), *owner),
                         path)

    def assert_root_is_pi1s(self, root):
        self.assert_file(root / "etc/weft/device.key", 0o600, EDGE)
        self.assertEqual((root / "etc/weft/device.key").read_text(), "key")
        for name in ("etc/weft/edge.toml", "etc/hosts", "etc/hostname", "etc/fstab",
                     "etc/systemd/network/20-wired.network", "etc/systemd/system/grow-root.service"):
            self.assert_file(root / name, 0o644)
        home = root / "var/lib/weft/edge"
        self.assert_file(home.parent, 0o755)
        self.assert_file(home, 0o750, EDGE)
        self.assert_file(home / "mnist", 0o755, EDGE)
        self.assert_file(home / "mnist/train-images-idx3-ubyte", 0o644, EDGE)
        self.assertEqual((home / "mnist/link").read_text(), "images")
        self.assertFalse((home / "mnist/link").is_symlink())
        self.assertFalse((root / "etc/ssh/ssh_host_ed25519_key").exists())

    def assert_grows(self, root):
        system = root / "etc/systemd/system"
        self.assertTrue((system / "local-fs.target.wants/grow-root.service").is_symlink())
        self.assert_file(root / "usr/local/sbin/grow-root", 0o755)
        # What grows the file system comes after it.
        run("/lib/systemd/system-generators/systemd-fstab-generator", *[self.path / "generated"] * 3,
            env={"SYSTEMD_FSTAB": str(root / "etc/fstab")})
        later = [unit.name for unit in (self.path / "generated").glob("*growfs*")]
        self.assertEqual(len(later), 1)
        self.assertRegex((system / "grow-root.service").read_text(), rf"(?m)^Before=.*{re.escape(later[0])}")

    def test_a_disk_has_all_that_the_device_is_and_is_nobody_elses_to_read(self):
        (self.path / "out").mkdir()
        (self.path / "out/virt-arm64-pi1.img").write_text("of an older day")
        (self.path / "out/virt-arm64-pi1.img").chmod(0o644)
        self.make("virt-arm64", "--data", self.data)
        for ending in ("img", "vmlinuz", "initrd"):
            self.assert_file(self.path / f"out/virt-arm64-pi1.{ending}", 0o600)
        root = self.open_root(self.path / "out/virt-arm64-pi1.img")
        self.assert_root_is_pi1s(root)
        self.assert_grows(root)
        self.assertFalse((root / "root/.ssh").exists())

    def test_a_card_has_firmware_and_root_and_lets_in_who_has_the_key(self):
        self.make("rpi4", "--data", f"{self.data}/", "--ssh-key", self.path / "id.pub")
        image = self.path / "out/rpi4-pi1.img"
        self.assert_file(image, 0o600)
        self.assertIn("start4.elf", run("mdir", "-b", "-i", f"{image}@@1M"))
        root = self.open_root(image)
        self.assert_root_is_pi1s(root)
        self.assert_grows(root)
        self.assert_file(root / "root/.ssh/authorized_keys", 0o600)
        system = root / "etc/systemd/system"
        self.assertIn("ssh-keygen -A", (system / "ssh-host-keys.service").read_text())
        for wanted in ("multi-user.target.wants/ssh.service", "ssh.service.wants/ssh-host-keys.service"):
            self.assertTrue((system / wanted).is_symlink(), wanted)

    def test_data_may_come_later_where_somebody_can_log_in(self):
        said = self.make("virt-arm64", "--ssh-key", self.path / "id.pub")
        self.assertRegex(said, "warning: pi1 trains on mnist:.*or bring it there yourself")


class Overlays(Folder):
    def test_an_overlay_has_modes_for_its_services_whatever_the_umask(self):
        self.make("jetson", "--data", self.data)
        overlay = self.path / "out/jetson-pi1.tar.gz"
        self.assertEqual(stat.S_IMODE(overlay.stat().st_mode), 0o600)
        with tarfile.open(overlay) as tar:
            modes = {member.name: (oct(member.mode), member.uid, member.gid) for member in tar}
            self.assertEqual(tar.extractfile("var/lib/weft/edge/mnist/link").read(), b"images")
            tmpfiles = tar.extractfile("usr/lib/tmpfiles.d/weft-edge.conf").read().decode()
        self.assertIn("Z /var/lib/weft/edge - weft-edge weft-edge\n", tmpfiles)
        wanted = {"etc/weft/device.key": 0o600, "var/lib/weft/edge": 0o750}
        open_to_all = ("etc/weft", "etc/weft/edge.toml", "etc/systemd/system/weft-edge.service", "opt/weft",
                       "opt/weft/lib", "opt/weft/weft-edge", "usr/lib/sysusers.d/weft-edge.conf",
                       "usr/lib/tmpfiles.d/weft-edge.conf", "var/lib/weft", "var/lib/weft/edge/mnist",
                       "var/lib/weft/edge/mnist/link")
        for name in open_to_all:
            wanted[name] = 0o644 if "." in name or name.endswith("/link") else 0o755
        for name, mode in wanted.items():
            self.assertEqual(modes[name], (oct(mode), 0, 0), name)
        # Folders of the system are left as they are there.
        self.assertFalse({"etc", "usr", "usr/lib", "var", "var/lib", "etc/systemd/system"} & set(modes))

    def test_an_overlay_tells_what_libraries_it_brings(self):
        said = self.make("rpi5")
        self.assertRegex(said, "warning: pi1 trains on mnist:.*which would not be there")
        overlay = self.path / "out/rpi5-pi1.tar.gz"
        document = json.loads((self.path / "out/rpi5-pi1.spdx.json").read_text())
        names = {package["SPDXID"]: package["name"] for package in document["packages"]}
        brought = {names[one["relatedSpdxElement"]] for one in document["relationships"]
                   if one["relationshipType"] == "CONTAINS"}
        self.assertLessEqual({"libc6", "libmosquitto1", "libssl3", "libstdc++6"}, brought)
        with tarfile.open(overlay) as tar:
            self.assertIn("opt/weft/lib/libssl.so.3", tar.getnames())
        digest = document["packages"][0]["checksums"][0]["checksumValue"]
        self.assertEqual(digest, run("sha256sum", overlay).split()[0])


if __name__ == "__main__":
    enter_namespaces()
    unittest.main()
