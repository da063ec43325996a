"""Runs inside the guest: what a daemon does with a running sandbox where control groups are version 2.

    daemon_inside.py DRIVER
"""

import pathlib
import sys

from live import Daemon, wait_until

SLICE = pathlib.Path("/sys/fs/cgroup/atoll")
COUNT = "import itertools\nfor i in itertools.count():\n    open('count', 'w').write(str(i))"
MEMORY = "bytearray(96 << 20)"


def main(driver):
    daemon = Daemon().start()
    try:
        box = daemon.create(driver=driver, resources={"memory_mb": 64})
        pauses_and_resumes(daemon, box)
        resizes(daemon, box)
        assert daemon.call("DELETE", f"/v1/sandboxes/{box}").status in (200, 204)
        assert not (SLICE / box).exists(), "its control groups are left"
    finally:
        daemon.end()


def usage_of(box):
    """Processor time that its commands have used, as the kernel counts it."""
    return int((SLICE / box / "work/cpu.stat").read_text().split()[1])


def pauses_and_resumes(daemon, box):
    daemon.start_process(box, "python3", "-c", COUNT)
    before = usage_of(box)
    wait_until(lambda: usage_of(box) > before, "it counts")

    paused = daemon.call("POST", f"/v1/sandboxes/{box}/pause")
    assert paused.status == 200 and paused.json["state"] == "paused", paused
    assert "frozen 1" in (SLICE / box / "work/cgroup.events").read_text()
    held = usage_of(box)
    # The daemon answers meanwhile, and nothing of this is the sandbox's time.
    for _ in range(20):
        assert daemon.call("GET", f"/v1/sandboxes/{box}").json["state"] == "paused"
    assert usage_of(box) == held, "it goes on while it is paused"

    resumed = daemon.call("POST", f"/v1/sandboxes/{box}/resume")
    assert resumed.status == 200 and resumed.json["state"] == "running", resumed
    wait_until(lambda: usage_of(box) > held, "it goes on")


def resizes(daemon, box):
    before = daemon.exec(box, "python3", "-c", MEMORY)
    assert before["reason"] == "oom", before
    resized = daemon.call("POST", f"/v1/sandboxes/{box}/resize", {"memory_mb": 160})
    assert resized.status == 200, resized
    after = daemon.exec(box, "python3", "-c", MEMORY)
    assert after["exit_code"] == 0, after


main(sys.argv[1])
