"""Every attack is sharp: with nothing in its way, on the host itself, it reaches its canary."""

import os
import pathlib
import sys
import unittest

from live import LIBEXEC

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from bare import Bare  # noqa: E402
from host import Host  # noqa: E402
from scorecard import Suite, catalogue  # noqa: E402
from security_test import setUpModule  # noqa: E402, F401


class Sharp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.host = Host(os.path.join(LIBEXEC, "atoll-attack")).__enter__()
        cls.addClassCleanup(cls.host.__exit__)
        cls.missing = Suite(cls.host, "bare", "", LIBEXEC).missing
        cls.engine = Bare(cls.host)
        cls.addClassCleanup(cls.engine.end)

    def try_it(self, attack):
        if attack["name"] in self.missing:
            print(self.missing[attack["name"]])
            return
        verdict = self.engine.play(attack)
        expected = "not_applicable" if self.engine.needs_sandbox(attack) else "reached"
        self.assertEqual(verdict.outcome, expected, verdict)


def case(attack):
    return lambda self: self.try_it(attack)


for one in catalogue(LIBEXEC)["attacks"]:
    setattr(Sharp, f"test_{one['name']}", case(one))


if __name__ == "__main__":
    unittest.main()
