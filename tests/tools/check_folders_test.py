#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants includes in a made-up tree and looks whether tools/check_folders.py sees the bad ones."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_folders.py"


class CheckFolders(unittest.TestCase):

    def run_on(self, files):
        """The checker's exit code and lines for a tree of {path: includes}."""
        with tempfile.TemporaryDirectory() as root:
            for name, includes in files.items():
                path = pathlib.Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(f"#include {include}\n" for include in includes))
            done = subprocess.run([sys.executable, CHECKER, "--root", root],
                                  capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.splitlines()

    def assert_fine(self, files):
        self.assertEqual(self.run_on(files), (0, []))

    def assert_caught(self, files, *words):
        code, lines = self.run_on(files)
        self.assertEqual((code, len(lines)), (1, 1), lines)
        for word in words:
            self.assertIn(word, lines[0])

    def test_accepts_the_house_as_designed(self):
        self.assert_fine({
            "core/shape.h": ["<array>", "<cstdint>"],
            "core/shape.cc": ['"core/shape.h"'],
            "sched/planner.cc": ['"core/shape.h"', '"sched/planner.h"', "<vector>"],
            "net/mqtt/client.cc": ["<mosquitto.h>", "<sys/socket.h>"],
            "cloud_ps/server.cc": ['"net/transport.h"', '"core/shape.h"'],
            "apps/weft/main.cc": ["<CLI/CLI.hpp>", '"sched/planner.h"', '"cloud_ps/server.h"'],
            "tests/sched/planner_test.cc": ['"sched/planner.h"', "<CppUTest/TestHarness.h>"],
            "tests/apps/report_test.cc": ['"apps/weft/report.h"', "<CppUTest/TestHarness.h>"],
        })

    def test_catches_an_include_that_points_upwards(self):
        self.assert_caught({"core/shape.cc": ["<array>", '"sched/planner.h"']},
                           "core/shape.cc:2:", "core must not include")

    def test_catches_siblings(self):
        self.assert_caught({"sched/runtime.cc": ['"net/transport.h"']}, "sched/runtime.cc:1:")
        self.assert_caught({"cloud_ps/server.cc": ['"sched/planner.h"']}, "cloud_ps/server.cc:1:")

    def test_catches_code_that_includes_tests(self):
        self.assert_caught({"apps/weft/main.cc": ['"tests/fakes.h"']}, "apps/weft/main.cc:1:")

    def test_catches_anything_but_std_in_core(self):
        self.assert_caught({"core/log.cc": ["<spdlog/spdlog.h>"]}, "core/log.cc:1:")
        self.assert_caught({"core/file.cc": ["<unistd.h>"]}, "core/file.cc:1:")

    def test_catches_a_library_in_two_subfolders(self):
        self.assert_caught({"apps/weft/main.cc": ["<fmt/core.h>"],
                            "net/mqtt/client.cc": ["<fmt/ranges.h>"]},
                           "net/mqtt/client.cc:1:", "apps")

    def test_catches_the_test_framework_outside_tests(self):
        self.assert_caught({"sched/planner.cc": ["<CppUTest/TestHarness.h>"]}, "sched/planner.cc:1:")

    def test_catches_an_include_not_written_from_the_root(self):
        self.assert_caught({"core/shape.cc": ['"shape.h"']}, "core/shape.cc:1:")

    def test_catches_a_folder_nobody_planned(self):
        self.assert_caught({"utils/strings.h": ["<string>"]}, "utils/strings.h:1:")


if __name__ == "__main__":
    unittest.main()
