#!/usr/bin/env python3
"""Looks after the small things that make a tree pleasant to read.

    check_tree.py [ROOT]

- no source or document over 700 lines, but for what is generated;
- no notes to self: work that is left belongs into the issue tracker;
- no file named after nothing (utils, common, helpers, misc);
- every header says in its first line what it is, and has #pragma once;
- no trailing blanks, no tabs in C++, and a newline at the end;
- shell scripts parse; links between our documents lead somewhere.
"""

import pathlib
import re
import subprocess
import sys

from sources import ROOT, report

MOST_LINES = 700
# Written apart, so that this file passes its own check.
NOTES = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
EMPTY_NAMES = re.compile(r"^(utils?|common|helpers?|misc|stuff|manager2)(_|\.|$)")
SKIPPED_FOLDERS = {".git", "build", ".cache", "node_modules", "__pycache__", "corpus"}
CODE = {".h", ".cc", ".py", ".cmake", ".sh", ".sql", ".ts", ".js"}
TEXT = CODE | {".md", ".txt", ".json", ".yaml", ".yml"}
# In the first line of a file that nobody reads from its beginning to its end.
GENERATED = re.compile(r"^(#|//) Generated from .+ by \S+\. Change ")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def files_of(root):
    found = []
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if not SKIPPED_FOLDERS.intersection(parts) and path.is_file() and not path.is_symlink():
            found.append(path)
    return found


def is_shell(path, text):
    return path.suffix == ".sh" or text.startswith(("#!/bin/bash", "#!/bin/sh", "#!/usr/bin/env bash"))


def check_file(root, path):
    name = path.relative_to(root).as_posix()
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        return [] if path.suffix not in TEXT else [f"{name}:1: not UTF-8"]
    shell = is_shell(path, text)
    if path.suffix not in TEXT and not shell:
        return []
    problems = []
    lines = text.split("\n")
    read = path.suffix in CODE or path.suffix == ".md" or shell
    if read and len(lines) - 1 > MOST_LINES and not GENERATED.match(lines[0]):
        problems.append(f"{name}:1: {len(lines) - 1} lines; split it at {MOST_LINES}")
    if EMPTY_NAMES.match(path.name):
        problems.append(f"{name}:1: the name says nothing; name the noun that it holds")
    for number, line in enumerate(lines, 1):
        if note := NOTES.search(line):
            problems.append(f"{name}:{number}: '{note.group()}': open an issue instead")
        if line != line.rstrip() and path.suffix != ".md":
            problems.append(f"{name}:{number}: trailing blanks")
        if "\t" in line and path.suffix in (".h", ".cc"):
            problems.append(f"{name}:{number}: a tab")
    if text and not text.endswith("\n"):
        problems.append(f"{name}:{len(lines)}: no newline at the end")
    if path.suffix == ".h":
        if not lines[0].startswith("// "):
            problems.append(f"{name}:1: the first line does not say what this header is")
        if "#pragma once" not in lines:
            problems.append(f"{name}:1: no #pragma once")
    if path.suffix == ".md":
        problems += check_links(root, path, name, lines)
    if shell:
        parsed = subprocess.run(["bash", "-n", path], capture_output=True, text=True, check=False)
        problems += [f"{name}: {line}" for line in parsed.stderr.splitlines()]
    return problems


def check_links(root, path, name, lines):
    problems, in_code = [], False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        for target in [] if in_code else LINK.findall(line):
            if re.match(r"^([a-z]+:|#)", target):
                continue
            file = target.split("#")[0]
            base = root if file.startswith("/") else path.parent
            if not (base / file.lstrip("/")).exists():
                problems.append(f"{name}:{number}: the link to {target} leads nowhere")
    return problems


def check(root):
    return [problem for path in files_of(root) for problem in check_file(root, path)]


def main():
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    files = files_of(root)
    if not files:
        return report([f"no file below {root}"], "")
    return report(check(root), f"{len(files)} files are in order")


if __name__ == "__main__":
    sys.exit(main())
