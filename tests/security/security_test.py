"""Every attack on one driver, as a case of its own; and its control.

Which driver, and where the test build is: ATOLL_SECURITY_DRIVER, ATOLL_WEAK_LIBEXEC (none: no controls).
ATOLL_SECURITY_LAYERS=1 also tries every layer alone. The scorecard, as a table: scorecard.py.
"""

import os
import pathlib
import sys
import unittest

from live import ATOLL, LIBEXEC

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from host import Host  # noqa: E402
from scorecard import Suite, catalogue, print_row  # noqa: E402

DRIVER = os.environ.get("ATOLL_SECURITY_DRIVER", "subprocess")
WEAK = os.environ.get("ATOLL_WEAK_LIBEXEC")
LAYERS = os.environ.get("ATOLL_SECURITY_LAYERS") == "1"
USER = os.environ.get("ATOLL_SECURITY_USER")


def setUpModule():
    if os.geteuid() != 0:
        if os.environ.get("ATOLL_MUST_RUN") == "1":
            raise RuntimeError("the canaries belong to root: run this as root")
        raise unittest.SkipTest("needs root, for canaries that belong to root")


class Attacks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.host = Host(os.path.join(LIBEXEC, "atoll-attack")).__enter__()
        cls.addClassCleanup(cls.host.__exit__)
        cls.suite = Suite(cls.host, DRIVER, os.path.abspath(ATOLL), LIBEXEC, WEAK, int(USER) if USER else None)
        cls.addClassCleanup(cls.suite.end)

    def judge(self, attack):
        row = self.suite.judge(attack, LAYERS)
        print_row(row)
        self.assertEqual(row.problems, [])
        if row.result in ("not applicable", "not covered"):
            # Known and written down: the kernel lacks it, or the driver does not claim to stop it.
            return
        self.assertEqual(row.result, "denied")


def case(attack):
    return lambda self: self.judge(attack)


for one in catalogue(LIBEXEC)["attacks"]:
    setattr(Attacks, f"test_{one['name']}", case(one))


if __name__ == "__main__":
    unittest.main()
