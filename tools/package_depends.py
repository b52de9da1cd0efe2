#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what a Debian package with these programs depends on, as `Depends:` has it.

dpkg-shlibdeps finds it out, from the symbols that the programs use. For a board's programs it is led
to the board's libraries: those of a sysroot that tools/record_packages.sh has described.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile


def moved_database(root, folder):
    """dpkg's database of `root`, with every file named by where it is on this machine."""
    info = folder / "info"
    info.mkdir()
    (folder / "updates").mkdir()
    for path in (root / "dpkg").iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    for path in (root / "dpkg/info").iterdir():
        text = path.read_text()
        if path.suffix == ".list":
            text = "".join(f"{root}{line}\n" for line in text.splitlines())
        (info / path.name).write_text(text)
    return folder


def depends(programs, root=None):
    """`root`: a sysroot; this machine itself if None."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        command = ["dpkg-shlibdeps", "-O", "--warnings=1"]
        if root:
            root = root.resolve()
            (scratch / "dpkg").mkdir()
            command.append(f"--admindir={moved_database(root, scratch / 'dpkg')}")
            folders = {path.parent for place in ("lib", "usr/lib")
                       for path in (root / place).rglob("*.so*")}
            command += [f"-l{folder}" for folder in sorted(folders)]
        # It wants to be in a source package.
        (scratch / "debian").mkdir()
        (scratch / "debian/control").write_text("Source: weft\n\nPackage: weft\nArchitecture: any\n")
        command += [str(program.resolve()) for program in programs]
        done = subprocess.run(command, cwd=scratch, stdout=subprocess.PIPE, text=True)
    prefix = "shlibs:Depends="
    if done.returncode != 0 or not done.stdout.startswith(prefix):
        sys.exit(f"package_depends.py: dpkg-shlibdeps could not tell what {programs[0].name} needs; "
                 "a sysroot made by an older ./dev is made anew by removing it")
    return done.stdout[len(prefix):].strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, help="the sysroot the programs were linked with")
    parser.add_argument("programs", type=pathlib.Path, nargs="+")
    typed = parser.parse_args()
    print(depends(typed.programs, typed.root))


if __name__ == "__main__":
    main()
