#!/usr/bin/env python3
"""Runs clang-tidy over src/, agent/ and sdk/cpp/, a file only if it or something that it includes has changed.

    tidy.py BUILD_TREE [FILE…]

BUILD_TREE holds compile_commands.json, made without precompiled headers. A file that passed leaves a stamp in
BUILD_TREE/tidy-cache under a key made of everything that decides the outcome: the configuration, the program, the
command line, the file and every header of ours that it reaches.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time

from sources import ROOT, includes, is_test

PROGRAM = "clang-tidy-19"
FOLDERS = ("src/", "agent/", "sdk/cpp/")


def commands_of(tree):
    """{path from the root: command line} of what is to be checked: our sources, not tests, not generated ones."""
    found = {}
    for entry in json.loads((tree / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if not path.is_relative_to(ROOT) or path.is_relative_to(tree) or is_test(path):
            continue
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(FOLDERS):
            found[name] = entry["command"]
    return found


class Keys:
    """Keys of files; each header is read once."""

    def __init__(self, tree):
        version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
        self._common = (ROOT / ".clang-tidy").read_bytes() + version.encode()
        self._roots = (ROOT / "src", ROOT / "sdk/cpp", ROOT, tree)
        self._files = {}

    def of(self, name, command):
        digest = hashlib.sha256(self._common + command.encode())
        for path in sorted(self._reach(ROOT / name)):
            digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + self._read(path)[0])
        return digest.hexdigest()

    def _read(self, path):
        if path not in self._files:
            raw = path.read_bytes()
            ours = [inc for _, is_ours, inc in includes(raw.decode(errors="replace")) if is_ours]
            self._files[path] = (hashlib.sha256(raw).digest(), ours)
        return self._files[path]

    def _reach(self, start):
        seen, todo = set(), [start]
        while todo:
            path = todo.pop()
            if path in seen:
                continue
            seen.add(path)
            for included in self._read(path)[1]:
                for root in (path.parent, *self._roots):
                    if (root / included).is_file():
                        todo.append(root / included)
                        break
        return seen


def main():
    tree = pathlib.Path(sys.argv[1]).resolve()
    commands = commands_of(tree)
    if wanted := sys.argv[2:]:
        commands = {name: command for name, command in commands.items() if name in wanted}
    if not commands:
        print("no file to check")
        return 1
    cache = tree / "tidy-cache"
    cache.mkdir(exist_ok=True)
    keys = Keys(tree)
    todo = []
    for name, command in sorted(commands.items()):
        stamp = cache / keys.of(name, command)
        if stamp.exists():
            os.utime(stamp)
        else:
            todo.append((name, stamp))
    done, bad = 0, 0

    def run(job):
        name, stamp = job
        begin = time.monotonic()
        result = subprocess.run(
            [PROGRAM, "-p", tree, "--quiet", name], cwd=ROOT, capture_output=True, text=True, check=False
        )
        return name, stamp, result, time.monotonic() - begin

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, stamp, result, seconds in pool.map(run, todo):
            done += 1
            print(f"[{done}/{len(todo)}] {name} {seconds:.1f}s", flush=True)
            if result.returncode == 0:
                stamp.touch()
            else:
                bad += 1
                print(result.stdout + result.stderr, flush=True)
    _forget_old(cache)
    print(f"{len(commands)} files, {len(todo)} looked at, {bad} with problems")
    return 1 if bad else 0


def _forget_old(cache, days=30):
    limit = time.time() - days * 86400
    for stamp in cache.iterdir():
        if stamp.stat().st_mtime < limit:
            stamp.unlink()


if __name__ == "__main__":
    sys.exit(main())
