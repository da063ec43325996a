#!/usr/bin/env python3
"""Runs the unittest cases of a file and leaves a report that ./dev test counts, one entry per case.

    run_cases.py FILE

The report goes where GTEST_OUTPUT says, in the form that gtest writes. Exits non-zero if a case failed, or none ran.
"""

import importlib.util
import os
import pathlib
import sys
import time
import unittest
import xml.etree.ElementTree as xml


class Recorder(unittest.TextTestResult):
    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.cases = []

    def startTest(self, test):
        self.begun = time.monotonic()
        super().startTest(test)

    def note(self, test, outcome, text="", part=""):
        name = test.id().split(".")[-1] + part
        self.cases.append((type(test).__name__, name, outcome, time.monotonic() - self.begun, text))

    def addSuccess(self, test):
        super().addSuccess(test)
        self.note(test, "passed")

    def addFailure(self, test, problem):
        super().addFailure(test, problem)
        self.note(test, "failed", self._exc_info_to_string(problem, test))

    def addError(self, test, problem):
        super().addError(test, problem)
        self.begun = getattr(self, "begun", time.monotonic())
        self.note(test, "failed", self._exc_info_to_string(problem, test))

    def addSubTest(self, test, part, problem):
        """Those that passed are counted with their case."""
        super().addSubTest(test, part, problem)
        if problem is not None:
            self.note(test, "failed", self._exc_info_to_string(problem, test), f" {part._subDescription()}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, "skipped", reason)


def write_report(cases, path):
    root = xml.Element("testsuites")
    suite = xml.SubElement(root, "testsuite")
    for group, name, outcome, seconds, text in cases:
        case = xml.SubElement(suite, "testcase", classname=group, name=name, time=f"{seconds:.3f}",
                              status="notrun" if outcome == "skipped" else "run",
                              result="skipped" if outcome == "skipped" else "completed")
        if outcome == "failed":
            xml.SubElement(case, "failure", message=text[:2000])
    path.parent.mkdir(parents=True, exist_ok=True)
    xml.ElementTree(root).write(path)


def main():
    sys.path[:0] = [os.path.dirname(os.path.abspath(sys.argv[1])), os.path.dirname(os.path.abspath(__file__))]
    spec = importlib.util.spec_from_file_location("cases", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    sys.modules["cases"] = module
    spec.loader.exec_module(module)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    if len(sys.argv) > 2:
        suite = unittest.TestSuite(test for group in suite for test in group if sys.argv[2] in test.id())
    result = unittest.TextTestRunner(resultclass=Recorder, verbosity=2, stream=sys.stdout).run(suite)
    output = os.environ.get("GTEST_OUTPUT", "")
    if output.startswith("xml:"):
        write_report(result.cases, pathlib.Path(output[4:]))
    return 0 if result.wasSuccessful() and result.cases else 1


if __name__ == "__main__":
    sys.exit(main())
