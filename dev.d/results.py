#!/usr/bin/env python3
"""Counts what a ctest run has shown, in cases.

    results.py JUNIT RESULTS_FOLDER [FIGURES]

JUNIT is ctest's report. A gtest program leaves its own report as RESULTS_FOLDER/<name>.xml, and then each of its cases
counts; any other test counts as one. A program that failed although all of its cases passed (it crashed, leaked or ran
out of time) counts as one failure more. What the tests have printed as "figure: ..." is added to the file FIGURES, each with its test. Prints "PASSED FAILED SKIPPED", then one line per failed or skipped case, and
below a failed one what it had to say: a log may be out of reach of whoever reads this. Under ATOLL_MUST_RUN=1 a skipped case is a failed one.
"""

import os
import pathlib
import sys
import xml.etree.ElementTree as xml


MOST_LINES = 12


def last_lines(text):
    return [line[:300] for line in (text or "").splitlines() if line.strip()][-MOST_LINES:]


def cases_of(report):
    """(name, outcome, what it said) of each case of a gtest report; none if the program died before it could write one."""
    try:
        tree = xml.parse(report)
    except (OSError, xml.ParseError):
        return []
    found = []
    for case in tree.iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        failure = case.find("failure")
        if failure is not None:
            found.append((name, "failed", last_lines(failure.get("message"))))
        elif case.get("status") == "notrun" or case.get("result") in ("skipped", "suppressed"):
            found.append((name, "skipped", []))
        else:
            found.append((name, "passed", []))
    return found


def outcomes(junit, folder):
    for test in xml.parse(junit).iter("testcase"):
        name, status = test.get("name"), test.get("status")
        is_skipped = status in ("notrun", "disabled") or test.find("skipped") is not None
        own = "failed" if status == "fail" else "skipped" if is_skipped else "passed"
        cases = cases_of(folder / f"{name}.xml")
        said = last_lines(test.findtext("system-out")) if own == "failed" else []
        if not cases:
            yield name, own, said
            continue
        for case, outcome, words in cases:
            yield f"{name}: {case}", outcome, words
        if own == "failed" and all(outcome != "failed" for _, outcome, _ in cases):
            yield f"{name}: the program failed outside of its cases", "failed", said


def figures(junit):
    """(name of a test, what it has measured)"""
    for test in xml.parse(junit).iter("testcase"):
        for line in (test.findtext("system-out") or "").splitlines():
            # The runner of a suite may have begun the line.
            _, is_one, figure = line.partition("figure: ")
            if is_one:
                yield test.get("name"), figure[:300]


def main():
    junit, folder = map(pathlib.Path, sys.argv[1:3])
    if len(sys.argv) > 3:
        with open(sys.argv[3], "a", encoding="utf-8") as file:
            file.writelines(f"{name}: {figure}\n" for name, figure in figures(junit))
    must_run = os.environ.get("ATOLL_MUST_RUN") == "1"
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    lines = []
    for name, outcome, said in outcomes(junit, folder):
        counted = "failed" if must_run and outcome == "skipped" else outcome
        counts[counted] += 1
        if outcome != "passed":
            lines.append(f"{outcome:8}{name}")
            lines += [f"        | {line}" for line in said]
    print(counts["passed"], counts["failed"], counts["skipped"])
    print("\n".join(lines))


if __name__ == "__main__":
    main()
