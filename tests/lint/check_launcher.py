#!/usr/bin/env python3
"""Keeps the privileged part small: counts the lines of code of everything of ours that is linked into atoll-launcher.

    check_launcher.py [MAP]

MAP is the linker's account of what is in the program; without it, the release build's, if there is one. Counted are the sources of its objects and every header of ours that
they include, in turn; blank lines and comments are not.
"""

import pathlib
import re
import sys

from sources import ROOT, report

MOST_LINES = 6650
BUILT = ROOT / "build/release/src/native/launcher/atoll-launcher.map"
# Not a template of the standard library, which the linker takes from whichever file has it: that is no code of the file.
IN_ARCHIVE = re.compile(r"src/([\w/]+)/lib\w+\.a\((\w+\.cc)\.o\):\((?!\.[a-z]+\._ZN?K?St)")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def sources_in(link_map):
    found = {ROOT / "src/native/launcher/main.cc"}
    for folder, name in set(IN_ARCHIVE.findall(link_map)):
        here = [path for path in (ROOT / "src" / folder).rglob(name)]
        if len(here) != 1:
            raise SystemExit(f"check_launcher: which file is {folder}: {name}?")
        found.add(here[0])
    return found


def with_headers(sources):
    waiting, seen = list(sources), set(sources)
    while waiting:
        for name in INCLUDE.findall(waiting.pop().read_text()):
            path = ROOT / "src" / name
            if path.exists() and path not in seen:
                seen.add(path)
                waiting.append(path)
    return seen


def code_lines(path):
    stripped = (line.strip() for line in path.read_text().splitlines())
    return sum(1 for line in stripped if line and not line.startswith("//"))


def main():
    link_map = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else BUILT
    if len(sys.argv) < 2 and not link_map.exists():
        print("atoll-launcher is not built here, so there is nothing to count")
        return 0
    if not link_map.exists():
        return report([f"{link_map} is missing: build the target atoll-launcher first"], "")
    files = with_headers(sources_in(link_map.read_text()))
    lines = sum(map(code_lines, files))
    print(f"atoll-launcher: {lines} lines in {len(files)} files, at most {MOST_LINES}")
    problems = [] if lines <= MOST_LINES else [f"{lines} lines are linked into atoll-launcher, at most {MOST_LINES} may be"]
    if len(files) < 20:
        problems.append(f"only {len(files)} files were found, so the count means nothing")
    return report(problems, "small enough")


if __name__ == "__main__":
    sys.exit(main())
