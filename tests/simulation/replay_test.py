#!/usr/bin/env python3
"""replay_test.py PROGRAM MUTANT…: what many lives accuse, the command that they print shows again, alone.

A life that depends on those before it in its process, or on how many jobs there are, is another one when it is
lived alone.
"""

import re
import shlex
import subprocess
import sys
import unittest

PROGRAM, MUTANTS = None, []


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    return done.returncode, done.stdout.splitlines()


class Replay(unittest.TestCase):
    def test_the_printed_command_accuses_word_for_word_the_same(self):
        self.assertTrue(MUTANTS, "no mutant is named")
        for mutant in MUTANTS:
            with self.subTest(mutant=mutant):
                _, said = run([PROGRAM, "--mutant", mutant, "--seeds", "1000", "--jobs", "2"])
                accusations = dict(found.groups() for line in said if (found := re.match(r"seed (\d+): (.+)", line)))
                first = min(accusations, key=int)
                command = said[-1].removeprefix("to see the first: ")

                code, told = run(shlex.split(command))

                self.assertIn(f"--seed {first} ", command)
                self.assertEqual(code, 1)
                self.assertRegex(told[-1], r"^\d+ operations, \d+ faults: ")
                self.assertEqual(told[-1].split(" faults: ", 1)[1], accusations[first])

    def test_two_lives_alone_are_told_alike_and_others_are_not(self):
        once, again, other = (run([PROGRAM, "--seed", seed])[1] for seed in ("7", "7", "8"))
        self.assertGreater(len(once), 200)
        self.assertEqual(once, again)
        self.assertNotEqual(once, other)


if __name__ == "__main__":
    PROGRAM, MUTANTS = sys.argv[1], sys.argv[2:]
    unittest.main(argv=sys.argv[:1])
