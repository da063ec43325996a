#!/usr/bin/env python3
"""Writes the generated parts of the clients.

    generate.py           writes them
    generate.py --check   writes nothing; fails when one is not what would be written

From docs/openapi.yaml come the types and the operations of both languages. From the asyncio client in Python, which is
written by hand, comes its twin without asyncio: the same code, word for word, but for the words of asyncio.
"""

import pathlib
import sys

import yaml

from generator import blocking, document, python, typescript

SDK = pathlib.Path(__file__).resolve().parent
OPENAPI = SDK.parent / "docs/openapi.yaml"


def generated(openapi):
    """Text by path below sdk/."""
    api = document.read(yaml.safe_load(openapi))
    package = "python/src/atoll"
    files = {
        f"{package}/models.py": python.models(api),
        f"{package}/_table.py": python.table(api),
        f"{package}/aio/_operations.py": python.operations(api),
        "typescript/src/models.ts": typescript.models(api),
        "typescript/src/operations.ts": typescript.operations(api),
    }
    for name in blocking.TWINS:
        source = files.get(f"{package}/aio/{name}") or (SDK / package / "aio" / name).read_text()
        files[f"{package}/_blocking/{name}"] = blocking.twin(source, name)
    return files


def main():
    files = generated(OPENAPI.read_text())
    stale = [name for name, text in files.items() if not (SDK / name).is_file() or (SDK / name).read_text() != text]
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"sdk/{name}:1: not what docs/openapi.yaml and the asyncio client say; run sdk/generate.py")
        return 1 if stale else 0
    for name in stale:
        (SDK / name).parent.mkdir(parents=True, exist_ok=True)
        (SDK / name).write_text(files[name])
        print(f"wrote sdk/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
