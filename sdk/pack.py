#!/usr/bin/env python3
"""Makes the packages as they are published: an sdist and a wheel, and a tarball for npm.

    pack.py DIRECTORY

The sources are copied first, so nothing is left in the tree. The tools are those of tools/install.sh, in build/sdk-tools or
where ATOLL_SDK_TOOLS says.
"""

import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SDK = pathlib.Path(__file__).resolve().parent
TOOLS = pathlib.Path(os.environ.get("ATOLL_SDK_TOOLS", SDK.parent / "build/sdk-tools"))


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300, **more)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def copied(name, work):
    target = work / name
    shutil.copytree(SDK / name, target, ignore=shutil.ignore_patterns("__pycache__", "node_modules", "dist", "*.egg-info"))
    shutil.copy(SDK.parent / "LICENSE", target / "LICENSE")
    return target


def pack_python(work, out):
    """The wheel is made from the sdist, so both are whole."""
    source = copied("python", work)
    run(TOOLS / "python/bin/python", "-m", "build", "--no-isolation", "--outdir", out, source)


def pack_typescript(work, out):
    source = copied("typescript", work)
    (source / "node_modules").symlink_to(TOOLS / "node/node_modules")
    environment = {**os.environ, "PATH": f"{TOOLS / 'node/node_modules/.bin'}:{os.environ['PATH']}"}
    run("npm", "run", "--silent", "build", cwd=source, env=environment)
    package = json.loads((source / "package.json").read_text())
    for part in ("devDependencies", "scripts"):
        del package[part]
    (source / "package.json").write_text(json.dumps(package, indent=2) + "\n")
    run("npm", "pack", "--silent", "--pack-destination", out, cwd=source)


def main():
    out = pathlib.Path(sys.argv[1]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="atoll-pack-") as work:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for done in [pool.submit(pack, pathlib.Path(work), out) for pack in (pack_python, pack_typescript)]:
                done.result()
    print("\n".join(sorted(path.name for path in out.iterdir())))


if __name__ == "__main__":
    main()
