"""What a daemon lives on runs out: the disk of its state, the disk of the sandboxes' files, descriptors. What was acknowledged is there afterwards, what
was refused is not, and the refusals say why. Each prints what came of it."""

import collections
import concurrent.futures
import contextlib
import hashlib
import http.client
import os
import resource
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from live import Daemon, all_pids, descriptors_of, name_of, wait_until

MEBIBYTE = 1 << 20
OPEN = ("running", "paused", "stopped")


def told(answers):
    """Answers by what was asked, each with how often it came."""
    asked = collections.defaultdict(collections.Counter)
    for (what, status), count in answers.items():
        asked[what][status] += count
    return "; ".join(f"{what} {', '.join(f'{status} x{count}' for status, count in sorted(statuses.items(), key=str))}" for what, statuses in asked.items())


class OnASmallDisk(unittest.TestCase):
    """The state directory is on a file system of its own, so that a full disk is nobody else's."""

    mebibytes = 64
    number = 0  # of the matrix of faults

    def setUp(self):
        directory = tempfile.mkdtemp(prefix="atoll-disk-")
        image, self.disk = os.path.join(directory, "image"), os.path.join(directory, "disk")
        os.mkdir(self.disk, 0o755)
        os.chmod(directory, 0o711)
        with open(image, "wb") as file:
            file.truncate(self.mebibytes * MEBIBYTE)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, self.disk], check=True)
        self.addCleanup(lambda: (os.unlink(image), os.rmdir(self.disk), os.rmdir(directory)))
        self.addCleanup(lambda: subprocess.run(["umount", self.disk], check=True))
        self.daemon = Daemon(state=os.path.join(self.disk, "state")).start()
        self.addCleanup(self.daemon.end, f"{self.number}, after a full disk")  # asserts that nothing is left
        self.addCleanup(self.make_room)
        self.answers = collections.Counter()
        self.ledger = {}  # of what was acknowledged: name of a sandbox -> its id

    def fill(self):
        """To the last block."""
        with open(os.path.join(self.disk, "ballast"), "ab") as file:
            for step in (MEBIBYTE, 1024):
                with contextlib.suppress(OSError):
                    while True:
                        os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, step)

    def make_room(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.disk, "ballast"))

    def ask(self, what, *call, **more):
        answer = self.daemon.call(*call, **more)
        self.answers[what, answer.status] += 1
        return answer

    def create(self, name, driver):
        answer = self.ask("create", "POST", "/v1/sandboxes", {"driver": driver, "name": name, "ttl_s": 600})
        if answer.status == 201:
            self.ledger[name] = answer.json["id"]
            self.daemon.made.add(answer.json["id"])
        else:
            self.is_refusal(answer)
        return answer

    def is_refusal(self, answer):
        self.assertEqual((answer.status, answer.json["code"]), (507, "out_of_space"), answer)
        self.assertIn("request_id", answer.json)

    def fill_until_refused(self, driver):
        """The tables have some room within their own files, so the first may still be served."""
        for number in range(200):
            self.fill()
            answer = self.create(f"late{len(self.ledger)}-{number}", driver)
            if answer.status == 507:
                return answer
        raise AssertionError("it was never refused")

    def recover(self, driver):
        self.make_room()
        begun = time.monotonic()
        wait_until(lambda: self.create(f"after{len(self.ledger)}", driver).status == 201, "sandboxes are made again", 30)
        return time.monotonic() - begun

    def compare(self):
        """What the daemon knows with what it has acknowledged; how many of it are missing, and how many are there that nobody was promised."""
        known = {one["name"]: one for one in self.daemon.call("GET", "/v1/sandboxes?limit=1000").json["sandboxes"]}
        lost = [name for name, box in self.ledger.items() if known.get(name, {}).get("id") != box or known[name]["state"] not in OPEN]
        invented = [name for name, one in known.items() if one["state"] in OPEN and name not in self.ledger]
        return lost, invented


class StateDisk(OnASmallDisk):
    number = 12
    mebibytes = 160  # with room enough for the log, which acknowledges before the tables have it

    def test_without_room_for_the_state_nothing_is_promised_and_nothing_is_forgotten(self):
        for number in range(6):
            self.create(f"kept{number}", "native")
            self.daemon.exec(self.ledger[f"kept{number}"], "sh", "-c", f"echo {number} > mine")
        done = threading.Event()

        def go_on():
            number = 0
            while not done.is_set() and self.create(f"meanwhile{number}", "native").status == 201:
                number += 1

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            others = pool.submit(go_on)
            wait_until(lambda: "meanwhile0" in self.ledger, "others make some, too")
            refused = self.fill_until_refused("native")
            done.set()
            others.result()
        self.assertIn(refused.json["stage"], ("intent", "commit"))
        for number in range(5):
            self.fill()
            self.assertEqual(self.create(f"refused{number}", "native").status, 507)
        self.check_what_goes_on()
        self.assertEqual(self.compare(), ([], []))

        recovered = self.recover("native")
        self.again()
        # The same, but nobody can write down what has happened before the end.
        self.fill_until_refused("native")
        self.delete("kept4")
        self.daemon.kill()
        self.make_room()
        self.daemon.start()
        lost, _ = self.compare()
        print(f"figure: 12, disk of the state full: recovered after {recovered:.3f} s; {told(self.answers)}; acknowledged and lost {len(lost)} of"
              f" {len(self.ledger)}", flush=True)
        self.check_ledger()

    def check_what_goes_on(self):
        box = self.ledger["kept0"]
        for what, call, wanted in (
                ("read", ("GET", f"/v1/sandboxes/{box}"), 200),
                ("list", ("GET", "/v1/sandboxes"), 200),
                ("command", ("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["cat", "mine"]}), 200),
                ("file", ("GET", f"/v1/sandboxes/{box}/files?path=mine"), 200),
                ("upload", ("PUT", f"/v1/sandboxes/{box}/files?path=more", b"more"), 2),
                ("health", ("GET", "/healthz"), 200)):
            answer = self.ask(what, *call)
            self.assertIn(wanted, (answer.status, answer.status // 100), answer)
        self.delete("kept5")
        # What cannot be noted is not done.
        for what, state in (("pause", "paused"), ("stop", "stopped")):
            answer = self.ask(what, "POST", f"/v1/sandboxes/{box}/{what}")
            now = self.daemon.call("GET", f"/v1/sandboxes/{box}").json["state"]
            if answer.status == 200:
                self.assertEqual(now, state)
                self.make_room()
                self.assertEqual(self.daemon.call("POST", f"/v1/sandboxes/{box}/{'resume' if what == 'pause' else 'start'}").status, 200)
                self.fill()
            else:
                self.is_refusal(answer)
                self.assertEqual(now, "running")
        self.assertEqual(self.daemon.exec(box, "echo", "fine")["stdout"], "fine\n")

    def delete(self, name):
        self.assertEqual(self.ask("delete", "DELETE", f"/v1/sandboxes/{self.ledger[name]}").status, 204)
        del self.ledger[name]

    def again(self):
        self.daemon.kill()
        self.daemon.start()
        self.check_ledger()

    def check_ledger(self):
        self.assertEqual(self.compare(), ([], []))
        for name, box in self.ledger.items():
            self.assertEqual(self.daemon.exec(box, "echo", name)["stdout"], f"{name}\n")
            if name.startswith("kept") and name != "kept0":
                self.assertEqual(self.daemon.exec(box, "cat", "mine")["stdout"], f"{name[4:]}\n")


class DataDisk(OnASmallDisk):
    """The files of these sandboxes are on the same small disk."""

    number = 11

    def test_a_full_disk_is_told_to_whoever_writes_and_to_nobody_else(self):
        for name in ("writer", "neighbour", "stopped"):
            self.create(name, "subprocess")
        writer, neighbour = self.ledger["writer"], self.ledger["neighbour"]
        files = {}
        with open(os.path.join(self.disk, "ballast"), "wb") as ballast:
            os.posix_fallocate(ballast.fileno(), 0, 16 * MEBIBYTE)
        for number in range(200):
            data = os.urandom(MEBIBYTE)
            answer = self.ask("upload", "PUT", f"/v1/sandboxes/{writer}/files?path=data{number}", data)
            if answer.status == 507:
                self.is_refusal(answer)
                break
            self.assertEqual(answer.status // 100, 2, answer)
            files[f"data{number}"] = hashlib.sha256(data).hexdigest()
        self.assertEqual(answer.status, 507)
        self.fill_until_refused("subprocess")
        self.fill()

        wrote = self.daemon.exec(writer, "sh", "-c", "head -c 4000000 /dev/zero > more")
        self.assertNotEqual(wrote["exit_code"], 0)
        self.assertIn("No space left", wrote["stderr"])
        self.answers["write in a command", "ENOSPC"] += 1
        for number in range(5):
            self.fill()
            self.assertEqual(self.create(f"refused{number}", "subprocess").status, 507)
        for box in (writer, neighbour):
            self.assertEqual(self.daemon.exec(box, "echo", "fine")["stdout"], "fine\n")
        self.assertEqual(self.damaged(files), [])
        # It is done once that can be noted, and the tables are on this disk, too.
        stop = self.ask("stop", "POST", f"/v1/sandboxes/{self.ledger['stopped']}/stop")
        if stop.status != 200:
            self.is_refusal(stop)
        now = self.daemon.call("GET", f"/v1/sandboxes/{self.ledger['stopped']}").json["state"]
        if stop.status == 200 or stop.json["stage"] == "intent":
            self.assertEqual(now, "stopped" if stop.status == 200 else "running")
        self.assertEqual(self.ask("delete", "DELETE", f"/v1/sandboxes/{self.ledger.pop('stopped')}").status, 204)

        recovered = self.recover("subprocess")
        stopped = self.ask("stop with room again", "POST", f"/v1/sandboxes/{neighbour}/stop")
        self.assertEqual((stopped.status, stopped.json["state"]), (200, "stopped"), stopped)
        self.assertEqual(self.ask("upload", "PUT", f"/v1/sandboxes/{writer}/files?path=big", bytes(MEBIBYTE)).status // 100, 2)
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.compare(), ([], []))
        damaged = self.damaged(files)
        print(f"figure: 11, disk of the files full: {told(self.answers)}; recovered after {recovered:.3f} s; files acknowledged and lost {len(damaged)} of"
              f" {len(files)}", flush=True)
        self.assertEqual(damaged, [])

    def damaged(self, files):
        found = []
        for name, wanted in files.items():
            answer = self.daemon.call("GET", f"/v1/sandboxes/{self.ledger['writer']}/files?path={name}")
            if answer.status != 200 or hashlib.sha256(answer.body).hexdigest() != wanted:
                found.append(name)
        return found


class Descriptors(unittest.TestCase):
    MOST = 200

    def test_whoever_lacks_descriptors_says_so_and_leaks_none(self):
        daemon = Daemon(arguments=("--parked", "0")).start()
        self.addCleanup(daemon.end, "15, after a lack of descriptors")  # asserts that nothing is left
        box = daemon.create(driver="native", ttl_s=600)
        for pid in (daemon.process.pid, daemon.launcher()):
            self.sweep(daemon, box, pid)

    def sweep(self, daemon, box, pid):
        """Each time with one more than it has at rest, until that is enough."""
        answers, name = collections.Counter(), name_of(pid)
        self.serve(daemon)  # what is opened once is open then
        rest, usual = self.at_rest(pid), resource.prlimit(pid, resource.RLIMIT_NOFILE)
        for spare in range(self.MOST):
            held = {}
            with contextlib.closing(daemon.connection(timeout=5)) as connection:
                connection.request("GET", "/healthz")
                connection.getresponse().read()
                resource.prlimit(pid, resource.RLIMIT_NOFILE, (self.limit(pid, spare), usual[1]))
                try:
                    self.create(daemon, held, answers, connection)
                    self.run_command(daemon, box, answers)
                finally:
                    resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)
            self.serve(daemon)  # at once, and as if nothing had been
            for made in held:
                self.assertEqual(daemon.call("DELETE", f"/v1/sandboxes/{made}").status, 204)
            if held and answers["command", 200] > 2:
                break
        self.assertGreater(answers["create", 503], 0, "nothing was ever lacking")
        self.assertGreater(answers["create", 201], 0, f"{self.MOST} are not enough")
        wait_until(lambda: descriptors_of(pid) <= rest, f"{name} has no more open than before: {rest}, now {descriptors_of(pid)}", 10)
        print(f"figure: 15, {name} without descriptors: {told(answers)}; more open afterwards {descriptors_of(pid) - rest}", flush=True)

    @staticmethod
    def limit(pid, spare):
        """Below it so many numbers are free."""
        taken, most = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}, 0
        while spare > 0 or most in taken:
            spare -= most not in taken
            most += 1
        return most

    def serve(self, daemon):
        box = daemon.create(driver="native", ttl_s=600)
        self.assertEqual(daemon.exec(box, "echo", "fine")["stdout"], "fine\n")
        self.assertEqual(daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)

    def at_rest(self, pid):
        """Of several looks the lowest: a connection may just be closing."""
        moment = threading.Event()
        return min((descriptors_of(pid), moment.wait(0.02))[0] for _ in range(10))

    def create(self, daemon, held, answers, connection=None):
        connection = connection or daemon.connection(timeout=30)
        connection.request("POST", "/v1/sandboxes", '{"driver":"native","ttl_s":600}', {"Content-Type": "application/json"})
        answer = connection.getresponse()
        body = answer.read()
        answers["create", answer.status] += 1
        self.assertIn(answer.status, (201, 503), body)
        if answer.status == 503:
            self.assertIn(b"request_id", body)
            return
        box = answer.headers["Location"].rsplit("/", 1)[1]
        daemon.made.add(box)
        held[box] = True

    def run_command(self, daemon, box, answers):
        """Over a connection of its own, which a daemon without descriptors cannot accept."""
        try:
            answer = daemon.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["true"]}, timeout=0.3)
        except (OSError, http.client.HTTPException):
            answers["command", "not accepted"] += 1
            return
        answers["command", answer.status] += 1
        self.assertIn(answer.status, (200, 503), answer)


class Deaths(unittest.TestCase):
    """The first process of a sandbox is killed: it is failed, or made anew where that was asked for."""

    KILLS = 10
    DRIVERS = ("native", "subprocess", "gvisor")

    def setUp(self):
        self.daemon = Daemon(arguments=("--parked", "0")).start()
        self.addCleanup(self.daemon.end, "5, after killed first processes")  # asserts that nothing is left

    def first_of(self, box):
        """Of native and subprocess the agent; of gvisor the kernel that it runs on."""
        agents = self.daemon.agents()
        if box in agents:
            return agents[box]
        groups = [pid for pid in all_pids() if self.is_in(pid, box)]
        return next((pid for pid in groups if name_of(pid) == "atoll-agent" or b"runsc-sandbox" in self.words(pid)), None)

    @staticmethod
    def words(pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as words:
            return words.read()
        return b""

    @staticmethod
    def is_in(pid, box):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cgroup") as groups:
            return box in groups.read()
        return False

    def view(self, box):
        return self.daemon.call("GET", f"/v1/sandboxes/{box}").json

    @staticmethod
    def is_known(view):
        return view["state"] == "failed" or view.get("recoveries", 0) > 0

    def test_deaths_are_seen_at_once_and_followed_by_what_was_asked_for(self):
        for driver in self.DRIVERS:
            for policy in ("fail", "recreate"):
                with self.subTest(driver=driver, on_failure=policy):
                    if (driver, policy) == ("subprocess", "recreate"):
                        self.is_refused(driver)
                    else:
                        self.kill_all(driver, policy)

    def is_refused(self, driver):
        answer = self.daemon.call("POST", "/v1/sandboxes", {"driver": driver, "on_failure": "recreate"})
        self.assertEqual((answer.status, answer.json["code"]), (409, "unsupported"), answer)

    def kill_all(self, driver, policy):
        more = {} if policy == "fail" else {"on_failure": "recreate"}
        boxes = [self.daemon.create(driver=driver, ttl_s=600, **more) for _ in range(self.KILLS)]
        bystander = self.daemon.create(driver=driver, ttl_s=600)
        detected, restarted = [], []
        for box in boxes:
            victim = wait_until(lambda: self.first_of(box), f"{box} has a first process")  # noqa: B023
            begun = time.monotonic()
            os.kill(victim, signal.SIGKILL)
            while not self.is_known(view := self.view(box)):
                self.assertLess(time.monotonic(), begun + 20, f"the death of {box} is not known: {view}")
            detected.append((time.monotonic() - begun) * 1000)
            if policy == "fail":
                self.assertTrue(self.view(box)["failure"])
        for box in boxes if policy == "recreate" else ():
            wait_until(lambda: self.view(box)["state"] == "running", f"{box} is made anew: {self.view(box)}", 60)  # noqa: B023
            self.assertEqual(self.daemon.exec(box, "echo", "again")["stdout"], "again\n")
            restarted.append(self.view(box)["recoveries"])
        self.assertEqual(self.daemon.exec(bystander, "echo", "fine")["stdout"], "fine\n")
        for box in (*boxes, bystander):
            self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)
        after = f", made anew {sum(restarted)}" if policy == "recreate" else f", failed {len(detected)}"
        print(f"figure: 5, {driver} killed -9 {len(detected)} times, on_failure {policy}: seen p50 {sorted(detected)[len(detected) // 2]:.1f} ms,"
              f" longest {max(detected):.1f} ms{after}", flush=True)


del OnASmallDisk  # it is no case by itself


def setUpModule():
    lacking = [] if os.geteuid() == 0 else ["root"]
    if lacking and os.environ.get("ATOLL_MUST_RUN") == "1":
        raise AssertionError(f"ATOLL_MUST_RUN is set, and this host lacks: {lacking}")
    if lacking:
        raise unittest.SkipTest(f"this host lacks: {lacking}")


if __name__ == "__main__":
    unittest.main()
