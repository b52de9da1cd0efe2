#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes beside a Debian package what is in it and what it runs with, as SPDX 2.3.

Taken from what was built, not from a list: the libraries that the program names (readelf), the
packages they came from and in turn depend on (dpkg), and the packages whose headers were compiled
into it (ninja). The time is SOURCE_DATE_EPOCH's.
"""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
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

    digest = hashlib.sha256(deb.read_bytes()).hexdigest()
    me = element(own) | {"SPDXID": "SPDXRef-Package", "supplier": "Organization: weft maintainers",
                         "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
                         "packageFileName": deb.name, "primaryPackagePurpose": "APPLICATION",
                         "checksums": [{"algorithm": "SHA256", "checksumValue": digest}]}
    me.pop("externalRefs")
    paragraphs = compiled | {name: target.fields[name] for name in runtime}
    others = [element(paragraphs[name]) for name in sorted(paragraphs)]
    ids = {part["name"]: part["SPDXID"] for part in others}

    def relation(left, kind, right):
        return {"spdxElementId": left, "relationshipType": kind, "relatedSpdxElement": right}

    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Package")]
    relations += [relation("SPDXRef-Package", "DYNAMIC_LINK", ids[name]) for name in sorted(linked)]
    relations += [relation("SPDXRef-Package", "STATIC_LINK", ids[name]) for name in sorted(compiled)]
    relations += [relation(ids[name], "DEPENDS_ON", ids[need])
                  for name in sorted(runtime) for need in sorted(target.needs(name))]
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]),
                                              datetime.timezone.utc)
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": deb.stem, "documentNamespace": f"urn:weft:sbom:{deb.stem}:{digest}",
            "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                             "creators": ["Tool: weft-tools-sbom"]},
            "packages": [me, *others], "relationships": relations}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tree", type=pathlib.Path, required=True, help="the build tree")
    parser.add_argument("--root", type=pathlib.Path, help="the sysroot it was built with")
    parser.add_argument("debs", type=pathlib.Path, nargs="+")
    typed = parser.parse_args()
    root = typed.root.resolve() if typed.root else None
    for deb in typed.debs:
        text = json.dumps(describe(deb, typed.tree.resolve(), root), indent=1) + "\n"
        deb.with_suffix(".spdx.json").write_text(text)


if __name__ == "__main__":
    main()
