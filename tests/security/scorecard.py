#!/usr/bin/env python3
"""Runs the attacks against a driver and prints the scorecard.

    scorecard.py --driver native --atoll build/release/bin/atoll --libexec build/release/libexec/atoll
                 --weak-libexec build/weak/libexec/atoll [--only NAME,…] [--layers] [--json FILE]

Each attack runs on the whole sandbox, where it must be denied. With --weak-libexec, a test build of launcher and
agent that honours ATOLL_TEST_WITHOUT, each then runs as its own control: without exactly the layers that it says stop
it, it must reach its canary; otherwise its denial would mean nothing. --layers runs it once more for each of these
layers, with that one alone: it must be denied, so that every layer that is named is shown to hold by itself.
ATOLL_SECURITY_USER=UID runs the daemon as that user: rootless needs it.
--driver bare is no driver, but the host itself: there every attack must reach (bare.py).

Needs root, for canaries that belong to root.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

from bare import Bare  # noqa: E402
from contained import Contained  # noqa: E402
from engine import Engine, Verdict  # noqa: E402
from host import Host  # noqa: E402
from second_kernel import SecondKernel  # noqa: E402


# Whom the daemon runs as, for rootless; and the victim with it.
USER = int(os.environ["ATOLL_SECURITY_USER"]) if "ATOLL_SECURITY_USER" in os.environ else None


def catalogue(libexec):
    program = os.path.join(libexec, "atoll-attack")
    return json.loads(subprocess.run([program, "--list"], capture_output=True, check=True).stdout)


NOT_APPLICABLE = "not applicable: "
REFUSED = "refused: "


def not_covered_by(driver):
    """Attacks that a driver does not claim to stop, with the reason: not_covered/DRIVER.txt, `name: reason`;
    `name: not applicable: reason` where a driver has nothing that it could be tried on; `name: refused: reason` where it refuses
    the limit that the attack would be held to, so that nobody can believe in it."""
    path = HERE / "not_covered" / f"{driver}.txt"
    if not path.exists():
        return {}
    lines = (line.strip() for line in path.read_text().splitlines())
    return dict((part.strip() for part in line.split(":", 1)) for line in lines if line and line[0] != "#")


class Row:
    """One attack on one driver: how the whole sandbox and its control fared, and what is wrong with that."""

    def __init__(self, attack):
        self.attack, self.full, self.control, self.alone = attack, None, None, {}
        self.result, self.problems = "", []


class Suite:
    def __init__(self, host, driver, atoll, libexec, weak_libexec=None, user=None):
        self.host, self.driver, self.atoll, self.user = host, driver, atoll, user
        self.libexec, self.weak_libexec = libexec, weak_libexec
        self.full = None
        self.missing = json.loads(subprocess.run([host.program, "--host"], capture_output=True, check=True).stdout)
        self.excused = not_covered_by(driver)

    def stops(self, attack):
        return attack["rootless" if self.driver == "rootless" else "stopped_by"]

    def engine_for(self):
        if self.driver == "bare":
            return Bare(self.host)
        kind = {"docker": Contained, "podman": Contained, "gvisor": SecondKernel}.get(self.driver, Engine)
        return kind(self.host, self.driver, self.atoll, self.libexec, user=self.user)

    def play_full(self, attack):
        """On one engine for all, as long as it gives sandboxes: what an attack did to it would show."""
        if self.full is None:
            self.full = self.engine_for()
        try:
            verdict = self.full.play(attack)
        except AssertionError as late:
            verdict = Verdict("broken", str(late))
        if verdict.outcome in ("not_started", "broken"):
            self.end()
        return verdict

    def end(self):
        engine, self.full = self.full, None
        if engine is not None:
            engine.end()

    def play_without(self, attack, layers):
        return self.play_on(Engine(self.host, self.driver, self.atoll, self.weak_libexec, layers, self.user), attack)

    @staticmethod
    def play_on(engine, attack):
        """An engine of its own: what a control breaks must neither help nor hinder the next."""
        try:
            verdict = engine.play(attack)
        except AssertionError as late:
            verdict = Verdict("broken", str(late))
        try:
            engine.end()
        except AssertionError as left:
            return Verdict("broken", f"{verdict}, and then {left}")
        return verdict

    def judge(self, attack, layers_alone=False):
        row = Row(attack)
        name = attack["name"]
        if name in self.missing:
            row.result = "not applicable"
            row.full = self.missing[name]
            return row
        row.full = self.play_full(attack)
        if row.full.outcome == "not_started":
            row.problems.append(f"the engine gave no sandbox, a fresh one was asked: {row.full.detail}")
            row.full = self.play_full(attack)
        outcome = row.full.outcome
        row.result = {"denied": "denied", "reached": "REACHED", "not_applicable": "not applicable",
                      "not_covered": "not covered"}.get(outcome, "BROKEN")
        excuse = self.excused.get(name)
        if outcome == "not_covered" or (excuse or "").startswith(REFUSED):
            if outcome != "not_covered" or not (excuse or "").startswith(REFUSED):
                row.problems.append(f"not_covered/{self.driver}.txt says {excuse!r}, but: {row.full}")
        elif outcome in ("reached", "not_applicable") and name in self.excused:
            row.result = "not applicable" if self.excused[name].startswith(NOT_APPLICABLE) else "not covered"
            row.full.detail = f"{row.full.detail}; {self.excused[name].removeprefix(NOT_APPLICABLE)}"
        elif name in self.excused:
            row.problems.append(f"not_covered/{self.driver}.txt excuses it, but: {row.full}")
        elif outcome != "denied":
            row.problems.append(f"on the whole sandbox: {row.full}")
        if row.result == "denied" and isinstance(self.full, Contained):
            self.judge_weak_container(row)
        elif self.weak_libexec and row.result == "denied":
            self.judge_control(row, layers_alone)
        return row

    def judge_weak_container(self, row):
        """The same attack in a container of the same engine and image that has everything: it must reach its canary."""
        if not self.full.has_control(row.attack):  # sharp_test shows that it is sharp, on the host itself
            return
        row.control = self.full.play_weak(row.attack)
        if row.control.outcome != "reached":
            row.problems.append(f"control in a container without walls: {row.control}")

    def judge_control(self, row, layers_alone):
        stops = self.stops(row.attack)
        if not stops:  # made without root there is nothing to leave out: the host's own permissions stop it
            return
        row.control = self.play_without(row.attack, stops)
        if row.control.outcome != "reached":
            row.problems.append(f"control without {','.join(stops)}: {row.control}")
        for layer in stops if layers_alone else ():
            verdict = self.play_without(row.attack, [other for other in stops if other != layer])
            row.alone[layer] = verdict
            # A layer that needs another may also keep the sandbox from starting at all.
            if verdict.outcome not in ("denied", "not_started"):
                row.problems.append(f"{layer} alone: {verdict}")


def print_row(row):
    attack = row.attack
    number = str(attack["dossier"] or "+")
    control = "" if row.control is None else "reached" if row.control.outcome == "reached" else "FAILED"
    print(f"{number:>3} {attack['name']:<30} {attack['user']:<5} {row.result:<15} {control:<8} {row.full}")
    for layer, verdict in row.alone.items():
        print(f"      {layer:<28} alone {verdict}")
    sys.stdout.flush()


def as_json(row):
    return {"name": row.attack["name"], "result": row.result, "detail": str(row.full),
            "control": row.control and str(row.control), "layers": {k: str(v) for k, v in row.alone.items()},
            "problems": row.problems}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", required=True)
    parser.add_argument("--atoll", required=True)
    parser.add_argument("--libexec", required=True, help="the products that are tested, with atoll-attack")
    parser.add_argument("--weak-libexec", help="a test build of launcher and agent, for the controls")
    parser.add_argument("--only", help="names, with commas")
    parser.add_argument("--layers", action="store_true", help="also each layer alone")
    parser.add_argument("--json", help="write the results to this file, too")
    asked = parser.parse_args()

    listed = catalogue(asked.libexec)
    attacks = [one for one in listed["attacks"] if not asked.only or one["name"] in asked.only.split(",")]
    rows = []
    with Host(os.path.join(asked.libexec, "atoll-attack")) as host:
        suite = Suite(host, asked.driver, os.path.abspath(asked.atoll), asked.libexec, asked.weak_libexec,
                      USER)
        print(f"  # attack on {asked.driver:<20} user  result          control  detail")
        try:
            for attack in attacks:
                rows.append(suite.judge(attack, asked.layers))
                print_row(rows[-1])
        finally:
            suite.end()
    if asked.json:
        pathlib.Path(asked.json).write_text(json.dumps([as_json(row) for row in rows], indent=1))

    for one in listed["uncovered"]:
        print(f"{one['dossier']:>3} not yet applicable: {one['why']}")
    for row in rows:
        for problem in row.problems:
            print(f"PROBLEM {row.attack['name']}: {problem}")
    counts = {result: sum(row.result == result for row in rows) for result in
              ("denied", "REACHED", "BROKEN", "not covered", "not applicable")}
    print(", ".join(f"{count} {result}" for result, count in counts.items()) +
          f"; {sum(row.control is not None and row.control.outcome == 'reached' for row in rows)} controls reached")
    return 1 if any(row.problems for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
