#!/usr/bin/env python3
"""Holds the dependency rule: a folder includes only folders above it, and heavy headers stay in .cc files.

    check_layers.py [ROOT]

The rule as people read it is in CONTRIBUTING.md; this file is the rule as the build knows it.
"""

import pathlib
import re
import sys

from sources import CPP, ROOT, cpp_files, includes, is_test, report

LAYERS = (
    "base os json config telemetry net crypto client library driver guest native container storage template store drivers policy core api cli app lib"
).split()
RANK = {name: rank for rank, name in enumerate(LAYERS)}

# A layer above these could include them by rank, and must not.
FORBIDDEN = {
    "policy": {"drivers"},
    "core": {"drivers"},
    "api": {"drivers", "store"},
}

# The static programs: small enough to read in one sitting, so nothing heavy may come near them.
STATIC_PROGRAMS = ("agent", "src/native/launcher", "src/native/child", "src/native/oci")
STATIC_MAY = re.compile(r"^(base/|os/|native/|agent/|guest/(protocol|frame|plain_call|refusal|tool_records)[a-z_]*\.h$)")
STATIC_NEVER = re.compile(r"^(boost/|fmt/|spdlog/|yaml-cpp/|CLI/|openssl/|sqlite3)")
STATIC_NEVER_OURS = {"base/task.h", "base/pch.h"}

# Third-party headers that cost seconds per translation unit, or tie a layer to a library for ever.
HEAVY = re.compile(r"^(boost/(asio|beast|json)[/.]|yaml-cpp/|sqlite3|openssl/|CLI/|spdlog/|libpq)")
BLESSED = re.compile(r"^boost/(asio/(awaitable|any_io_executor)|json/fwd|asio/ts/netfwd)\.hpp$")
# Single headers that need a heavy one because of what they are.
EXCEPTIONS = {
    ("src/base/run_task.h", "boost/asio/io_context.hpp"),  # a template over the loop, for main programs and tests
}
# A public header whose whole point is a library of the user's own.
FOR_USERS_OF_ASIO = "sdk/cpp/include/atoll/async_client.h"


def check(root):
    files = {p.relative_to(root).as_posix(): p for p in cpp_files(root)}
    reads = {name: includes(path.read_text(errors="replace")) for name, path in files.items()}
    problems = []
    for name, lines in reads.items():
        path = pathlib.PurePosixPath(name)
        rules = [_layer_rule(path, files)]
        if path.suffix == ".h":
            rules.append(_heavy_rule(path))
        if _is_static(path):
            rules.append(_static_rule(path))
        for line, is_ours, included in lines:
            for rule in rules:
                if why := rule(is_ours, included):
                    problems.append(f"{name}:{line}: {why}")
        if _is_static(path):
            problems += _static_closure(name, reads)
    return problems


def _layer_of(path):
    """The layer of a file: a folder of src/ or sdk/cpp/, or None for what stands outside (tests, bench, agent)."""
    if path.parts[:2] == ("sdk", "cpp"):
        return path.parts[2] if len(path.parts) > 3 and path.parts[2] != "include" else None
    return path.parts[1] if path.parts[0] == "src" and len(path.parts) > 2 else None


def _is_static(path):
    return not is_test(path) and path.as_posix().startswith(tuple(s + "/" for s in STATIC_PROGRAMS))


def _layer_rule(path, files):
    layer = _layer_of(path)

    def rule(is_ours, included):
        if not is_ours:
            return None
        target = included.split("/")[0]
        if "/" not in included:
            return f'"{included}" is not a full path from src/'
        if included.startswith("../") or "/../" in included:
            return f'"{included}" climbs: write the full path from src/'
        if included.endswith("_internal.h") and not _same_folder_source(path, included):
            return f'"{included}" is internal: only .cc files of its own folder include it'
        if layer is None:
            return None
        if layer not in RANK:
            return f"src/{layer} is no known layer: add it to LAYERS in tests/lint/check_layers.py"
        if target == "agent":
            return "src/ never includes agent/"
        if target not in RANK:
            return None  # generated or support headers; the compiler knows whether they exist
        if RANK[target] > RANK[layer]:
            return f"{layer} may not include {target} (\"{included}\"): it stands below in the order"
        if target in FORBIDDEN.get(layer, ()):
            return f'{layer} never includes {target}/ ("{included}")'
        if layer == "drivers" == target:
            return _between_drivers(path, included, files)
        return None

    return rule


def _same_folder_source(path, included):
    folder = included.rpartition("/")[0]
    return path.suffix == ".cc" and path.parent.as_posix() in (f"src/{folder}", f"sdk/cpp/{folder}")


def _between_drivers(path, included, files):
    """drivers/x includes drivers/y only if y is a shared client, that is, holds no *_driver.h."""
    mine, parts = path.parts[2:-1], included.split("/")[1:-1]
    if not mine or not parts or mine[0] == parts[0]:
        return None
    prefix = f"src/drivers/{parts[0]}/"
    if any(name.startswith(prefix) and name.endswith("_driver.h") for name in files):
        return f'drivers never include each other ("{included}")'
    return None


def _heavy_rule(path):
    may_json = _layer_of(path) == "json"

    def rule(is_ours, included):
        if is_ours or BLESSED.match(included) or not HEAVY.match(included):
            return None
        if path.as_posix() == FOR_USERS_OF_ASIO and included.startswith("boost/asio/"):
            return None
        if path.name.endswith("_internal.h") or (path.as_posix(), included) in EXCEPTIONS:
            return None
        if may_json and included.startswith("boost/json"):
            return None
        return f"<{included}> belongs into a .cc file (or an x_internal.h of this folder)"

    return rule


def _static_rule(path):
    program = next(s for s in STATIC_PROGRAMS if path.as_posix().startswith(s + "/"))

    def rule(is_ours, included):
        if is_ours and not STATIC_MAY.match(included):
            return f'"{included}": {program} sees only base, os, native and guest/{{protocol,frame,plain_call}}*.h'
        return None

    return rule


def _static_closure(name, reads):
    """What a static program drags in through our headers counts as well."""
    problems, seen, todo = [], set(), [(name, ())]
    while todo:
        current, via = todo.pop()
        for line, is_ours, included in reads.get(current, ()):
            bad = STATIC_NEVER_OURS.__contains__ if is_ours else STATIC_NEVER.match
            if bad(included):
                where = f"{name}:{line}" if not via else f"{name}:1"
                through = f" (through {' → '.join(via)})" if via else ""
                problems.append(f"{where}: a static program may not include {included}{through}")
            if is_ours and included not in seen:
                seen.add(included)
                ours = f"src/{included}" if f"src/{included}" in reads else included
                todo.append((ours, (*via, included)))
    return problems


def main():
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    count = sum(1 for p in cpp_files(root) if p.suffix in CPP)
    if count == 0:
        return report([f"no C++ file below {root}"], "")
    return report(check(root), f"{count} files keep the layers")


if __name__ == "__main__":
    sys.exit(main())
