"""Pids are given again. Whoever gets the number of something that Atoll has noted, or is just about to signal, is left alone.

Runs under tests/support/own_pids.py: in a pid namespace of its own the next pid can be chosen. Prints how many were given again, and how many
strangers were hit.
"""

import contextlib
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from live import ATOLL, Daemon, all_pids, files_of, name_of, parent_of, stat_of, wait_until

LAST_PID = pathlib.Path("/proc/sys/kernel/ns_last_pid")
# Longer than it takes to end a process and to start another, on a machine that is busy with other things.
DELAY_S = 4
STORM_S = 12
# A child that the shell reaps at once, and a signal that ends the child and not the shell.
PARENT = "trap : USR1; sleep 600 & echo $!; while :; do wait; done"


class Strangers:
    """Processes of nobody's, that have what was somebody's number."""

    def __init__(self):
        self.running = {}

    def take(self, pid):
        wait_until(lambda: self._try_to_take(pid), f"the number {pid} is given again")

    def _try_to_take(self, pid):
        if stat_of(pid) is not None:
            return False
        LAST_PID.write_text(str(pid - 1))
        # A session's first, because a session and a group can be signalled by number, too.
        process = subprocess.Popen(["sleep", "600"], start_new_session=True)
        if process.pid == pid:
            self.running[pid] = process
            return True
        process.kill()
        process.wait()
        return False

    def count_hits(self):
        hits = []
        for pid, process in self.running.items():
            if process.poll() is not None:
                hits.append(f"{pid} ended with {process.returncode}")
            elif stat_of(pid)[0] in "Tt":
                hits.append(f"{pid} was stopped")
        return hits

    def close(self):
        for process in self.running.values():
            process.kill()
            process.wait()
        self.running = {}


class World(unittest.TestCase):
    def setUp(self):
        self.strangers = Strangers()
        self.addCleanup(self.strangers.close)

    def start_daemon(self, *arguments):
        self.daemon = Daemon(arguments=arguments)
        self.addCleanup(self.daemon.end, f"28, after {self.id().split('.')[-1]}")  # asserts that nothing is left
        self.daemon.start()

    def agents(self, boxes):
        """Those of a driver with groups are found by them: what they have open is not below the state directory for them."""
        found = self.daemon.agents()
        for pid in all_pids():
            with contextlib.suppress(OSError):
                groups = pathlib.Path(f"/proc/{pid}/cgroup").read_text() if name_of(pid) == "atoll-agent" else ""
                found.update({box: pid for box in boxes if box in groups})
        self.assertEqual(set(found), set(boxes))
        return found

    def unharmed(self, what):
        hits = self.strangers.count_hits()
        print(f"figure: 28, {what}: pids reused {len(self.strangers.running)}, wrong kills {len(hits)}", flush=True)
        self.strangers.close()
        self.assertEqual(hits, [])


def kill_all(pids):
    """In this order, and each gone before the next: nobody is there to clear up after the others."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: stat_of(pid) is None, f"{pid} is gone")  # noqa: B023


class Records(World):
    """What is noted in files outlives those whom it names."""

    def test_a_daemon_that_comes_back_finds_strangers_in_the_place_of_all(self):
        self.start_daemon("--parked", "0")
        boxes = [self.daemon.create(driver=driver, ttl_s=600) for driver in ("native", "subprocess", "local")]
        for box in boxes:
            self.daemon.exec(box, "sh", "-c", "sleep 600 & setsid sleep 600 & true")
        agents = self.agents(boxes)
        keepers = self.daemon.keepers()
        others = [pid for pid in self.daemon.launchers() if pid not in keepers]
        noted = [self.daemon.process.pid, *keepers, *others, *agents.values()]
        self.daemon.kill()
        kill_all(noted[1:])
        records = list(pathlib.Path(self.daemon.state, "run", "box").glob("*/record"))
        self.assertEqual({record.parent.name for record in records}, set(boxes), "it is still noted who they were")
        for pid in noted:
            self.strangers.take(pid)

        self.daemon.start()

        for box in boxes:
            wait_until(lambda: self.daemon.call("GET", f"/v1/sandboxes/{box}").json["state"] == "failed", f"{box} is known to have ended")  # noqa: B023
            self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)
        box = self.daemon.create(driver="native", ttl_s=600)
        self.assertEqual(self.daemon.exec(box, "echo", "fine")["stdout"], "fine\n")
        self.daemon.terminate()
        self.daemon.start()
        self.assertEqual(self.daemon.exec(box, "echo", "fine")["stdout"], "fine\n")
        self.unharmed(f"daemon, keeper, launcher and {len(agents)} agents killed, their pids taken")

    def test_a_launcher_that_comes_back_adopts_who_lives_and_no_stranger(self):
        self.start_daemon("--parked", "0")
        boxes = {driver: [self.daemon.create(driver=driver, ttl_s=600) for _ in range(2)] for driver in ("native", "subprocess")}
        agents = self.agents([box for pair in boxes.values() for box in pair])
        keepers = self.daemon.keepers()
        others = [pid for pid in self.daemon.launchers() if pid not in keepers]
        dead = [agents[pair[0]] for pair in boxes.values()]
        os.kill(self.daemon.process.pid, signal.SIGSTOP)  # so that nobody starts another keeper meanwhile
        try:
            kill_all([*keepers, *others, *dead])
            for pid in dead:
                self.strangers.take(pid)
        finally:
            os.kill(self.daemon.process.pid, signal.SIGCONT)
        for ended, lives in boxes.values():
            self.assertEqual(self.daemon.exec(lives, "echo", "fine")["stdout"], "fine\n")
            wait_until(lambda: self.daemon.call("GET", f"/v1/sandboxes/{ended}").json["state"] == "failed", f"{ended} is known to have ended; {self.daemon.call('GET', f'/v1/sandboxes/{ended}')}", 90)  # noqa: B023
            for box in (ended, lives):
                self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)
        self.unharmed("launcher killed with some agents, their pids taken")

    def test_a_run_clears_away_a_killed_one_and_leaves_strangers(self):
        place = tempfile.mkdtemp(prefix="atoll-reuse-")
        self.addCleanup(shutil.rmtree, place)
        os.chmod(place, 0o711)
        environment = dict(os.environ, XDG_RUNTIME_DIR=place)
        runs = pathlib.Path(place, "atoll")
        for driver in ("native", "subprocess"):
            with self.subTest(driver=driver):
                run = subprocess.Popen([ATOLL, "run", "--driver", driver, "--", "sleep", "600"], env=environment, stdin=subprocess.DEVNULL)
                wait_until(lambda: self.below(run.pid, "sleep"), "it runs")  # noqa: B023
                noted = [run.pid, *self.below(run.pid, "atoll-launcher"), *self.below(run.pid, "atoll-agent")]
                for number in (signal.SIGSTOP, signal.SIGKILL):  # so that nobody notices the end of another
                    for pid in noted:
                        os.kill(pid, number)
                run.wait()
                self.assertEqual(len(list(runs.glob("run-*/box/*/record"))), 1, "it is still noted who it was")
                for pid in noted:
                    self.strangers.take(pid)
                subprocess.run([ATOLL, "run", "--driver", "subprocess", "--", "true"], env=environment, check=True, timeout=60)
                wait_until(lambda: not list(runs.glob("run-*")), "nothing is left of the killed one")
                self.unharmed(f"a run on {driver} killed with launcher and agent, their pids taken")

    @staticmethod
    def below(root, name):
        """Those of this name that come from `root`, oldest first."""
        parents = {pid: parent_of(pid) for pid in all_pids()}
        members = {root}
        while grown := {pid for pid, parent in parents.items() if parent in members} - members:
            members |= grown
        return sorted(pid for pid in members if name_of(pid) == name)

    def test_a_stranger_with_a_dead_daemons_pid_does_not_keep_others_out(self):
        self.start_daemon()
        dead = self.daemon.process.pid
        self.daemon.kill()
        self.strangers.take(dead)
        path = os.path.realpath(os.path.join(self.daemon.state, "lock"))
        # As by a program that the daemon was just starting when it was killed.
        with open(path) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            waits = threading.Thread(target=lambda: (
                wait_until(lambda: self.daemon.process.pid != dead and path in files_of(self.daemon.process.pid), "the next one looks"),
                fcntl.flock(lock, fcntl.LOCK_UN)))
            waits.start()
            self.daemon.start()
            waits.join()
        self.unharmed("a killed daemon's pid taken, its lock still held")


class Launchers(World):
    def test_a_child_of_the_launcher_gets_the_pid_of_an_agent_that_has_just_ended(self):
        self.start_daemon("--parked", "0")
        for driver in ("subprocess", "local") * 3:
            box = self.daemon.create(driver=driver, ttl_s=600)
            self.daemon.exec(box, "sh", "-c", "mkdir deep; echo x > deep/file")
            # Who removes the files is started once the agent is gone, and is the next one to be started.
            LAST_PID.write_text(str(self.agents([box])[box] - 1))
            self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}", timeout=20).status, 204)
        box = self.daemon.create(driver="subprocess", ttl_s=600)
        self.assertEqual(self.daemon.exec(box, "echo", "fine")["stdout"], "fine\n")


class Signals(World):
    """Between looking for whom to signal and doing so, one of them ends and a stranger gets the number. strace makes that moment long."""

    def delayed(self, agent, call):
        """Holds the agent up before it sends its second signal, and gives back who does."""
        calls = "kill,pidfd_send_signal"
        tracer = subprocess.Popen(["strace", "-qq", "-e", f"trace={calls}", "-e", f"inject={calls}:delay_enter={DELAY_S * 1_000_000}:when=2",
                                   "-o", os.path.join(self.daemon.directory, "trace"), "-p", str(agent)])
        wait_until(lambda: "TracerPid:\t0\n" not in pathlib.Path(f"/proc/{agent}/status").read_text(), "strace is attached")
        sends = threading.Thread(target=call)
        sends.start()

        def stands_still():
            until = time.monotonic() + 0.2
            while time.monotonic() < until:
                if stat_of(agent)[0] != "t":
                    return False
            return True
        wait_until(stands_still, "the agent is about to send its second signal")
        return tracer, sends

    def finish(self, tracer, sends):
        sends.join(60)
        tracer.terminate()
        tracer.wait(10)

    def send(self, box, process, name):
        answer = self.daemon.call("POST", f"/v1/sandboxes/{box}/processes/{process}/signal", {"signal": name})
        self.assertEqual(answer.status, 204, answer)

    def start_parent(self, box):
        """A shell, and its child's pid as the sandbox counts."""
        started = self.daemon.start_process(box, "sh", "-c", PARENT)
        for event in self.daemon.events(box, started["process"]):
            if event["type"] == "stdout":
                return started["process"], int(event["data"])
        raise AssertionError("it said nothing")

    def test_of_a_command_without_a_group(self):
        self.start_daemon("--parked", "0")
        for name in ("SIGUSR1", "SIGKILL"):
            with self.subTest(signal=name):
                LAST_PID.write_text("20000")  # so that the child's number is the larger one, and comes second
                box = self.daemon.create(driver="subprocess", ttl_s=600)
                process, child = self.start_parent(box)
                agent = self.agents([box])[box]
                tracer, sends = self.delayed(agent, lambda: self.send(box, process, name))  # noqa: B023
                kill_all([child])
                self.strangers.take(child)
                self.finish(tracer, sends)
                self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)
                self.unharmed(f"a command's tree got {name}, the pid of one of it taken meanwhile")

    def test_of_a_command_with_a_group(self):
        self.start_daemon("--parked", "0")
        box = self.daemon.create(driver="native", ttl_s=600)
        # Another command of the same sandbox, which starts something when it is told to, and nothing before.
        self.daemon.start_process(box, "sh", "-c", "while [ ! -e go ]; do :; done; sleep 600 & echo $! > taken; wait")
        process, child = self.start_parent(box)
        agent = self.agents([box])[box]
        workspace = f"/proc/{agent}/root/workspace"
        enter = ["nsenter", "--target", str(agent), "--pid"]
        tracer, sends = self.delayed(agent, lambda: self.send(box, process, "SIGUSR1"))
        subprocess.run([*enter, "sh", "-c", f"kill -9 {child}; while kill -0 {child}; do :; done 2>/dev/null; echo {child - 1} > {LAST_PID}; "
                                            f": > {workspace}/go"], timeout=DELAY_S, check=True)
        taken = wait_until(lambda: pathlib.Path(workspace, "taken").exists() and pathlib.Path(workspace, "taken").read_text().strip(), "somebody else has it")
        self.finish(tracer, sends)
        is_reused = int(taken) == child
        is_hit = subprocess.run([*enter, "kill", "-0", taken], timeout=10).returncode != 0
        print(f"figure: 28, a command's group got SIGUSR1, the pid of one of it taken meanwhile: pids reused {int(is_reused)}, wrong kills {int(is_hit)}",
              flush=True)
        self.assertTrue(is_reused, "the number was not given again")
        self.assertFalse(is_hit)


class Storm(World):
    """Every number is given again as soon as it is free, while sandboxes come, are killed and go among short-lived strangers."""

    def test_nobody_else_is_hit(self):
        self.start_daemon()
        done = threading.Event()
        seen, ours, wrong = set(), set(), []

        def rewind():
            while not done.wait(0.001):
                LAST_PID.write_text("10")

        def live():
            while not done.is_set():
                process = subprocess.Popen(["sleep", "0.02"], start_new_session=True)
                seen.add(process.pid)
                if process.wait() != 0:
                    wrong.append((process.pid, process.returncode))

        threads = [threading.Thread(target=rewind), *(threading.Thread(target=live) for _ in range(3))]
        for thread in threads:
            thread.start()
        try:
            rounds, until = 0, time.monotonic() + STORM_S
            while time.monotonic() < until:
                box = self.daemon.create(driver=("subprocess", "native")[rounds % 2], ttl_s=600)
                process = self.daemon.start_process(box, "sh", "-c", "sleep 600 & while :; do sh -c 'sleep 0.01 & true'; done")["process"]
                agent = self.agents([box])[box]
                ours |= {agent, *(pid for pid in all_pids() if parent_of(pid) == agent)}
                if rounds % 4 < 2:
                    self.daemon.call("POST", f"/v1/sandboxes/{box}/processes/{process}/signal", {"signal": "SIGKILL"})
                self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)
                rounds += 1
        finally:
            done.set()
            for thread in threads:
                thread.join()
        print(f"figure: 28, storm of {rounds} sandboxes: pids reused {len(seen & ours)}, wrong kills {len(wrong)}", flush=True)
        self.assertGreater(len(seen & ours), 0, "no number was given again")
        self.assertEqual(wrong, [])


def setUpModule():
    lacking = [] if os.geteuid() == 0 else ["root"]
    lacking += [] if LAST_PID.exists() else [str(LAST_PID)]
    if lacking and os.environ.get("ATOLL_MUST_RUN") == "1":
        raise AssertionError(f"ATOLL_MUST_RUN is set, and this host lacks: {lacking}")
    if lacking:
        raise unittest.SkipTest(f"this host lacks: {lacking}")


if __name__ == "__main__":
    unittest.main()
