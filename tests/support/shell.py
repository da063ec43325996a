"""A bash that documents are typed into, as a person would, and what documents say comes back."""

import re
import subprocess

END = "--- that was it, with "


def matches(expected, line):
    """`…` stands for anything."""
    pattern = ".*".join(re.escape(part) for part in expected.split("…"))
    return re.fullmatch(pattern, line) is not None


class Shell:
    """One for a whole document: what is exported stays."""

    def __init__(self, environment, directory):
        self.process = subprocess.Popen(["bash", "--norc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, cwd=directory, env=environment, bufsize=1)

    def type(self, command):
        """(lines, exit code)"""
        # A command that reads its stdin would read what is typed next. What it says may lack its last newline.
        self.process.stdin.write(f"{{ {command}\n}} </dev/null; printf '\\n%s%s\\n' '{END}' $?\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.startswith(END):
                if lines and not lines[-1]:
                    lines.pop()
                return lines, int(line[len(END):])
            lines.append(line.rstrip("\n"))
        raise AssertionError(f"the shell has ended after {command!r}: {lines}")

    def end(self):
        if not self.process.stdin.closed:
            self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()
