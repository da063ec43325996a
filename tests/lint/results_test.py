#!/usr/bin/env python3
"""Tests of dev.d/results.py, which decides what ./dev test reports."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "dev.d/results.py"
FAILURE = '<failure message="no"/>'


def gtest_case(name, inside="", result="completed", status="run"):
    return f'<testcase name="{name}" classname="A" status="{status}" result="{result}">{inside}</testcase>'


def count(ctest, reports=None, must_run=False, said=""):
    """Counts {test: status} of ctest with {test: gtest cases}; gives (first line, other lines). `said` is in each test."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        tests = "".join(f'<testcase name="{name}" status="{status}">{said}</testcase>' for name, status in ctest.items())
        (root / "junit.xml").write_text(f"<testsuite>{tests}</testsuite>")
        for name, text in (reports or {}).items():
            (root / f"{name}.xml").write_text(text)
        environment = {**os.environ, "ATOLL_MUST_RUN": "1" if must_run else "0"}
        run = [sys.executable, "-B", SCRIPT, root / "junit.xml", root]
        lines = subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
        return lines[0], [line for line in lines[1:] if line]


def gtest_report(*cases):
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"


class Figures(unittest.TestCase):
    def test_what_was_measured_is_kept_with_its_test(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            said = "test_x (A.test_x) ... figure: 5, seen 3 ms\nok\nfigure: of its own\nno more"
            (root / "junit.xml").write_text(f'<testsuite><testcase name="a" status="run"><system-out>{said}</system-out></testcase></testsuite>')
            (root / "figures").write_text("before\n")
            subprocess.run([sys.executable, "-B", SCRIPT, root / "junit.xml", root, root / "figures"], capture_output=True, check=True)

            self.assertEqual((root / "figures").read_text(), "before\na: 5, seen 3 ms\na: of its own\n")


class Counting(unittest.TestCase):
    def test_a_plain_test_counts_as_one(self):
        self.assertEqual(count({"a": "run", "b": "fail", "c": "notrun"}), ("1 1 1", ["failed  b", "skipped c"]))

    def test_the_cases_of_a_gtest_program_count(self):
        report = gtest_report(gtest_case("X"), gtest_case("Y"), gtest_case("Z", FAILURE))

        self.assertEqual(count({"t": "fail"}, {"t": report}), ("2 1 0", ["failed  t: A.Z", "        | no"]))

    def test_a_program_that_fails_after_its_cases_is_a_failure(self):
        first, lines = count({"t": "fail"}, {"t": gtest_report(gtest_case("X"))})

        self.assertEqual(first, "1 1 0")
        self.assertIn("outside of its cases", lines[0])

    def test_a_program_that_died_before_it_could_report_is_a_failure(self):
        self.assertEqual(count({"t": "fail"}, {"t": "<testsuites><test"})[0], "0 1 0")

    def test_a_failure_tells_what_it_said(self):
        said = "<system-out>one\ntwo\n</system-out>"
        report = gtest_report(gtest_case("X"), gtest_case("Y", '<failure message="expected 1&#10;got 2"/>'))

        self.assertEqual(count({"t": "fail"}, said=said)[1], ["failed  t", "        | one", "        | two"])
        self.assertEqual(count({"t": "fail"}, {"t": report}, said=said)[1],
                         ["failed  t: A.Y", "        | expected 1", "        | got 2"])
        self.assertEqual(count({"t": "run"}, said=said)[1], [])

    def test_skipped_and_disabled_cases_are_skipped(self):
        report = gtest_report(
            gtest_case("X", "<skipped/>", "skipped"), gtest_case("Y", "", "suppressed", "notrun"), gtest_case("Z")
        )

        self.assertEqual(count({"t": "run"}, {"t": report})[0], "1 0 2")
        self.assertEqual(count({"t": "run"}, {"t": report}, must_run=True)[0], "1 2 0")


if __name__ == "__main__":
    unittest.main()
