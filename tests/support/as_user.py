"""Runs a test program as an ordinary user, and keeps its results where ctest expects them.

    as_user.py PROGRAM ARGS…

Root runs it, under a user id that nobody else has; an ordinary user runs it as themselves. What the program leaves running
is a failure.
"""
import os
import shutil
import subprocess
import sys
import tempfile

USER = 61_917


def processes_of(uid):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/status") as status:
                lines = dict(line.split(":", 1) for line in status if ":" in line)
            if int(lines["Uid"].split()[0]) == uid and not lines["State"].strip().startswith("Z"):
                found.append(f"{name} {lines['Name'].strip()}")
        except (OSError, KeyError, ValueError):
            continue  # gone meanwhile
    return found


def main():
    place = tempfile.mkdtemp(prefix="atoll-user-")
    results = os.environ.get("GTEST_OUTPUT", "").removeprefix("xml:")
    environment = dict(os.environ, HOME=place, GTEST_OUTPUT=f"xml:{place}/results.xml")
    environment.pop("XDG_RUNTIME_DIR", None)
    user = {}
    if os.geteuid() == 0:
        os.chown(place, USER, USER)
        user = {"user": USER, "group": USER, "extra_groups": []}
    try:
        code = subprocess.run(sys.argv[1:], env=environment, cwd=place, **user).returncode
        if results and os.path.exists(f"{place}/results.xml"):
            shutil.copyfile(f"{place}/results.xml", results)
        left = processes_of(USER) if user else []
        if left:
            print(f"as_user: still running: {', '.join(left)}", file=sys.stderr)
            code = code or 1
        return code
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
