#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the #include lines of the house against its plan:

* dependencies between the top folders point one way (ALLOWED below);
* core includes nothing but the C++ standard library and itself;
* a third-party library is included from one subfolder only; tests and benchmarks may look anywhere,
  but only they include the test framework.

Prints one line per violation, with the rule it breaks, and exits 1 if there is any.
"""

import argparse
import pathlib
import re
import sys

# Which of our folders a folder may include, besides itself.
ALLOWED = {
    "core": set(),
    "kernels": {"core"},
    "sched": {"core"},
    "net": {"core"},
    "boards": {"core"},
    "cloud_ps": {"net", "core"},
    "bench": {"core", "kernels", "sched", "net", "boards", "cloud_ps"},
    "apps": {"core", "kernels", "sched", "net", "boards", "cloud_ps", "bench"},
    "tests": {"core", "kernels", "sched", "net", "boards", "cloud_ps", "apps", "bench"},
}
FREE_FOLDERS = {"tests", "bench"}  # may include third-party headers that another folder owns
TEST_FRAMEWORK = "CppUTest"

# Headers of one library that go by several names. Every other library is known by the first part of
# its path: <fmt/core.h> is fmt, <png.h> is png.h.
FAMILIES = {
    "CLI": "CLI11",
    "CppUTestExt": "CppUTest",
    "mosquittopp.h": "mosquitto.h",
    "mosquitto_broker.h": "mosquitto.h",
    "mosquitto_plugin.h": "mosquitto.h",
    "mqtt_protocol.h": "mosquitto.h",
    "dnnl.h": "oneDNN",
    "dnnl.hpp": "oneDNN",
    "oneapi": "oneDNN",
}

STANDARD = set("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono
cinttypes climits clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp
csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception
execution filesystem format forward_list fstream functional future initializer_list iomanip ios iosfwd
iostream istream iterator latch limits list locale map memory memory_resource mutex new numbers numeric
optional ostream queue random ranges ratio regex scoped_allocator semaphore set shared_mutex
source_location span sstream stack stdexcept stop_token streambuf string string_view syncstream
system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray
variant vector version
""".split())

# The operating system and the compiler: open to all but core.
SYSTEM_FOLDERS = {"arpa", "asm", "linux", "net", "netinet", "sys"}
SYSTEM_HEADERS = set("""
arm_acle.h arm_neon.h cpuid.h cxxabi.h dirent.h dlfcn.h errno.h execinfo.h fcntl.h fenv.h glob.h
immintrin.h libgen.h limits.h netdb.h poll.h pthread.h pwd.h sched.h signal.h spawn.h stdint.h stdio.h
stdlib.h string.h syslog.h termios.h time.h ucontext.h unistd.h wordexp.h x86intrin.h
""".split())

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SUFFIXES = {".h", ".hpp", ".cc", ".cpp", ".inc"}


def sources(root):
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if parts[0] == "build" or parts[0].startswith("."):
            continue
        if path.suffix in SUFFIXES and path.is_file():
            yield path


def family(header):
    """The third-party library `header` belongs to, or None if it is the system's."""
    first = header.split("/")[0]
    if "/" in header:
        if first in SYSTEM_FOLDERS:
            return None
    elif header in STANDARD or header in SYSTEM_HEADERS:
        return None
    return FAMILIES.get(first, first)


def subfolder(parts):
    """The folder that owns a library: net/mqtt, kernels/onednn; apps, tests and bench count as one
    each: programs share how they read flags and write JSON."""
    if parts[0] in FREE_FOLDERS or parts[0] == "apps":
        return parts[0]
    return "/".join(parts[:-1][:2])


def check(root):
    problems = []
    included_from = {}  # family -> {subfolder: (place, header) of its first include}
    for path in sources(root):
        relative = path.relative_to(root)
        folder = relative.parts[0]
        if folder not in ALLOWED:
            problems.append(f"{relative}:1: no such folder in the house: {folder}/ (see ALLOWED)")
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            place = f"{relative}:{number}"
            header = match.group(2)
            target = header.split("/")[0]
            if match.group(1) == '"' or (target in ALLOWED and (root / header).exists()):
                if target not in ALLOWED:
                    problems.append(f'{place}: "{header}" is not a path from the root of the house; '
                                    "other libraries' headers go in <>")
                elif target != folder and target not in ALLOWED[folder]:
                    may = ", ".join(sorted(ALLOWED[folder])) or "the standard library"
                    problems.append(f'{place}: {folder} must not include "{header}"; '
                                    f"it may include only itself and {may}")
                continue
            if folder == "core" and header not in STANDARD:
                problems.append(f"{place}: core must not include <{header}>; "
                                "it may include only itself and the standard library")
                continue
            library = family(header)
            if library:
                homes = included_from.setdefault(library, {})
                homes.setdefault(subfolder(relative.parts), (place, header))

    for library, homes in sorted(included_from.items()):
        if library == TEST_FRAMEWORK:
            strays = [home for home in homes if home not in FREE_FOLDERS]
            rule = "the test framework is for tests and bench only"
        else:
            owners = [home for home in homes if home not in FREE_FOLDERS]
            strays = owners[1:]
            rule = f"{library} is already included in {owners[0]}" if owners else ""
            rule += ", and a library is included in one subfolder only"
        for home in strays:
            place, header = homes[home]
            problems.append(f"{place}: {home} must not include <{header}>; {rule}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the tree to check (default: the one this script is in)")
    problems = check(parser.parse_args().root)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
