"""Attacks on a sandbox with a kernel of its own (gvisor): what the host cannot see through that kernel, it sees by its cgroup."""

import contextlib
import pathlib
import time

from engine import LIMITS, Engine, Verdict
from live import cgroups_of_boxes, has_members, wait_until

# What all processes of a sandbox may have beyond the memory that was asked for: gVisor's own (SECURITY.md).
KERNEL_MIB = 256


class SecondKernel(Engine):
    def limit(self, attack):
        limit = dict(LIMITS.get(attack["name"], {}))
        if attack["name"] == "pool_files":  # in 8 MiB nothing starts
            limit["memory_mb"] = 64
        return limit

    def run_against_limit(self, box, attack, told):
        if "LIMIT_MEMORY_MIB" in told and "LIMIT_DISK_MIB" not in told:
            told = {**told, "LIMIT_MEMORY_MIB": told["LIMIT_MEMORY_MIB"] + KERNEL_MIB}
        if attack["name"] == "cpu_spin":
            return self.spin(box, attack, told)
        verdict = super().run_against_limit(box, attack, told)
        if verdict.outcome != "broken":
            return verdict
        # Beyond it the sandbox ends, and not a command.
        with contextlib.suppress(AssertionError):
            state = wait_until(lambda: self.ended(box), "the sandbox ends", 5)
            return Verdict("denied", f"the sandbox is {state}")
        return verdict

    def ended(self, box):
        state = self.daemon.call("GET", f"/v1/sandboxes/{box}").json.get("state", "gone")
        return "" if state == "running" else state

    def spin(self, box, attack, told):
        """Its kernel counts time in large steps: the host's count is the one that holds."""
        before, begun = used_seconds(box), time.monotonic()
        verdict = super().run_against_limit(box, attack, told)
        share = (used_seconds(box) - before) / (time.monotonic() - begun)
        if verdict.outcome not in ("reached", "denied") or before <= 0:
            return Verdict("broken", f"{verdict}, and the host counts {before} s")
        outcome = "reached" if share > 2 * told["LIMIT_CPU_PERCENT"] / 100 else "denied"
        return Verdict(outcome, f"the host counts {share:.0%} of a processor")

    def survivor_of(self, box):
        """Nobody of the host's is in its cgroup any more."""
        groups = groups_of(box)
        return lambda: any(has_members(path) for path in groups)

    def neighbour(self, stack):
        box = stack.enter_context(self.sandbox())
        self.daemon.exec(box, "sh", "-c", f"printf {self.host.canary} > neighbour")
        return {"NEIGHBOUR_PID": members_of(box)[-1], "NEIGHBOUR_FILE": "/workspace/neighbour"}


def groups_of(box):
    return [pathlib.Path(path) for path in cgroups_of_boxes() if path.endswith(f"/{box}")]


def members_of(box):
    pids = set()
    for group in groups_of(box):
        for procs in group.rglob("cgroup.procs"):
            with contextlib.suppress(OSError):
                pids |= {int(line) for line in procs.read_text().split()}
    return sorted(pids)


def used_seconds(box):
    """Processor time of everybody in the sandbox, as the host counts it."""
    for group in groups_of(box):
        if (group / "cpuacct.usage").exists():
            return int((group / "cpuacct.usage").read_text()) / 1e9
        if (group / "cpu.stat").exists() and "usage_usec" in (text := (group / "cpu.stat").read_text()):
            return int(text.split("usage_usec")[1].split()[0]) / 1e6
    return 0
