#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes beside a Debian package what is in it and what it runs with, as SPDX 2.3.

Taken from what was built, not from a list: the libraries that the program names (readelf), the
packages they came from and in turn depend on (dpkg), and the packages whose headers were compiled
into it (ninja). The time is SOURCE_DATE_EPOCH's.

Or beside an overlay, which brings libraries with it: those, and what the document beside the program's
package says.
"""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import tarfile
import urllib.parse


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


class Packages:
    """What dpkg knows about the files of this machine, or of a sysroot."""

    def __init__(self, root=None):
        self.root = root
        folder = root / "dpkg" if root else pathlib.Path("/var/lib/dpkg")
        self.fields = {}  # name -> its paragraph
        for paragraph in (folder / "status").read_text().split("\n\n"):
            fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", paragraph, re.MULTILINE))
            if "installed" in fields.get("Status", "").split():
                self.fields[fields["Package"]] = fields
        self.owners = {}  # path of a library or header -> package
        for path in (folder / "info").glob("*.list"):
            for line in path.read_text().splitlines():
                if ".so" in line or "/include/" in line:
                    self.owners[self.unmerged(line)] = path.stem.split(":")[0]

    @staticmethod
    def unmerged(path):
        """One name for what is reached by /lib and by /usr/lib."""
        return path.removeprefix("/usr") if path.startswith("/usr/lib") else path

    def owner(self, path):
        """Of a file of the root, or None."""
        path = os.path.normpath(path)
        if self.root:
            if not path.startswith(f"{self.root}/"):
                return None
            path = path[len(str(self.root)):]
        return self.owners.get(self.unmerged(path))

    def of_library(self, name):
        for place in ("lib", "usr/lib"):
            for path in sorted(pathlib.Path(self.root or "/", place).glob(f"*-linux-gnu*/{name}")):
                if owner := self.owner(str(path)):
                    return owner
        loader = self.owner(str(pathlib.Path(self.root or "/", "lib", name)))
        return loader or self.owner(str(pathlib.Path(self.root or "/", "lib64", name)))

    def needs(self, package):
        """The installed packages that a package depends on."""
        found = set()
        for group in self.fields[package].get("Depends", "").split(","):
            for choice in group.split("|"):
                name = re.sub(r"[ :(].*", "", choice.strip())
                if name in self.fields:
                    found.add(name)
                    break
        return found


def linked_libraries(program):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "--dynamic", str(program)))


def included_headers(tree, program):
    """Every file that was read in compiling the program, but for its own sources."""
    objects = {line for line in output("ninja", "-C", str(tree), "-t", "inputs", f"bin/{program}")
               .splitlines() if line.endswith(".o")}
    headers, ours = set(), False
    for line in output("ninja", "-C", str(tree), "-t", "deps").splitlines():
        if line and not line.startswith(" "):
            ours = line.split(":")[0] in objects
        elif ours and line:
            headers.add(os.path.normpath(tree / line.strip()))
    return headers


def element(fields):
    name, version = fields["Package"], fields["Version"]
    place = (f"pkg:deb/debian/{name}@{urllib.parse.quote(version, safe='')}"
             f"?arch={fields['Architecture']}")
    return {"SPDXID": f"SPDXRef-{name.replace('+', '.')}", "name": name, "versionInfo": version,
            "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": place}]}


def describe(deb, tree, root):
    own = {key: output("dpkg-deb", "--field", str(deb), key).strip()
           for key in ("Package", "Version", "Architecture")}
    program = tree / "bin" / own["Package"]
    target, here = Packages(root), Packages()

    linked = {target.of_library(name): name for name in linked_libraries(program)}
    if None in linked:
        raise SystemExit(f"sbom.py: no package of {linked[None]}, which {program.name} links")
    compiled = {}  # package -> its paragraph
    for header in included_headers(tree, program.name):
        for known in {target, here}:  # a cross compiler's own headers are this machine's
            if (owner := known.owner(header)) and owner not in compiled:
                compiled[owner] = known.fields[owner]

    runtime, waiting = set(), set(linked)
    while waiting:
        package = waiting.pop()
        runtime.add(package)
        waiting |= target.needs(package) - runtime

    paragraphs = compiled | {name: target.fields[name] for name in runtime}
    others = [element(paragraphs[name]) for name in sorted(paragraphs)]
    ids = {part["name"]: part["SPDXID"] for part in others}
    relations = [relation("SPDXRef-Package", "DYNAMIC_LINK", ids[name]) for name in sorted(linked)]
    relations += [relation("SPDXRef-Package", "STATIC_LINK", ids[name]) for name in sorted(compiled)]
    relations += [relation(ids[name], "DEPENDS_ON", ids[need])
                  for name in sorted(runtime) for need in sorted(target.needs(name))]
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]),
                                              datetime.timezone.utc)
    return document(deb, own, created.strftime("%Y-%m-%dT%H:%M:%SZ"), others, relations)


def describe_overlay(archive, deb, root):
    of_deb = json.loads(deb.with_suffix(".spdx.json").read_text())
    program = of_deb["packages"][0]
    target = Packages(root)
    with tarfile.open(archive) as tar:
        names = [name for folder, name in map(os.path.split, tar.getnames())
                 if folder == "opt/weft/lib" and ".so" in name]
    brought = {target.of_library(name): name for name in names}
    if None in brought:
        raise SystemExit(f"sbom.py: no package of {brought[None]}, which {archive.name} holds")
    linked = {one["relatedSpdxElement"] for one in of_deb["relationships"]
              if one["relationshipType"] == "STATIC_LINK"}
    others = {part["SPDXID"]: part for part in of_deb["packages"] if part["SPDXID"] in linked}
    libraries = [element(target.fields[name]) for name in sorted(brought)]
    others |= {part["SPDXID"]: part for part in libraries}
    relations = [relation("SPDXRef-Package", "CONTAINS", part["SPDXID"]) for part in libraries]
    relations += [relation("SPDXRef-Package", "STATIC_LINK", package) for package in sorted(linked)]
    own = {"Package": program["name"], "Version": program["versionInfo"], "Architecture": "arm64"}
    return document(archive, own, of_deb["creationInfo"]["created"], list(others.values()), relations)


def relation(left, kind, right):
    return {"spdxElementId": left, "relationshipType": kind, "relatedSpdxElement": right}


def document(file, own, created, others, relations):
    """About a file of ours, which is SPDXRef-Package, and those other packages."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    name = stem(file)
    me = element(own) | {"SPDXID": "SPDXRef-Package", "supplier": "Organization: weft maintainers",
                         "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
                         "packageFileName": file.name, "primaryPackagePurpose": "APPLICATION",
                         "checksums": [{"algorithm": "SHA256", "checksumValue": digest}]}
    me.pop("externalRefs")
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": name, "documentNamespace": f"urn:weft:sbom:{name}:{digest}",
            "creationInfo": {"created": created, "creators": ["Tool: weft-tools-sbom"]},
            "packages": [me, *others],
            "relationships": [relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Package"), *relations]}


def stem(file):
    return re.sub(r"\.(deb|tar\.gz)$", "", file.name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tree", type=pathlib.Path, help="the build tree; for packages")
    parser.add_argument("--root", type=pathlib.Path, help="the sysroot it was built with")
    parser.add_argument("--overlay", type=pathlib.Path, help="what is made of the package")
    parser.add_argument("debs", type=pathlib.Path, nargs="+")
    typed = parser.parse_args()
    root = typed.root.resolve() if typed.root else None
    for deb in typed.debs:
        file = typed.overlay or deb
        said = (describe_overlay(file, deb, root) if typed.overlay else
                describe(deb, typed.tree.resolve(), root))
        file.with_name(f"{stem(file)}.spdx.json").write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()
