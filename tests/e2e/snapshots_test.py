"""Snapshots, forks and resets as their users meet them: through a daemon that is killed, with real engines and with gVisor."""

import glob
import json
import os
import shutil
import signal
import subprocess
import threading
import unittest

from engines import Engine, image_tar, lacking
from live import ATOLL, Daemon, wait_until

LIBEXEC = {"ATOLL_LIBEXEC": os.environ["ATOLL_LIBEXEC"]} if "ATOLL_LIBEXEC" in os.environ else {}


# With a connection to itself, so that sockets are among what goes on.
COUNTER = """
import os, socket, time
listener = socket.create_server(("127.0.0.1", 4000))
sender = socket.create_connection(("127.0.0.1", 4000))
receiver = listener.accept()[0]
number = 0
while True:
    sender.sendall(b"+")
    number += len(receiver.recv(1))
    with open("now", "w") as file:
        file.write(str(number))
    os.rename("now", "count")
    time.sleep(0.02)
"""


def must_run(case, reason):
    if os.environ.get("ATOLL_MUST_RUN") == "1":
        raise AssertionError(f"{case} must run: {reason}")
    raise unittest.SkipTest(reason)


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


class Cases:
    """What holds for each; `name` is the driver's, `environment` what the daemon needs for it."""

    environment = {}

    def setUp(self):
        self.daemon = Daemon()
        self.daemon.start(env={**LIBEXEC, **self.environment})
        self.addCleanup(self.daemon.end)

    def ask(self, method, path, body=None, status=None, **more):
        answer = self.daemon.call(method, path, body, **more)
        if status is not None:
            self.assertEqual(answer.status, status, answer)
        return answer

    def create(self, **request):
        return self.ask("POST", "/v1/sandboxes", {"ttl_s": 600, **request}, 201).json["id"]

    def sh(self, box, script):
        return self.daemon.exec(box, "sh", "-c", script)["stdout"]

    def remove(self, *boxes):
        for box in boxes:
            self.ask("DELETE", f"/v1/sandboxes/{box}", status=204)

    def atoll(self, *words):
        done = subprocess.run([ATOLL, "--state", str(self.daemon.state), *words], capture_output=True, text=True, timeout=120,
                              env={**os.environ, **LIBEXEC})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def kept_files(self):
        """Names of all snapshots that lie in the state directory."""
        return [name for path, names, files in os.walk(f"{self.daemon.state}/engines") for name in names + files if name.startswith("snp")]

    def nothing_is_kept(self):
        self.assertEqual(self.ask("GET", "/v1/snapshots").json["snapshots"], [])
        wait_until(lambda: not self.kept_files() and not self.images(), "nothing is kept", 60)

    def images(self):
        return []

    def test_a_snapshot_survives_its_sandbox_and_the_death_of_the_daemon(self):
        box = self.create(driver=self.name, env={"SECRET": "s3cret-value"})
        self.sh(box, "echo kept > file; echo mine > ~/.rc; ln -s /usr/bin/env link")
        made = self.ask("POST", f"/v1/sandboxes/{box}/snapshots", {"name": "before", "labels": {"a": "b"}}, 201).json
        self.assertEqual((made["state"], made["kind"], made["driver"], made["sandbox"]), ("ready", "disk", self.name, box))
        self.assertGreater(made["bytes"], 0)
        self.remove(box)
        self.daemon.kill()
        self.daemon.start(env={**LIBEXEC, **self.environment})

        self.assertEqual(self.ask("GET", "/v1/snapshots/before", status=200).json, made)
        self.assertEqual([one["id"] for one in self.ask("GET", f"/v1/snapshots?sandbox={box}").json["snapshots"]], [made["id"]])
        again = self.create(snapshot="before")
        told = self.ask("GET", f"/v1/sandboxes/{again}").json
        self.assertEqual((told["driver"], told["snapshot"]), (self.name, made["id"]))
        self.assertEqual(self.sh(again, "cat file ~/.rc; readlink link; echo $SECRET"), "kept\nmine\n/usr/bin/env\n\n")
        self.ask("DELETE", "/v1/snapshots/before", status=204)
        self.ask("GET", "/v1/snapshots/before", status=404)
        self.ask("POST", "/v1/sandboxes", {"snapshot": "before"}, 404)
        self.assertEqual(self.sh(again, "cat file"), "kept\n")
        self.remove(again)
        self.daemon.kill()
        self.daemon.start(env={**LIBEXEC, **self.environment})
        self.nothing_is_kept()

    def test_the_command_line_takes_lists_uses_and_removes(self):
        box = self.atoll("create", "--driver", self.name, "--name", "dev").strip()
        self.sh(box, "echo kept > file")
        snapshot = self.atoll("snapshot", "create", "dev", "--name", "first").strip()
        self.assertRegex(snapshot, "^snp[a-z0-9]{20}$")
        self.assertRegex(self.atoll("snapshot", "ls"), f"{snapshot} +first +disk +{self.name}")
        self.assertEqual(self.atoll("snapshot", "ls", "-q").split(), [snapshot])
        self.assertEqual(json.loads(self.atoll("snapshot", "show", "first", "--json"))["id"], snapshot)
        self.assertEqual(self.atoll("run", "--snapshot", "first", "--", "cat", "file"), "kept\n")
        children = self.atoll("fork", "dev", "-n", "2").split()
        self.assertEqual(len(children), 2)
        for child in children:
            self.assertEqual(self.sh(child, "cat file; echo $ATOLL_SANDBOX_ID > file; cat file"), f"kept\n{child}\n")
        self.assertEqual(self.sh(box, "cat file"), "kept\n")
        self.assertEqual(self.atoll("snapshot", "rm", "first"), "first\n")
        self.remove(box, *children)
        # What the fork has needed goes with the next sweep at the latest.
        self.daemon.kill()
        self.daemon.start(env={**LIBEXEC, **self.environment})
        self.nothing_is_kept()

    def test_a_reset_leaves_nothing_and_no_token(self):
        box = self.create(driver=self.name, name="shared", env={"SECRET": "s3cret"})
        self.sh(box, "echo secret > file; setsid sleep 1000 >/dev/null 2>&1 </dev/null &")
        token = self.ask("POST", f"/v1/sandboxes/{box}/token", {}, 201).json["token"]
        self.ask("GET", f"/v1/sandboxes/{box}", status=200, headers=bearer(token))

        told = self.ask("POST", "/v1/sandboxes/shared/reset", {"env": {"NEXT": "user"}}, 200).json

        self.assertEqual((told["id"], told["state"], told["resets"]), (box, "running", 1))
        self.assertEqual(self.sh(box, "ls -A; echo $SECRET$NEXT"), "user\n")
        self.ask("GET", f"/v1/sandboxes/{box}", status=401, headers=bearer(token))
        self.assertEqual(self.atoll("reset", "shared"), "shared\n")
        self.remove(box)

    def test_snapshots_are_their_tenants_alone(self):
        key = self.ask("POST", "/v1/keys", {"role": "member", "tenant": "other"}, 201).json["key"]
        box = self.create(driver=self.name)
        snapshot = self.ask("POST", f"/v1/sandboxes/{box}/snapshots", {"name": "mine"}, 201).json["id"]
        for named in (snapshot, "mine"):
            self.ask("GET", f"/v1/snapshots/{named}", status=404, headers=bearer(key))
            self.ask("DELETE", f"/v1/snapshots/{named}", status=404, headers=bearer(key))
            self.ask("POST", "/v1/sandboxes", {"snapshot": named}, 404, headers=bearer(key))
        self.assertEqual(self.ask("GET", "/v1/snapshots", headers=bearer(key)).json["snapshots"], [])
        weaker = self.ask("POST", "/v1/sandboxes", {"snapshot": snapshot, "min_isolation": "vm"})
        self.assertEqual((weaker.status, weaker.json["code"]), (409, "unsupported"))
        self.ask("DELETE", f"/v1/snapshots/{snapshot}", status=204)
        self.remove(box)
        self.nothing_is_kept()


class EngineCases(Cases):
    has_criu = False

    def test_no_image_is_a_way_to_what_others_have_kept(self):
        """Its name, its id and the beginning of it lead nowhere; another name that somebody gives it does."""
        key = self.ask("POST", "/v1/keys", {"role": "member", "tenant": "other"}, 201).json["key"]
        box = self.create(driver=self.name, persistence="persistent")
        self.sh(box, "echo hidden > /home/user/secret")
        snapshot = self.ask("POST", f"/v1/sandboxes/{box}/snapshots", {}, 201).json["id"]
        name = f"localhost/atoll-snapshot:{snapshot}"
        facts = json.loads(self.engine.ask("GET", f"/v1.41/images/{name}/json")[1])
        full = facts["Id"].removeprefix("sha256:")

        def run(image, headers):
            return self.ask("POST", "/v1/runs", {"sandbox": {"driver": self.name, "image": image, "pull": "never", "persistence": "persistent"},
                                                 "exec": {"argv": ["cat", "/home/user/secret"]}}, headers=headers)
        for image in (name, full, full[:12], full[:2], f"sha256:{full}"):
            for headers in (bearer(key), {}):
                with self.subTest(image):
                    refused = run(image, headers)
                    self.assertEqual((refused.status, refused.json["code"]), (404, "not_found"), refused)
        # The control: it is in there.
        self.assertEqual(self.engine.ask("POST", f"/v1.41/images/{name}/tag?repo=localhost/given&tag=1")[0], 201)
        self.addCleanup(self.engine.ask, "DELETE", "/v1.41/images/localhost/given:1")
        shown = run("localhost/given:1", bearer(key))
        self.assertEqual(shown.json.get("stdout"), "hidden\n", shown)
        self.engine.ask("DELETE", "/v1.41/images/localhost/given:1")
        self.ask("DELETE", f"/v1/snapshots/{snapshot}", status=204)
        self.remove(box)
        self.nothing_is_kept()

    @classmethod
    def setUpClass(cls):
        if missing := lacking(cls.name):
            must_run(cls.name, f"there is no {cls.name} here, for lack of {missing}")
        if cls.has_criu and (missing := lacking("criu")):
            must_run(cls.name, f"there is no {missing}")
        cls.engine = Engine(cls.name, has_criu=cls.has_criu).start()
        cls.environment = cls.engine.environment

    @classmethod
    def tearDownClass(cls):
        left = cls.engine.stop()
        assert not left, f"{cls.name} has left: {left}"

    def images(self):
        return self.engine.snapshot_images()

    def test_what_a_fork_needed_goes_with_the_daemons_sandboxes(self):
        box = self.create(driver=self.name, persistence="persistent")
        self.sh(box, "echo kept > file")
        answer = self.ask("POST", f"/v1/sandboxes/{box}/fork", {"count": 2}, 201).json["sandboxes"]
        for child in answer:
            self.assertEqual(self.sh(child["id"], "cat file; echo own > file; cat file; ls -ld . | cut -c1-10"), "kept\nown\ndrwxr-xr-x\n")
        self.assertEqual(self.sh(box, "cat file"), "kept\n")
        self.daemon.process.send_signal(signal.SIGINT)
        self.daemon.process.wait(60)
        self.assertEqual((self.images(), self.engine.containers()), ([], []))

    def test_an_image_that_is_not_ours_stays_and_a_lost_one_is_told(self):
        self.engine.ask("POST", f"/v1.41/images/{self.engine.image}/tag?repo=localhost/atoll-snapshot&tag=snp{'0' * 20}")
        box = self.create(driver=self.name)
        snapshot = self.ask("POST", f"/v1/sandboxes/{box}/snapshots", {}, 201).json["id"]
        self.remove(box)
        self.engine.ask("DELETE", f"/v1.41/images/localhost/atoll-snapshot:{snapshot}")
        shutil.rmtree(f"{self.daemon.state}/engines/{self.name}-snapshots/{snapshot}")
        self.daemon.kill()
        self.daemon.start(env={**LIBEXEC, **self.environment})
        self.assertEqual(self.ask("GET", f"/v1/snapshots/{snapshot}").json["state"], "lost")
        self.ask("POST", "/v1/sandboxes", {"snapshot": snapshot}, 404)
        self.ask("DELETE", f"/v1/snapshots/{snapshot}", status=204)
        stranger = f"/v1.41/images/localhost/atoll-snapshot:snp{'0' * 20}"
        self.assertEqual(self.engine.ask("GET", stranger + "/json")[0], 200)
        self.engine.ask("DELETE", stranger)
        self.nothing_is_kept()


    def test_one_of_a_persistent_sandbox_is_there_after_a_restart(self):
        box = self.create(driver=self.name, persistence="persistent")
        self.sh(box, "echo kept > file")
        self.ask("POST", f"/v1/sandboxes/{box}/snapshots", {"name": "lasting"}, 201)
        self.daemon.kill()
        self.daemon.start(env={**LIBEXEC, **self.environment})
        self.assertEqual(self.ask("GET", "/v1/snapshots/lasting").json["state"], "ready")
        again = self.create(snapshot="lasting")
        self.assertEqual(self.sh(again, "cat file"), "kept\n")
        self.remove(box, again)
        self.ask("DELETE", "/v1/snapshots/lasting", status=204)
        self.daemon.kill()
        self.daemon.start(env={**LIBEXEC, **self.environment})
        self.nothing_is_kept()

    def test_one_whose_image_was_removed_is_lost(self):
        box = self.create(driver=self.name)
        snapshot = self.ask("POST", f"/v1/sandboxes/{box}/snapshots", {}, 201).json["id"]
        self.remove(box)
        self.engine.ask("DELETE", f"/v1.41/images/localhost/atoll-snapshot:{snapshot}")
        told = self.ask("POST", "/v1/sandboxes", {"snapshot": snapshot}, 404).json
        self.assertIn("has lost snapshot", told["detail"])
        self.assertEqual(self.ask("GET", f"/v1/snapshots/{snapshot}").json["state"], "lost")
        self.daemon.kill()
        self.daemon.start(env={**LIBEXEC, **self.environment})
        self.assertEqual(self.ask("GET", f"/v1/snapshots/{snapshot}").json["state"], "lost")
        self.ask("DELETE", f"/v1/snapshots/{snapshot}", status=204)
        self.nothing_is_kept()

    def test_one_of_a_templates_sandbox_outlives_the_template(self):
        tree = f"{self.daemon.state}.tree.tar"
        with open(tree, "wb") as file:
            file.write(image_tar())
        self.addCleanup(os.unlink, tree)
        self.atoll("template", "add", "t:1", tree)
        box = self.create(driver=self.name, template="t:1")
        self.sh(box, "echo kept > file")
        self.ask("POST", f"/v1/sandboxes/{box}/snapshots", {"name": "orphaned"}, 201)
        self.remove(box)
        self.atoll("template", "rm", "t:1")
        self.assertEqual(self.atoll("run", "--snapshot", "orphaned", "--", "cat", "file"), "kept\n")
        self.ask("DELETE", "/v1/snapshots/orphaned", status=204)
        self.daemon.kill()
        self.daemon.start(env={**LIBEXEC, **self.environment})
        self.nothing_is_kept()


class NoMemory:
    """What those show that keep none."""

    def test_memory_is_refused(self):
        box = self.create(driver=self.name)
        for path in ("snapshots", "fork"):
            told = self.ask("POST", f"/v1/sandboxes/{box}/{path}", {"kind": "memory"}, 409).json
            self.assertEqual(told["code"], "unsupported")
            self.assertIn("it takes CRIU 4 or newer" if self.name == "podman" else "docker cannot", told["detail"])
        self.remove(box)
        self.nothing_is_kept()


class Docker(NoMemory, EngineCases, unittest.TestCase):
    name = "docker"


class Podman(NoMemory, EngineCases, unittest.TestCase):
    name = "podman"


class MemoryCases:
    """What holds for each that keeps memory; `counter` counts in memory, `large` has much of it, `written` is the file that it comes to."""

    def begin_to_count(self, box, least=50):
        """A process that has its number nowhere but in memory; the process's number."""
        process = self.daemon.start_process(box, *self.counter)
        wait_until(lambda: self.count(box) >= least, "it counts")
        return process["process"]

    def count(self, box):
        return int(self.sh(box, "cat count 2>/dev/null") or 0)

    def is_running(self, box, process):
        rows = self.ask("GET", f"/v1/sandboxes/{box}/processes").json["processes"]
        return next(one["running"] for one in rows if one["process"] == process)

    def goes_on(self, box, number):
        self.assertGreaterEqual(self.count(box), number)
        wait_until(lambda: self.count(box) > number + 5, f"{box} goes on")

    def keep_memory(self, box, status=201, **more):
        return self.ask("POST", f"/v1/sandboxes/{box}/snapshots", {"kind": "memory", **more}, status).json

    def restart(self):
        self.daemon.kill()
        self.daemon.start(env={**LIBEXEC, **self.environment})

    def test_processes_go_on_from_a_snapshot_of_memory(self):
        box = self.create(driver=self.name, env={"WHO": "the first"})
        process = self.begin_to_count(box)
        before = self.count(box)
        made = self.keep_memory(box, name="mem")
        self.assertEqual((made["kind"], made["state"]), ("memory", "ready"))
        self.assertGreater(made["bytes"], 1_000_000)
        self.goes_on(box, before)
        self.sh(box, "echo mine > who")
        self.remove(box)
        self.restart()

        again = self.create(snapshot="mem", env={"WHO": "the second"})
        self.goes_on(again, before)
        self.assertLess(before, 1_000, "so slow that the number proves nothing")
        self.assertTrue(self.is_running(again, process))
        self.assertEqual(self.sh(again, "cat who 2>&1; echo $ATOLL_SANDBOX_ID $WHO"), f"cat: who: No such file or directory\n{again} the second\n")
        # The same once more: what goes on can be kept as what began.
        self.keep_memory(again, name="mem2")
        third = self.create(snapshot="mem2")
        self.goes_on(third, before)
        self.remove(again, third)
        for name in ("mem", "mem2"):
            self.ask("DELETE", f"/v1/snapshots/{name}", status=204)
        self.nothing_is_kept()

    def test_copies_go_on_with_their_processes(self):
        box = self.create(driver=self.name, name="dev")
        process = self.begin_to_count(box)
        before = self.count(box)
        children = self.atoll("fork", "dev", "--memory", "-n", "2").split()
        for one in (box, *children):
            self.goes_on(one, before)
        self.ask("POST", f"/v1/sandboxes/{children[0]}/processes/{process}/signal", {"signal": "KILL"}, 204)
        wait_until(lambda: not self.is_running(children[0], process), "one has ended")
        stands = self.count(children[0])
        for one in (box, children[1]):
            self.goes_on(one, self.count(one))
        self.assertEqual(self.count(children[0]), stands)
        self.remove(box, *children)
        self.restart()
        self.nothing_is_kept()

    def test_a_full_disk_is_found_before_anything_is_written(self):
        box = self.create(driver=self.name)
        self.begin_to_count(box)
        small = f"{self.daemon.state}/engines/{self.name}-snapshots"
        os.makedirs(small, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "small", small], check=True)
        self.addCleanup(subprocess.run, ["umount", small])
        told = self.keep_memory(box, 507)
        self.assertEqual(told["code"], "out_of_space")
        self.goes_on(box, self.count(box))
        self.assertEqual(self.kept_files(), [])
        self.remove(box)

    def test_a_daemon_that_dies_meanwhile_leaves_the_sandbox_and_nothing_else(self):
        box = self.create(driver=self.name)
        self.begin_to_count(box)
        self.daemon.start_process(box, *self.large)
        wait_until(lambda: self.sh(box, "ls large 2>/dev/null"), "much memory is used", 120)
        before = self.count(box)
        asking = threading.Thread(target=lambda: self.ignoring_errors("POST", f"/v1/sandboxes/{box}/snapshots", {"kind": "memory"}))
        asking.start()
        wait_until(lambda: glob.glob(f"{self.daemon.state}/engines/*/snp*.part/image/{self.written}"), "it is being written", 120)
        self.restart()
        asking.join()
        wait_until(lambda: self.ask("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["true"]}).status == 200, "it is reached again", 120)
        self.goes_on(box, before)
        self.remove(box)
        self.nothing_is_kept()

    def ignoring_errors(self, *call):
        try:
            self.daemon.call(*call)
        except OSError:
            pass


class Gvisor(MemoryCases, Cases, unittest.TestCase):
    name = "gvisor"
    counter = ("python3", "-c", COUNTER)
    large = ("python3", "-c", "import os; x = os.urandom(200 << 20); open('large', 'w'); import time; time.sleep(1000)")
    written = "checkpoint.img"

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0 or not shutil.which("runsc"):
            must_run("gvisor", "it needs root and runsc")

    def test_what_cannot_be_kept_is_said_and_hurts_nobody(self):
        box = self.create(driver=self.name)
        self.begin_to_count(box)
        self.daemon.start_process(box, "sh", "-c", "exec 9>/tmp/gone; rm /tmp/gone; touch removed; sleep 1000")
        wait_until(lambda: self.sh(box, "ls removed 2>/dev/null"), "the file is removed")
        told = self.keep_memory(box, 409)
        self.assertEqual(told["code"], "conflict")
        self.assertIn("'gone'", told["detail"])
        self.goes_on(box, self.count(box))
        self.ask("POST", f"/v1/sandboxes/{box}/pause", {}, 200)
        self.assertEqual(self.keep_memory(box, 409)["code"], "conflict")
        self.ask("POST", f"/v1/sandboxes/{box}/resume", {}, 200)
        native = self.create(driver="native")
        for path, body in (("snapshots", {"kind": "memory"}), ("fork", {"kind": "memory"})):
            told = self.ask("POST", f"/v1/sandboxes/{native}/{path}", body, 409).json
            self.assertEqual(told["code"], "unsupported")
            self.assertIn("gvisor", told["hint"])
        self.remove(box, native)
        self.nothing_is_kept()

class PodmanMemory(MemoryCases, EngineCases, unittest.TestCase):
    """With CRIU 4, which Debian 12 does not have."""

    name, has_criu = "podman", True
    # The number goes through a pipe each time, so that pipes are among what goes on.
    counter = ("bash", "-c", "coproc cat; n=0; while :; do echo $((n + 1)) >&${COPROC[1]}; read -r n <&${COPROC[0]};"
               " echo $n > now; mv now count; sleep 0.02; done")
    # Which the second holds until the first has ended.
    large = ("sh", "-c", "(head -c 200000000 /dev/zero; touch large; sleep 1000) | tail -c 200000000")
    written = "memory.tar"

    def test_what_cannot_be_kept_is_said_and_hurts_nobody(self):
        box = self.create(driver=self.name)
        self.begin_to_count(box)
        self.daemon.start_process(box, "sh", "-c", "exec 9>/tmp/gone; rm /tmp/gone; head -c 3000000 /dev/zero >&9; touch removed; sleep 1000")
        wait_until(lambda: self.sh(box, "ls removed 2>/dev/null"), "the file is removed")
        told = self.keep_memory(box, 409)
        self.assertEqual(told["code"], "conflict")
        self.assertIn("podman could not keep its memory: CRIU says: ", told["detail"])
        self.assertIn("ghost", told["detail"])
        self.goes_on(box, self.count(box))
        self.ask("POST", f"/v1/sandboxes/{box}/pause", {}, 200)
        self.assertEqual(self.keep_memory(box, 409)["code"], "conflict")
        self.ask("POST", f"/v1/sandboxes/{box}/resume", {}, 200)
        self.goes_on(box, self.count(box))
        self.remove(box)
        self.nothing_is_kept()

    def test_a_root_that_was_written_to_goes_along(self):
        box = self.create(driver=self.name, persistence="persistent")
        self.begin_to_count(box)
        self.sh(box, "echo mine > ~/file")
        child = self.ask("POST", f"/v1/sandboxes/{box}/fork", {"kind": "memory"}, 201).json["sandboxes"][0]["id"]
        self.sh(box, "echo changed > ~/file")
        self.goes_on(child, self.count(child))
        self.assertEqual(self.sh(child, "cat ~/file; echo more > ~/more; cat ~/more"), "mine\nmore\n")
        self.remove(box, child)
        self.nothing_is_kept()

    def test_what_goes_on_is_as_strong_and_as_much_by_itself_as_what_was_kept(self):
        # What hides a file of /proc is the null device of the container there, and of the host here.
        look = ("grep -E '^(Cap|NoNewPrivs|Seccomp|Uid|Groups)' /proc/self/status; ulimit -a; cut -d' ' -f2-4 /proc/mounts | sed -E 's/lowerdir=.*//; s#^(/proc/[a-z._-]+) (dev)?tmpfs rw.*#\\1 hidden#' | sort; stat -c '%n %F %t:%T' /proc/k* /proc/i*[a-z]; tail -n +3 /proc/net/dev;"
                " for p in / /etc /opt/atoll /opt/atoll/door /proc /sys; do touch $p/x 2>/dev/null && echo wrote $p; done; ls -A /opt/atoll/door")
        limits = {"memory_mb": 64, "pids": 40, "cpu": 0.5}
        box = self.create(driver=self.name, resources=limits)
        self.sh(box, "echo of the first > /dev/shm/kept; echo kept > /tmp/kept")
        self.begin_to_count(box)
        self.keep_memory(box, name="strong")
        again = self.create(snapshot="strong", resources={**limits, "pids": 30})
        self.maxDiff = None
        self.assertIn("/proc/kallsyms character special file 1:3\n", self.sh(again, look))
        self.assertEqual(self.sh(again, look), self.sh(box, look))
        self.assertEqual(self.sh(again, "cat /dev/shm/kept /tmp/kept; echo of the second > /dev/shm/kept"), "of the first\nkept\n")
        self.assertEqual(self.sh(box, "cat /dev/shm/kept"), "of the first\n")
        first, second = (json.loads(self.engine.ask("GET", f"/v1.41/containers/atoll-{one}/json")[1]) for one in (box, again))
        self.assertEqual([second["HostConfig"][name] for name in ("Memory", "MemorySwap", "PidsLimit")], [64 << 20, 64 << 20, 30])
        with open(f"/proc/{second['State']['Pid']}/cgroup", encoding="ascii") as file:
            group = next(line.rsplit(":", 1)[1] for line in file if "libpod" in line).strip()
        if os.path.isdir("/sys/fs/cgroup/memory"):
            for kind, name, value in (("memory", "memory.limit_in_bytes", 64 << 20), ("pids", "pids.max", 30), ("cpu", "cpu.cfs_quota_us", 50_000)):
                with open(f"/sys/fs/cgroup/{kind}{group}/{name}", encoding="ascii") as file:
                    self.assertEqual(int(file.read()), value)
        self.assertEqual({k: v for k, v in second["Config"]["Labels"].items() if k != "atoll.own-clock"},
                         {**first["Config"]["Labels"], "atoll.sandbox": again})
        # It does not need the first one, and ends when its own time is up, whatever its clock shows.
        self.remove(box)
        self.goes_on(again, self.count(again))
        self.restart()
        self.ask("POST", f"/v1/sandboxes/{again}/renew", {"ttl_s": 3}, 200)
        self.daemon.kill()
        wait_until(lambda: not self.engine.containers(), "it has ended by itself", 60)
        self.daemon.start(env={**LIBEXEC, **self.environment})
        self.ask("DELETE", "/v1/snapshots/strong", status=204)
        self.nothing_is_kept()


if __name__ == "__main__":
    unittest.main()
