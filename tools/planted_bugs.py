#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants one bug at a time into a copy of the sources and checks that the simulation notices.

usage: tools/planted_bugs.py [--seeds N] [NAME...]     (N: 10000 unless told)

Every bug is a small change to the protocol's code, of the kind one makes by mistake. Prints one line
per bug; exits 1 if one was not caught, or if the text to be changed is no longer there.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SERVER = "cloud_ps/server.cc"
SERVER_MESSAGES = "cloud_ps/server_messages.cc"
SERVER_ROUNDS = "cloud_ps/server_rounds.cc"
SESSION = "net/worker_session.cc"
SESSION_JOINING = "net/worker_session_joining.cc"

# name: (file, what is there, what is planted)
BUGS = {
    "stale-epoch-taken": (SERVER_MESSAGES, "  if (header.epoch != setting_.epoch) {\n    Refuse(header, segment,",
                          "  if (false) {\n    Refuse(header, segment,"),
    "old-ticket-taken": (SERVER_MESSAGES, "  if (segment.ticket != member.ticket) return;", ""),
    "weights-ignored": (SERVER_ROUNDS, "{.floats = member.delivery.floats(), .weight = member.batch}",
                        "{.floats = member.delivery.floats(), .weight = 1}"),
    "closed-without-all": (SERVER_ROUNDS, "if (!s.closed && s.complete == in_round_) Close(slice);",
                           "if (!s.closed && s.complete >= Needed()) Close(slice);"),
    "released-before-kept": (SERVER_ROUNDS, "  return setting_.shards > 1 || open_ + 1 ==",
                             "  return false && open_ + 1 =="),
    "checkpoint-in-mid-round": (SERVER_ROUNDS, "  if (closed_ > 0 && !all_closed) return;", ""),
    "older-version-forgotten": (SERVER_ROUNDS, "  if (setting_.shards > 1 && (all_closed || older_whole_)) {",
                                "  if (false) {"),
    "journal-not-replayed": (SERVER, "  redone_.Add(record.slice);\n",
                             "  redone_.Add(record.slice);\n  redone_.Clear();\n"),
    "uncommitted-version-kept": (SESSION_JOINING, "  if (link.epoch == 0) return;\n  if (push_.round > open)",
                                 "  if (open >= 0) return;\n  if (push_.round > open)"),
    "jumps-ahead": (SESSION_JOINING, "  if (links_.size() == 1) return true;\n  return round",
                    "  return true;\n  return round"),
    "gradients-forgotten-early": (SESSION, "  if (attempt.id == attempt_) begun_ = attempt.id;\n",
                                  "  if (attempt.id == attempt_) begun_ = attempt.id;\n"
                                  "  StartPush(attempt);\n"),
    "released-while-away-lost": (SESSION,
                                 "if (link.first_unit <= unit && unit <= link.last_unit && link.planned) {",
                                 "if (link.first_unit <= unit && unit <= link.last_unit && link.planned &&"
                                 " link.joined) {"),
    "not-sent-again": ("net/segment_sender.cc", "    waiting_.insert(sent.what);\n", ""),
    "checksum-unchecked": ("net/codec/decode.cc", "  if (!CheckHolds(bytes, m.check())) {",
                           "  if (false && !CheckHolds(bytes, m.check())) {"),
}


def run(*words, **more):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10000)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    names = arguments.names or list(BUGS)
    missed = []
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch) / "weft"
        tracked = run("git", "-C", str(ROOT), "ls-files", "-z").stdout.split("\0")
        for name in filter(None, tracked):
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
        made = run("cmake", "--preset", "release", cwd=copy)
        if made.returncode:
            sys.exit(made.stdout)
        for name in names:
            file, there, planted = BUGS[name]
            text = (copy / file).read_text()
            if text.count(there) != 1:
                sys.exit(f"{name}: its place in {file} has changed; bring it up to date")
            (copy / file).write_text(text.replace(there, planted))
            built = run("cmake", "--build", "--preset", "release", "--target", "ps_test", cwd=copy)
            if built.returncode:
                sys.exit(f"{name}: does not compile\n{built.stdout[-2000:]}")
            result = run(str(copy / "build/release/bin/ps_test"), "-sg", "Simulation",
                         env={**os.environ, "WEFT_SEEDS": str(arguments.seeds)})
            (copy / file).write_text(text)
            caught = result.returncode != 0
            reason = [line.strip() for line in result.stdout.splitlines()
                      if "seed " in line or "ssert" in line]
            print(f"{name}: {'caught' if caught else 'MISSED'}  {reason[0][:100] if reason else ''}",
                  flush=True)
            if not caught:
                missed.append(name)
    if missed:
        sys.exit(f"not caught within {arguments.seeds} seeds: {', '.join(missed)}")


if __name__ == "__main__":
    main()
