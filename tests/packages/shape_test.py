#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What build/packages holds, looked at without installing it: lintian, how far the services are shut
in, whom the files belong to, and what stands beside each package of its contents."""

import hashlib
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

DEBS = sorted((pathlib.Path(__file__).resolve().parents[2] / "build/packages").glob("*.deb"))
WANTED = {"weft-edge": {"amd64", "arm64", "armhf"}, "weft-ps": {"amd64", "arm64"}, "weft": {"amd64"}}
MOST_EXPOSED = 2.0


def output(*command):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def field(deb, name):
    return output("dpkg-deb", "--field", deb, name).strip()


class Packages(unittest.TestCase):
    def test_there_is_one_for_every_program_and_board(self):
        made = {name: set() for name in WANTED}
        for deb in DEBS:
            made[field(deb, "Package")].add(field(deb, "Architecture"))
        self.assertEqual(made, WANTED)

    def test_lintian_finds_neither_errors_nor_warnings(self):
        done = subprocess.run(["lintian", "--no-cfg", "--allow-root", "--fail-on", "error,warning",
                               *map(str, DEBS)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_services_are_shut_in(self):
        for deb in DEBS:
            name = field(deb, "Package")
            if name == "weft":
                continue
            with tempfile.TemporaryDirectory() as folder:
                output("dpkg-deb", "--extract", deb, folder)
                unit = f"{folder}/lib/systemd/system/{name}.service"
                said = output("systemd-analyze", "security", "--offline=true", "--no-pager", unit)
            score = float(re.search(r"exposure level for \S+: ([0-9.]+)", said).group(1))
            self.assertLessEqual(score, MOST_EXPOSED, said)

    def test_files_are_roots_and_nobody_elses_to_write(self):
        for deb in DEBS:
            for line in output("dpkg-deb", "--contents", deb).splitlines():
                mode, owner = line.split()[:2]
                self.assertEqual(owner, "root/root", line)
                self.assertIn(mode, {"drwxr-xr-x", "-rw-r--r--", "-rwxr-xr-x"}, line)

    def test_a_program_tells_nothing_of_where_it_was_built(self):
        house = str(pathlib.Path(__file__).resolve().parents[2]).encode()
        for deb in DEBS:
            with tempfile.TemporaryDirectory() as folder:
                output("dpkg-deb", "--extract", deb, folder)
                program = pathlib.Path(folder, "usr/bin", field(deb, "Package")).read_bytes()
            self.assertNotIn(house, program, deb.name)
            self.assertNotIn(b"/build/sysroots/", program, deb.name)


class Sbom(unittest.TestCase):
    def documents(self):
        for deb in DEBS:
            yield deb, json.loads(deb.with_suffix(".spdx.json").read_text())

    def test_it_is_spdx_2_3(self):
        for _, document in self.documents():
            self.assertEqual(document["spdxVersion"], "SPDX-2.3")
            self.assertEqual(document["dataLicense"], "CC0-1.0")
            self.assertEqual(document["SPDXID"], "SPDXRef-DOCUMENT")
            self.assertRegex(document["documentNamespace"], r"^[a-z]+:[^#\s]+$")
            self.assertRegex(document["creationInfo"]["created"],
                             r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            self.assertRegex(document["creationInfo"]["creators"][0], r"^(Tool|Organization): .")
            for package in document["packages"]:
                self.assertRegex(package["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")
                self.assertTrue(package["name"] and package["versionInfo"])
                self.assertEqual(package["downloadLocation"], "NOASSERTION")
            ids = [package["SPDXID"] for package in document["packages"]]
            self.assertEqual(len(ids), len(set(ids)))
            for relation in document["relationships"]:
                self.assertIn(relation["spdxElementId"], [*ids, "SPDXRef-DOCUMENT"])
                self.assertIn(relation["relatedSpdxElement"], ids)
                self.assertIn(relation["relationshipType"],
                              {"DESCRIBES", "DYNAMIC_LINK", "STATIC_LINK", "DEPENDS_ON"})

    def test_it_is_about_the_package_beside_it(self):
        for deb, document in self.documents():
            own = document["packages"][0]
            self.assertEqual((own["name"], own["versionInfo"]),
                             (field(deb, "Package"), field(deb, "Version")))
            self.assertEqual(own["checksums"][0]["checksumValue"],
                             hashlib.sha256(deb.read_bytes()).hexdigest())

    def test_it_lists_the_libraries_that_the_package_depends_on_and_no_others(self):
        for deb, document in self.documents():
            names = {package["SPDXID"]: package["name"] for package in document["packages"]}
            linked = {names[relation["relatedSpdxElement"]] for relation in document["relationships"]
                      if relation["relationshipType"] == "DYNAMIC_LINK"}
            # dpkg-shlibdeps' answer; of spdlog it names the ABI, not the package.
            depends = {re.sub(r"[ (].*", "", part.strip()).removesuffix("-fmt9")
                       for part in field(deb, "Depends").split(",")}
            self.assertEqual(depends - {"systemd", "weft-edge", "weft-ps"}, linked, deb.name)


if __name__ == "__main__":
    unittest.main()
