#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What build/packages holds, looked at without installing it: lintian, how far the services are shut
in, whom the files belong to, pages, samples and completion, and what stands beside each package of its
contents."""

import gzip
import hashlib
import io
import json
import pathlib
import re
import subprocess
import tarfile
import tempfile
import tomllib
import unittest

DEBS = sorted((pathlib.Path(__file__).resolve().parents[2] / "build/packages").glob("*.deb"))
WANTED = {"weft-edge": {"amd64", "arm64", "armhf"}, "weft-ps": {"amd64", "arm64"}, "weft": {"amd64"}}
MOST_EXPOSED = 2.0
COMMANDS = {"weft-edge": ["train", "enrol", "board", "doctor"], "weft-ps": ["serve", "status", "doctor"],
            "weft": ["cluster init", "cluster add", "sim", "plan"]}
# What is typed up to the cursor, and what bash offers then; "pi1.tar" stands for files.
COMPLETED = {
    "weft-edge": [(["en"], ["enrol"]), (["enrol", ""], "pi1.tar"), (["enrol", "--in"], ["--into"]),
                  (["train", "--config", ""], "pi1.tar"), (["train", "--ca", "p"], "pi1.tar"),
                  (["train", "--config", "=", "p"], "pi1.tar"), (["train", "--batch", ""], []),
                  (["train", "--data", "mnist", ":", "p"], "pi1.tar"),
                  (["train", "--optimizer", ""], ["adamw", "sgd"])],
    "weft-ps": [(["se"], ["serve"]), (["serve", "--config", ""], "pi1.tar"),
                (["serve", "--model", "x", "--rou"], ["--rounds", "--round-deadline"])],
    "weft": [(["clu"], ["cluster"]), (["cluster", "li"], ["list"]), (["cluster", "init", "p"], "pi1.tar"),
             (["cluster", "list", "--dir", ""], "pi1.tar"), (["cluster", "list", "--js"], ["--json"])],
}


def output(*command):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def control_files(deb):
    tar = subprocess.run(["dpkg-deb", "--ctrl-tarfile", deb], stdout=subprocess.PIPE, check=True).stdout
    return tarfile.open(fileobj=io.BytesIO(tar)).getnames()


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


class Documents(unittest.TestCase):
    """What an administrator looks for first: the page, the sample, and what the shell completes."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def each(self):
        """(program, its architecture, the package's files unpacked)"""
        for deb in DEBS:
            place = pathlib.Path(self.folder.name, deb.stem)
            output("dpkg-deb", "--extract", deb, place)
            yield field(deb, "Package"), field(deb, "Architecture"), place

    def test_each_program_has_a_man_page_of_all_its_commands(self):
        for name, _, place in self.each():
            page = gzip.decompress((place / f"usr/share/man/man1/{name}.1.gz").read_bytes()).decode()
            for command in COMMANDS[name]:
                self.assertIn(f'.SS "{name} {command}"'.replace("-", "\\-"), page)
            self.assertIn(".SH SYNOPSIS", page)

    def test_a_service_has_a_sample_and_no_file_that_dpkg_would_ask_about(self):
        for name, role in (("weft-edge", "edge"), ("weft-ps", "ps")):
            for program, _, place in self.each():
                if program != name:
                    continue
                sample = place / f"usr/share/doc/{name}/examples/{role}.toml"
                self.assertEqual(tomllib.loads(sample.read_text()), {})  # nothing is taken in yet
                self.assertEqual(list((place / "etc").rglob("*")), [place / "etc/weft"])
        for deb in DEBS:
            self.assertNotIn("./conffiles", control_files(deb), deb.name)

    def completed(self, script, *typed):
        """What bash offers for the last word of these."""
        function = f"_{typed[0].replace('-', '_')}"
        done = subprocess.run(
            ["bash", "-euc", f'. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); {function}; '
             'printf "%s\n" "${COMPREPLY[@]}"', "bash", script, *typed], stdout=subprocess.PIPE,
            text=True, check=True, cwd=self.folder.name)
        return done.stdout.split()

    def test_bash_completes_commands_flags_choices_and_files(self):
        pathlib.Path(self.folder.name, "pi1.tar").touch()
        for name, arch, place in self.each():
            script = place / f"usr/share/bash-completion/completions/{name}"
            output("bash", "-n", script)
            for typed, wanted in COMPLETED[name]:
                found = self.completed(script, name, *typed)
                if wanted == "pi1.tar":  # files, and nothing else
                    self.assertIn(wanted, found, (name, typed))
                    self.assertFalse([word for word in found if word.startswith("-")], (name, typed))
                else:
                    self.assertEqual(sorted(found), sorted(wanted), (name, arch, typed))


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
