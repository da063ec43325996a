"""Runs a program where pids are its own to give: in a pid namespace, with its /proc, and with somebody who reaps what it leaves.

    own_pids.py PROGRAM ARGS…

Needs root. Whatever is left running ends with the program.
"""
import os
import subprocess
import sys

FIRST = "--first"


def be_first(words):
    """A zombie keeps its pid from being given again, so orphans are reaped at once."""
    program = subprocess.Popen(words)
    while True:
        pid, status = os.wait()
        if pid == program.pid:
            return os.waitstatus_to_exitcode(status)


def main():
    if sys.argv[1:2] == [FIRST]:
        return be_first(sys.argv[2:])
    if os.geteuid() != 0:
        os.execvp(sys.argv[1], sys.argv[1:])  # which says for itself what it lacks
    os.execvp("unshare", ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, os.path.abspath(__file__), FIRST,
                          *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
