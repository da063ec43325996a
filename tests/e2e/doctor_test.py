"""`atoll doctor` on this host: what it says, what it packs, and that it leaves nothing."""

import glob
import json
import os
import shutil
import signal
import stat
import subprocess
import tarfile
import tempfile
import unittest

from live import ATOLL, LIBEXEC, Daemon, census, wait_until

RUNTIME = tempfile.mkdtemp(prefix="atoll-doctor-")  # where embedded runs live
USER = 1000


def tearDownModule():
    shutil.rmtree(RUNTIME)


def doctor(*arguments, timeout=240, user=None, **variables):
    """Without what the host may be running: its daemon is none of our business."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("ATOLL_")}
    environment = {**inherited, "ATOLL_LIBEXEC": LIBEXEC, "ATOLL_STATE": "/nonexistent/atoll",
                   "XDG_RUNTIME_DIR": RUNTIME, **variables}
    identity = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    return subprocess.run([ATOLL, "doctor", *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          env=environment, timeout=timeout, cwd="/", **identity)


def left_behind():
    """Processes and mounts of ours. Groups do not tell whose they are, and others may be at work beside us."""
    found = census(RUNTIME)
    return found["processes"] + found["mounts"]


class OnThisHost(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(left_behind(), [])

    def test_the_table_is_plain_text_off_a_terminal(self):
        done = doctor()
        text = done.stdout.decode()
        self.assertEqual(done.returncode, 0, text)
        self.assertNotIn("\033", text)
        for words in ("host\n", "✓ ok      seccomp", "what each driver gives", "isolation process", "default"):
            self.assertIn(words, text)

    def test_json_tells_every_check_and_a_default_that_ran(self):
        done = doctor("--json")
        told = json.loads(done.stdout)
        self.assertEqual((done.returncode, told["ok"], told["tryout"]["ok"]), (0, True, True))
        for check in told["checks"]:
            self.assertIn(check["verdict"], ("ok", "weak", "missing"))
            self.assertTrue(check["found"] and check["needed_for"], check)
        names = {check["name"] for check in told["checks"]}
        self.assertLessEqual({"kernel", "cgroups", "user_namespaces", "landlock", "seccomp", "overlay", "owner_mapping",
                              "storage_pool", "kvm", "docker", "runsc", "atoll-launcher", "atoll-agent", "atoll-pool", "atoll-oci"},
                             names)
        chosen = next(driver for driver in told["drivers"] if driver["name"] == told["default_driver"])
        self.assertTrue(chosen["available"])
        self.assertNotEqual(chosen["capabilities"]["isolation"], "none")

    def test_companions_are_asked_for_their_version(self):
        told = json.loads(doctor("--json").stdout)
        for check in told["checks"]:
            if check["name"] in ("atoll-launcher", "atoll-agent", "atoll-pool", "atoll-oci"):
                self.assertEqual(check["verdict"], "ok", check)
                self.assertIn(told["version"], check["found"])

    def test_without_companions_it_still_looks_at_the_host(self):
        done = doctor("--json", ATOLL_LIBEXEC="/nonexistent")
        told = json.loads(done.stdout)
        self.assertEqual((done.returncode, told["ok"], told["default_driver"]), (1, False, None))
        self.assertIn("atoll-launcher", told["trouble"])
        verdicts = {check["name"]: check["verdict"] for check in told["checks"]}
        self.assertEqual((verdicts["atoll-launcher"], verdicts["seccomp"]), ("missing", "ok"))

    def test_it_works_as_any_user(self):
        if os.geteuid() != 0:
            self.skipTest("the other tests are this one")
        home = tempfile.mkdtemp(prefix="atoll-doctor-home-")
        os.chown(home, USER, USER)
        try:
            done = doctor("--json", user=USER, HOME=home, XDG_RUNTIME_DIR=home)
            told = json.loads(done.stdout)
            self.assertEqual(told["user"], f"user {USER}")
            self.assertEqual(done.returncode, 0 if told["ok"] else 1)
            self.assertEqual(told["drivers"][0]["available"], False, "native needs root")
        finally:
            shutil.rmtree(home)

    def test_each_driver_that_is_built_is_tried_by_name(self):
        built = {driver["name"]: driver for driver in json.loads(doctor("--json").stdout)["drivers"]}
        for name, driver in built.items():
            with self.subTest(name):
                done = doctor(name, "--json")
                told = json.loads(done.stdout)
                self.assertEqual((told["name"], told["built"], told["driver"]["available"]), (name, True, driver["available"]))
                self.assertEqual(told["ok"], driver["available"], told)
                self.assertEqual(done.returncode, 0 if driver["available"] else 1)
                needs_root = driver.get("capabilities", {}).get("needs_root_dir", False)
                self.assertEqual("tryout" in told, driver["available"] and not needs_root)
                engine = name in ("docker", "podman")  # whose kernel may be another host's
                self.assertIn(name if engine else "kernel", {check["name"] for check in told["checks"]})
                text = doctor(name).stdout.decode()
                if driver["available"]:
                    self.assertIn("--rootfs DIR" if needs_root else "ran a command in", text)
                else:
                    self.assertIn("hint: ", text)

    def test_each_kind_that_a_configuration_may_name_says_what_is_so(self):
        built = {driver["name"] for driver in json.loads(doctor("--json").stdout)["drivers"]}
        for kind, needs in (("docker", {"docker", "runc"}), ("podman", {"podman", "runc"}), ("wasm", set()),
                            ("firecracker", {"kvm", "firecracker"}), ("k8s", set()), ("e2b", set()), ("aws_lambda", set())):
            with self.subTest(kind):
                done = doctor(kind, "--json")
                told = json.loads(done.stdout)
                self.assertEqual({check["name"] for check in told["checks"]}, needs)
                if told["name"] in built:
                    continue
                self.assertEqual((done.returncode, told["ok"], told["built"]), (1, False, False))
                for check in told["checks"]:
                    # A virtual machine cannot give itself /dev/kvm.
                    self.assertTrue(check["verdict"] == "ok" or check["repair"] or check["name"] == "kvm", check)
                self.assertIn("this Atoll has no driver for it", doctor(kind).stdout.decode())

    def test_a_name_that_nobody_has_is_a_usage_error(self):
        done = doctor("nativ")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"atoll doctor native", done.stderr)
        self.assertEqual(doctor("native", "--attack").returncode, 2)

    def test_flags_that_do_not_go_together(self):
        for flags in (("--attack", "--bundle", "x.tar"), ("--driver", "native"), ("--bundle", "x.zip"), ("--bundle", ".tar/")):
            self.assertEqual(doctor(*flags).returncode, 2, flags)


class Attack(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(left_behind(), [])

    def test_every_attack_has_its_line_and_nothing_was_reached(self):
        listed = json.loads(subprocess.run([os.path.join(LIBEXEC, "atoll-attack"), "--list"], capture_output=True,
                                           check=True).stdout)
        before = set(glob.glob("/var/*/atoll-doctor-*"))
        done = doctor("--attack", "--json")
        card = json.loads(done.stdout)
        bad = [row for row in card["attacks"] if row["outcome"] in ("reached", "broken")]
        self.assertEqual((done.returncode, bad, card["ok"]), (0, [], True))
        self.assertEqual([row["attack"] for row in card["attacks"]], [one["name"] for one in listed["attacks"]])
        self.assertEqual(sum(card["totals"].values()), len(card["attacks"]))
        self.assertGreater(card["totals"]["denied"], 50)
        # What takes more than one run is said not to be covered.
        outcomes = {row["attack"]: row["outcome"] for row in card["attacks"]}
        self.assertEqual(outcomes["swap_read"], "not_covered")
        self.assertLessEqual(set(glob.glob("/var/*/atoll-doctor-*")), before)

    def test_a_weaker_driver_says_what_gets_through(self):
        done = doctor("--attack", "--driver", "subprocess", "--json")
        card = json.loads(done.stdout)
        self.assertEqual((card["driver"], card["isolation"]), ("subprocess", "process"))
        through = [row for row in card["attacks"] if "gets through" in row["detail"]]
        self.assertIn("host_processes", [row["attack"] for row in through])
        self.assertEqual({row["outcome"] for row in through}, {"not_covered"})

    def test_an_interrupted_attack_takes_its_canaries_in(self):
        before = set(glob.glob("/var/*/atoll-doctor-*/shared/atoll-attack"))
        environment = {**os.environ, "ATOLL_STATE": "/nonexistent/atoll", "XDG_RUNTIME_DIR": RUNTIME}
        with subprocess.Popen([ATOLL, "doctor", "--attack"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=environment) as process:
            own = wait_until(lambda: set(glob.glob("/var/*/atoll-doctor-*/shared/atoll-attack")) - before,
                             "the canaries are out")
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=120)
        self.assertEqual((process.returncode, out), (128 + signal.SIGTERM, b""), err)
        self.assertIn(b"interrupted", err)
        self.assertFalse([path for path in own if os.path.exists(path)])

    def test_what_isolates_nothing_is_not_attacked(self):
        done = doctor("--attack", "--driver", "local")
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"isolates nothing", done.stderr)

    def test_without_the_program_it_says_so(self):
        with tempfile.TemporaryDirectory() as libexec:
            for name in ("atoll-launcher", "atoll-agent"):
                shutil.copy(os.path.join(LIBEXEC, name), libexec)
            done = doctor("--attack", ATOLL_LIBEXEC=libexec)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"atoll-attack", done.stderr)
        self.assertIn(b"hint", done.stderr)


class Bundle(unittest.TestCase):
    SECRETS = ("env-secret-4711", "label-secret-4712", "caller-secret-4713", "output-secret-4714")

    def setUp(self):
        self.daemon = Daemon().start(env={"ATOLL_LIBEXEC": LIBEXEC})
        self.directory = tempfile.mkdtemp(prefix="atoll-bundle-")

    def tearDown(self):
        shutil.rmtree(self.directory)
        self.daemon.end()

    def contents(self, name):
        path = os.path.join(self.directory, name)
        done = doctor("--bundle", path, ATOLL_STATE=self.daemon.state, MY_SECRET=self.SECRETS[2])
        self.assertEqual((done.returncode, done.stdout.decode().strip()), (0, path), done.stderr)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        with tarfile.open(path, "r:gz" if name.endswith("gz") else "r:") as archive:
            return {member.name.removeprefix("atoll-doctor/"): archive.extractfile(member).read()
                    for member in archive.getmembers()}

    def test_it_has_what_helps_and_no_secrets(self):
        box = self.daemon.create(name="named-4715", env={"TOKEN": self.SECRETS[0]}, labels={"owner": self.SECRETS[1]})
        told = self.daemon.exec(box, "sh", "-c", f"echo $TOKEN {self.SECRETS[3]}")
        self.assertIn(self.SECRETS[0], told["stdout"], "the secret is there to be found")
        self.assertIn(self.SECRETS[1], self.daemon.call("GET", "/v1/sandboxes").body.decode(), "and so is this one")
        files = self.contents("x.tar.gz")

        self.assertLessEqual({"README.txt", "doctor.txt", "doctor.json", "version.txt", "kernel.txt", "mounts.txt",
                              "cgroup.txt", "sysctl.txt", "metrics.txt", "drivers.json", "sandboxes.json"}, set(files))
        for name in set(files) - {"README.txt"}:
            self.assertIn(name, files["README.txt"].decode(), "it names every file")
        self.assertEqual([one["id"] for one in json.loads(files["sandboxes.json"])], [box])
        self.assertTrue(json.loads(files["doctor.json"])["ok"])
        self.assertIn(b"atoll_", files["metrics.txt"])
        everything = b"".join(files.values()).decode(errors="replace")
        for secret in (*self.SECRETS, "named-4715", self.daemon.key):
            self.assertNotIn(secret, everything)

    def test_a_plain_archive_and_no_daemon(self):
        self.assertIn("doctor.json", self.contents("x.tar"))
        path = os.path.join(self.directory, "alone.tgz")
        self.assertEqual(doctor("--bundle", path, "--json").returncode, 0)
        with tarfile.open(path) as archive:
            self.assertNotIn("atoll-doctor/sandboxes.json", archive.getnames())
        missing = doctor("--bundle", os.path.join(self.directory, "no", "x.tar"))
        self.assertEqual(missing.returncode, 125)
