#!/usr/bin/python3
"""Runs a test program of this build inside a guest, so that ./dev test counts its cases.

    run_gtest.py [--cgroups v2] [--kernel WORD]… [--bring PATH[:INSIDE]]… [--env NAME=VALUE]… [--user root]
                 [--timeout SECONDS] PROGRAM [ARGUMENTS]

The program (gtest, or python3 with run_cases.py) and what is brought stand under the same paths inside as here, unless
told otherwise; what the guest has in /usr/bin is not brought. The report goes where GTEST_OUTPUT says. Exits as the
program does; 125 says that the machine failed. A skip is told as a skip: what this kernel lacks is no fault of the host,
so ATOLL_MUST_RUN stays outside, and the caller's filter names what cannot run there.
"""

import argparse
import os
import pathlib
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from machine import CGROUPS, Guest  # noqa: E402

REPORT = "/tmp/report.xml"


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgroups", choices=CGROUPS, default="v2")
    parser.add_argument("--kernel", action="append", default=[])
    parser.add_argument("--bring", action="append", default=[])
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--user", default="root")
    parser.add_argument("--timeout", type=float, default=1500)
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args()


def main():
    options = parse()
    products = pathlib.Path(os.environ["ATOLL_BIN"]).parent.parent
    program = os.path.abspath(options.program)
    bring = [tuple(item.split(":", 1)) if ":" in item else item for item in options.bring]
    if not program.startswith("/usr/bin/"):
        bring.append(program)
    # Sanitizers inside obey what they are told here.
    environment = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
    environment |= {"ATOLL_BIN": "/usr/local/bin/atoll", "ATOLL_LIBEXEC": "/usr/local/libexec/atoll",
                    "GTEST_OUTPUT": f"xml:{REPORT}", "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= dict(item.split("=", 1) for item in options.env)
    try:
        with Guest(products=products, bring=bring, cgroups=options.cgroups,
                   kernel_arguments=options.kernel, log=print) as vm:
            done = vm.run(program, *options.arguments, env=environment, user=options.user, cwd="/tmp",
                          timeout=options.timeout, out=sys.stdout.buffer, err=sys.stderr.buffer)
            wanted = os.environ.get("GTEST_OUTPUT", "")
            if wanted.startswith("xml:"):
                report = pathlib.Path(wanted[4:])
                report.parent.mkdir(parents=True, exist_ok=True)
                report.write_bytes(vm.get(REPORT))
            return done.code
    except (RuntimeError, OSError, LookupError) as problem:
        print(f"guest: {problem}", file=sys.stderr)
        return 125


if __name__ == "__main__":
    sys.exit(main())
