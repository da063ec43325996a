"""Sandboxes that were made before anybody asked: like all others, only sooner there."""

import concurrent.futures
import contextlib
import os
import pathlib
import signal
import statistics
import threading
import time
import unittest

from live import Daemon, all_pids, name_of, wait_until


def agent_of(box):
    for pid in all_pids():
        if name_of(pid) == "atoll-agent" and box in pathlib.Path(f"/proc/{pid}/cgroup").read_text():
            return pid
    raise AssertionError(f"{box} has no agent")


class Parked(unittest.TestCase):
    def setUp(self):
        self.daemon = self.start()

    def start(self, *arguments):
        daemon = Daemon(arguments=arguments).start()
        self.addCleanup(daemon.end)
        return daemon

    def create(self, daemon=None, **request):
        """The sandbox's id, and whether it was there before."""
        daemon = daemon or self.daemon
        answer = daemon.call("POST", "/v1/sandboxes", {"driver": "native", **request})
        self.assertEqual(answer.status, 201, answer)
        daemon.made.add(answer.json["id"])
        stages = [stage["name"] for stage in answer.json["stages"]]
        # One that turns out to be dead when it is handed over has both.
        self.assertTrue({"hand_over", "create"} & set(stages), stages)
        return answer.json["id"], "create" not in stages

    def wait_for_parked(self, count=2):
        wait_until(lambda: len(self.parked()) >= count, "sandboxes wait to be taken")

    def boxes(self):
        return set(os.listdir(os.path.join(self.daemon.state, "run", "box")))

    def parked(self):
        """Those that are complete and that nobody has asked for yet."""
        return [box for box in self.boxes() - self.daemon.made if box.encode() in self.record(box)]

    def record(self, box):
        """A directory that serves again has the record of the one before until it has its own."""
        with contextlib.suppress(FileNotFoundError):
            return pathlib.Path(self.daemon.state, "run", "box", box, "record").read_bytes()
        return b""

    def test_the_first_create_finds_one(self):
        self.wait_for_parked()
        box, was_there = self.create()
        self.assertTrue(was_there)
        self.assertEqual(self.daemon.exec(box, "echo", "42")["stdout"], "42\n")

    def test_it_has_the_environment_that_was_asked_for_and_no_other(self):
        self.wait_for_parked()
        first, was_there = self.create(env={"SECRET": "of the first"})
        self.assertTrue(was_there)
        self.assertEqual(self.daemon.exec(first, "sh", "-c", 'echo "$SECRET"')["stdout"], "of the first\n")
        second, _ = self.create(env={"OTHER": "1"})
        seen = self.daemon.exec(second, "sh", "-c", "env; cat /proc/*/environ 2>/dev/null")["stdout"]
        self.assertIn("OTHER=1", seen)
        self.assertNotIn("SECRET", seen)
        self.assertIn(f"ATOLL_SANDBOX_ID={second}", seen)

    def test_nothing_of_one_is_in_the_next(self):
        self.wait_for_parked()
        first, _ = self.create()
        leave = "echo mine | tee /tmp/left /workspace/left /home/user/left /dev/shm/left; sleep 1000 & exit 0"
        self.daemon.exec(first, "sh", "-c", leave)
        look = "ls /tmp /workspace /home/user /dev/shm; pgrep sleep"
        there = self.daemon.exec(first, "sh", "-c", look)
        self.assertEqual((there["stdout"].count("left"), there["exit_code"]), (4, 0), "it is there to be found")
        self.daemon.call("DELETE", f"/v1/sandboxes/{first}")
        for _ in range(5):
            box, _ = self.create()
            found = self.daemon.exec(box, "sh", "-c", look)
            self.assertNotIn("left", found["stdout"])
            self.assertEqual(found["exit_code"], 1, "no process of the other one")

    def test_nobody_sees_them(self):
        self.wait_for_parked()
        listed = self.daemon.call("GET", "/v1/sandboxes").json
        self.assertEqual(listed.get("sandboxes", listed), [])

    def test_another_kind_is_there_the_second_time(self):
        self.wait_for_parked(4)
        others = set(self.parked())
        small = {"resources": {"memory_mb": 64}}
        _, was_there = self.create(**small)
        self.assertFalse(was_there)
        wait_until(lambda: len(set(self.parked()) - others) >= 4, "some of that kind wait to be taken")
        box, was_there = self.create(**small)
        self.assertTrue(was_there)
        self.assertIn(f"{64 << 10} kB", self.daemon.exec(box, "grep", "MemTotal", "/proc/meminfo")["stdout"])

    def figures(self):
        """What the daemon tells of them: hits, misses, and how many are nobody's."""
        page = self.daemon.call("GET", "/metrics").body.decode()
        lines = dict(line.rsplit(" ", 1) for line in page.splitlines() if line.startswith("atoll_parked_"))
        names = [*(f'atoll_parked_requests_total{{driver="native",outcome="{outcome}"}}' for outcome in ("hit", "miss")),
                 'atoll_parked_sandboxes{driver="native"}']
        return [int(lines[name]) for name in names]

    def test_the_metrics_tell_how_many_found_one(self):
        wait_until(lambda: self.figures() == [0, 0, 4], "as many as there are at first are told of")
        self.assertTrue(self.create()[1])
        self.assertEqual(self.figures()[:2], [1, 0])
        self.assertFalse(self.create(resources={"memory_mb": 64})[1])
        self.assertEqual(self.figures()[:2], [1, 1])

    def test_where_none_is_made_ahead_nothing_is_told(self):
        self.assertNotIn(b"atoll_parked_", self.start("--parked", "0").call("GET", "/metrics").body)

    def test_a_dead_one_is_only_slower(self):
        self.wait_for_parked()
        for box in self.parked():
            os.kill(agent_of(box), signal.SIGKILL)
        for _ in range(3):
            # Not create(): one whose death is found out in the hand-over has the stages of both ways.
            box = self.daemon.create(driver="native")
            self.assertEqual(self.daemon.exec(box, "echo", "fine")["stdout"], "fine\n")

    def test_a_run_that_gets_a_dead_one_is_only_slower(self):
        for _ in range(5):
            self.wait_for_parked()
            for box in self.parked():
                with contextlib.suppress(AssertionError, ProcessLookupError):  # of the last round
                    os.kill(agent_of(box), signal.SIGKILL)
            answer = self.daemon.call("POST", "/v1/runs", {"sandbox": {"driver": "native"}, "exec": {"argv": ["echo", "fine"]}})
            self.assertEqual((answer.status, answer.json.get("stdout")), (200, "fine\n"), answer)

    def test_they_end_with_the_daemon_and_sandboxes_do_not(self):
        self.wait_for_parked()
        box, _ = self.create()
        self.wait_for_parked()
        self.daemon.kill()
        wait_until(lambda: self.boxes() == {box}, "nobody waits any more")
        self.daemon.start()
        self.assertEqual(self.daemon.exec(box, "echo", "still here")["stdout"], "still here\n")

    def test_the_launcher_ends_it_in_time_though_the_daemon_is_dead(self):
        self.wait_for_parked()
        _, was_there = self.create(ttl_s=3)
        self.assertTrue(was_there)
        self.daemon.kill()
        wait_until(lambda: not self.daemon.launchers(), "its time is up, and the launcher leaves")
        self.daemon.start()

    def test_they_outlive_the_launcher(self):
        self.wait_for_parked()
        os.kill(self.daemon.launcher(), signal.SIGKILL)
        for _ in range(3):
            box, _ = self.create()
            self.assertEqual(self.daemon.exec(box, "echo", "fine")["stdout"], "fine\n")

    def test_many_at_once(self):
        made = [self.create() for _ in range(20)]
        for box, _ in made:
            self.assertEqual(self.daemon.exec(box, "true")["exit_code"], 0)
        self.assertEqual(len({box for box, _ in made}), 20)

    def test_none_means_none(self):
        daemon = self.start("--parked", "0")
        for _ in range(3):
            _, was_there = self.create(daemon)
            self.assertFalse(was_there)


class Neighbours(unittest.TestCase):
    """What one client leaves in a sandbox reaches nobody, and what it takes keeps nobody else waiting for ever."""

    PLACES = ["/tmp", "/workspace", "/home/user", "/var/tmp", "/run", "/dev/shm"]
    ROUNDS = 15
    # Two that take and the one that makes new ones are before whoever comes, each with a sandbox to be made and one to be
    # ended; what waited for every shelf to be full again would take a hundred times as long.
    MOST_SLOWER = 10

    def setUp(self):
        self.daemon = self.start("--parked", "16")

    def start(self, *arguments):
        daemon = Daemon(arguments=("--rate", "0", *arguments)).start()
        self.addCleanup(daemon.end)
        return daemon

    def key_of(self, tenant, daemon=None):
        """The headers of somebody who is of this tenant and no admin."""
        made = (daemon or self.daemon).call("POST", "/v1/keys", {"role": "member", "tenant": tenant})
        self.assertEqual(made.status, 201, made)
        return {"Authorization": f"Bearer {made.json['key']}"}

    def run_in(self, command, daemon=None, headers=None, **more):
        asked = {"sandbox": {"driver": "native", **more}, "exec": {"command": command}}
        answer = (daemon or self.daemon).call("POST", "/v1/runs", asked, headers)
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def create(self, headers, **more):
        answer = self.daemon.call("POST", "/v1/sandboxes", {"driver": "native", **more}, headers)
        self.assertEqual(answer.status, 201, answer)
        self.daemon.made.add(answer.json["id"])
        return answer.json["id"]

    def remove(self, box, headers):
        answer = self.daemon.call("DELETE", f"/v1/sandboxes/{box}", headers=headers)
        self.assertEqual(answer.status, 204, answer)

    def test_the_next_sandbox_knows_nothing_of_the_last(self):
        mark = "atoll-mark-7f3a"
        leave = "; ".join(f"echo {mark} > {place}/{mark}" for place in self.PLACES)
        seek = (f"ls {' '.join(self.PLACES)} /dev/mqueue /proc/sysvipc; env; cat /proc/[0-9]*/environ /proc/net/unix 2>/dev/null;"
                f" for p in {' '.join(self.PLACES)}; do cat $p/* 2>/dev/null; done; id -u; hostname; cat /proc/sys/kernel/random/boot_id")
        first, second = self.key_of("first"), self.key_of("second")
        own = self.run_in(f"{leave}; {seek}", headers=first, env={"SECRET": mark})["stdout"]
        self.assertGreaterEqual(own.count(mark), 2 * len(self.PLACES) + 1, "whoever is in the same sandbox finds all of it")
        names = set()
        for _ in range(20):
            self.assertEqual(self.run_in(leave, headers=first, env={"SECRET": mark})["exit_code"], 0)
            seen = self.run_in(seek, headers=second)["stdout"]
            self.assertNotIn(mark, seen)
            names.add(seen.split("1000\n")[-1])
        self.assertEqual(len(names), 1, "who is told the same name every time learns nothing from it")

    @contextlib.contextmanager
    def taking(self, headers, clients=2):
        """Takes one after the other meanwhile, so that nothing that is made ahead lasts. Gives how many it had."""
        over, had = threading.Event(), []

        def go_on():
            while not over.is_set():
                self.remove(self.create(headers), headers)
                had.append(1)

        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            at_work = [pool.submit(go_on) for _ in range(clients)]
            try:
                yield had
            finally:
                over.set()
            for one in at_work:
                one.result()  # what it was refused is told here

    def test_a_tenant_who_takes_all_that_is_parked_only_makes_another_slower(self):
        greedy, modest = self.key_of("greedy"), self.key_of("modest")
        taken = [self.create(greedy) for _ in range(60)]
        # Of many kinds, so that no shelf is left for another one.
        taken += [self.create(greedy, resources={"memory_mb": 64 + i}) for i in range(12)]
        # The same beside the same load, but for whom nobody takes anything: a daemon of its own, which parks nothing.
        alone = self.start("--parked", "0")
        undisturbed = self.key_of("modest", alone)
        kinds = [{}, {"resources": {"memory_mb": 300}}]
        took = {"beside": [], "alone": []}

        def timed(what, daemon, headers):
            for kind in kinds:
                begun = time.perf_counter()
                self.assertEqual(self.run_in("echo hi", daemon, headers, **kind)["stdout"], "hi\n")
                took[what].append(time.perf_counter() - begun)

        with self.taking(greedy) as had:
            for _ in range(self.ROUNDS):
                timed("beside", self.daemon, modest)
                timed("alone", alone, undisturbed)
        beside, by_itself = (statistics.median(times) for times in took.values())
        print(f"figure: a run beside a tenant that takes all that is parked: {beside * 1000:.1f} ms, {by_itself * 1000:.1f} ms where nobody "
              f"takes; {len(had)} were taken meanwhile", flush=True)
        self.assertGreater(len(had), self.ROUNDS, "it took them all along")
        self.assertLessEqual(beside, self.MOST_SLOWER * by_itself, took)
        for box in taken:
            self.remove(box, greedy)


if __name__ == "__main__":
    unittest.main()
