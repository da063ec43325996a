#!/usr/bin/env python3
"""Checks that clang-format would change nothing; `check_format.py --fix` lets it change."""

import concurrent.futures
import os
import shutil
import subprocess
import sys

from sources import ROOT, cpp_files, report

PROGRAM = "clang-format-19"


def main():
    if not shutil.which(PROGRAM):
        return report([f"{PROGRAM} is missing: ./dev setup lint"], "")
    files = [str(p.relative_to(ROOT)) for p in cpp_files(ROOT)]
    options = ["-i"] if "--fix" in sys.argv[1:] else ["--dry-run", "-Werror", "--ferror-limit=1"]
    size = 16
    batches = [files[i : i + size] for i in range(0, len(files), size)]

    def run(batch):
        return subprocess.run([PROGRAM, *options, *batch], cwd=ROOT, capture_output=True, text=True, check=False)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(run, batches))
    problems = [
        line
        for result in results
        for line in result.stderr.splitlines()
        if ": error: " in line or result.returncode < 0
    ]
    if not problems and any(result.returncode for result in results):
        problems = [result.stderr for result in results if result.returncode]
    if problems:
        print("to format everything: ./dev lint --fix")
    return report(problems, f"{len(files)} files are formatted")


if __name__ == "__main__":
    sys.exit(main())
