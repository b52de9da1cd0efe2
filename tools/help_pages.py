#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a program's man page and bash completion from what it says to --help.

The man page is a page written by hand with the line @COMMANDS@ in it, in whose place come the
commands and their options. `--date` is the page's; `--version` the program's.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ENTRY = re.compile(r"  (\S.*?)(?:  +(\S.*))?$")  # an option or command, and what it is for
CONTINUED = re.compile(r" {8,}(\S.*)$")


class Command:
    """One command's help, and the commands below it."""

    def __init__(self, program, words):
        done = subprocess.run([*program, *words, "--help"], stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"help_pages.py: {' '.join([*program, *words])} --help failed")
        self.words = words
        self.about = done.stdout.splitlines()[0]
        self.entries = {}  # heading -> [[what is typed, what it is for]]
        heading = None
        for line in done.stdout.splitlines()[1:]:
            if line.endswith(":") and not line.startswith((" ", "Usage:")):
                heading = self.entries.setdefault(line[:-1], [])
            elif heading is not None and (more := CONTINUED.match(line)):
                heading[-1][1] = f"{heading[-1][1]} {more.group(1)}".strip()
            elif heading is not None and (entry := ENTRY.match(line)):
                heading.append([entry.group(1), entry.group(2) or ""])
        names = [entry[0].split()[0] for entry in self.entries.get("Subcommands", [])]
        self.below = [Command(program, [*words, name]) for name in names]

    def options(self):
        """[what is typed, what it is for] of all that begin with a dash."""
        return [entry for heading, entries in self.entries.items() if heading != "Subcommands"
                for entry in entries if entry[0].startswith("-")]

    def all(self):
        yield self
        for command in self.below:
            yield from command.all()


def roff(text):
    return text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")


def plain(typed):
    """"--batch INT:INT in [1 - 65536]=32" for people: "--batch INT (1 - 65536, else 32)"."""
    typed = re.sub(r" REQUIRED\b", "", typed)
    match = re.match(r"(\S+)(?: ([A-Z]+)(?::(?:INT in \[(.*?)\]|\{(.*?)\}|[A-Z]+))?(?:=(.*))?)?", typed)
    flag, kind, bounds, choice, default = match.groups()
    told = [part for part in (bounds, choice and choice.replace(",", ", "),
                              default and f"default {default}") if part]
    words = flag.replace(",", ", ") + (f" {kind}" if kind else "")
    return words + (f" ({'; '.join(told)})" if told else "")


def man_commands(name, top):
    lines = []
    for command in top.all():
        lines.append(f'.SS "{roff(" ".join([name, *command.words]))}"')
        lines += [roff(command.about), ""] if command.words else []
        for typed, about in command.options():
            if typed.startswith("-h,") and command.words:
                continue
            lines += [".TP", f".B {roff(plain(typed))}", roff(about)]
    return "\n".join(lines)


def taken(typed):
    """What an option is followed by: "" by nothing, its choices, "file", or "other" than a file."""
    match = re.match(r"\S+ ([A-Z]+)(?::\{(.*?)\})?", typed)
    if not match or match.group(1) == "REQUIRED":
        return ""
    kind, choice = match.groups()
    return choice.replace(",", " ") if choice else "file" if kind in ("TEXT", "FILE") else "other"


def completion(name, top):
    function = f"_{name.replace('-', '_')}"
    follows, begins = [], []
    for command in top.all():
        words = " ".join(command.words)
        flags = []
        for typed, _ in command.options():
            names = typed.split()[0].split(",")
            flags += names
            if kind := taken(typed):
                pattern = " | ".join(f'"{words} {flag}"' for flag in names)
                what = {"file": "files=yes ", "other": ""}.get(kind, f'words="{kind}" ')
                follows.append(f"    {pattern}) {what};;")
        below = [each.words[-1] for each in command.below]
        files = any(re.search(r"\b(file|folder)\b", about)
                    for _, about in command.entries.get("Positionals", []))
        begins.append(f'    "{words}") below="{" ".join(below)}" flags="{" ".join(flags)}"'
                      f'{" files=yes" if files else ""} ;;')
    groups = " ".join(sorted({" ".join(c.words) for c in top.all() if c.below and c.words}))
    return f"""# bash completion for {name}, made from its --help
{function}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
  local command= words= below= flags= files= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${{COMP_WORDS[i]}} == -* ]] && continue
    if [[ ! $command || " {groups} " == *" $command "* ]]; then
      command+="${{command:+ }}${{COMP_WORDS[i]}}"
    fi
  done
  [[ $word == [:=] ]] && before=$word word=
  case "$command $before" in
    *" :" | *" =") files=yes ;; # of KIND:PATH, or --flag=PATH
{chr(10).join(follows)}
    *)
      case $command in
{chr(10).join("    " + line for line in begins)}
      esac
      words=$below
      [[ $word == -* || ! $below$files ]] && words=$flags files=
      ;;
  esac
  COMPREPLY=()
  [[ ! $words ]] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  [[ ! $files ]] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
}}
complete -o filenames -F {function} {name}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=pathlib.Path, required=True, help="the page written by hand")
    parser.add_argument("--version", required=True)
    parser.add_argument("--man", type=pathlib.Path, required=True)
    parser.add_argument("--completion", type=pathlib.Path, required=True)
    parser.add_argument("program", nargs="+", help="with an emulator in front where one is needed")
    typed = parser.parse_args()
    name = pathlib.Path(typed.program[-1]).name
    top = Command(typed.program, [])
    page = typed.page.read_text().replace("@VERSION@", typed.version)
    typed.man.write_text(page.replace("@COMMANDS@", man_commands(name, top)))
    typed.completion.write_text(completion(name, top))


if __name__ == "__main__":
    main()
