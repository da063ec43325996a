"""Images and templates on other people's engines: fetched from a real registry, refused by one, made of a template."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from engines import Engine, lacking
from live import ATOLL, Daemon
from registry import PASSWORD, HungRegistry, Registry

LIBEXEC = {"ATOLL_LIBEXEC": os.environ["ATOLL_LIBEXEC"]} if "ATOLL_LIBEXEC" in os.environ else {}


def tiny_tree(place):
    """A root file system: busybox, two links to it and a word."""
    root = pathlib.Path(place, "tree")
    (root / "bin").mkdir(parents=True)
    (root / "etc").mkdir()
    shutil.copy("/bin/busybox", root / "bin/busybox")
    for tool in ("sh", "cat"):
        (root / "bin" / tool).symlink_to("busybox")
    (root / "etc/motto").write_text("of the template\n")
    return str(root)


class Cases:
    """What holds for both; `name` is the driver's."""

    @classmethod
    def setUpClass(cls):
        cls.engine = Engine(cls.name).start()
        cls.registry = Registry(cls.engine, 5000)
        cls.private = Registry(cls.engine, 5001, with_password=True)
        cls.full, cls.digest = cls.registry.push(cls.engine.image, "tiny:1")
        cls.secret, _ = cls.private.push(cls.engine.image, "tiny:1")

    @classmethod
    def tearDownClass(cls):
        cls.registry.stop()
        cls.private.stop()
        left = cls.engine.stop()
        assert not left, f"{cls.name} has left: {left}"

    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="atoll-e2e-")
        self.addCleanup(shutil.rmtree, self.place)
        for image in (self.full, self.secret):
            self.engine.ask("DELETE", f"/v1.41/images/{image}?force=1")

    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ATOLL_", "DOCKER_", "CONTAINER_", "XDG_"))}
        return {**kept, **LIBEXEC, "ATOLL_STATE": "/nonexistent/atoll", "XDG_RUNTIME_DIR": self.place, "HOME": self.place,
                **self.engine.environment, **more}

    def run_in(self, image, *flags, **more):
        return subprocess.run([ATOLL, "run", "--driver", self.name, "--image", image, *flags, "--", "printf", "it runs"],
                              capture_output=True, text=True, timeout=120, env=self.environment(**more))

    def is_there(self, image):
        return self.engine.ask("GET", f"/v1.41/images/{image}/json")[0] == 200

    def test_an_image_is_fetched_when_it_is_missing(self):
        done = self.run_in(self.full, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["stdout"], "it runs")
        self.assertIn("pull", [stage["name"] for stage in answer["stages"]])
        self.assertTrue(self.is_there(self.full))
        again = json.loads(self.run_in(self.full, "--json").stdout)
        self.assertNotIn("pull", [stage["name"] for stage in again["stages"]])
        always = json.loads(self.run_in(self.full, "--json", "--pull", "always").stdout)
        self.assertIn("pull", [stage["name"] for stage in always["stages"]])

    def test_a_digest_is_what_comes(self):
        done = self.run_in(f"{self.full.rsplit(':', 1)[0]}@{self.digest}")
        self.assertEqual(done.stdout, "it runs", done.stderr)
        wrong = self.run_in(f"{self.full.rsplit(':', 1)[0]}@sha256:{'0' * 64}")
        self.assertEqual(wrong.returncode, 125)
        self.assertIn("has no image", wrong.stderr)

    def test_never_does_not_fetch(self):
        done = self.run_in(self.full, "--pull", "never")
        self.assertEqual(done.returncode, 125)
        self.assertIn(f"{self.name} has no image {self.full}", done.stderr)
        self.assertFalse(self.is_there(self.full))

    def test_an_image_that_nobody_has_is_named(self):
        done = self.run_in(f"{self.registry.address}/none:1")
        self.assertEqual(done.returncode, 125)
        self.assertIn(f"the registry {self.registry.address} has no image", done.stderr)

    def test_a_registry_that_refuses_says_so_and_a_login_opens_it(self):
        refused = self.run_in(self.secret)
        self.assertEqual(refused.returncode, 126)
        self.assertIn(f"the registry {self.private.address} refuses", refused.stderr)
        self.assertIn(f"{self.name} login {self.private.address}", refused.stderr)
        self.private.login_file(self.place)
        done = self.run_in(self.secret, DOCKER_CONFIG=self.place)
        self.assertEqual(done.stdout, "it runs", done.stderr)

    def test_a_login_is_written_nowhere(self):
        self.private.login_file(self.place)
        daemon = Daemon()
        daemon.start(env={**LIBEXEC, **self.engine.environment, "DOCKER_CONFIG": self.place})
        self.addCleanup(daemon.end)
        box = daemon.create(driver=self.name, image=self.secret)
        self.assertEqual(daemon.call("GET", f"/v1/sandboxes/{box}").json["image"], self.secret)
        daemon.call("DELETE", f"/v1/sandboxes/{box}")
        self.assertNotIn(PASSWORD, daemon.log())
        for file in pathlib.Path(daemon.state).rglob("*"):
            if file.is_file():
                self.assertNotIn(PASSWORD.encode(), file.read_bytes(), file)

    def test_a_registry_that_is_not_there_and_one_that_hangs_are_told_apart(self):
        gone = self.run_in("127.0.0.1:5009/x:1")
        self.assertEqual(gone.returncode, 125)
        self.assertIn("the registry 127.0.0.1:5009 cannot be reached", gone.stderr)
        hung = HungRegistry(self.engine, 5010)
        try:
            done = self.run_in(f"{hung.address}/x:1", ATOLL_PULL_TIMEOUT="3")
        finally:
            hung.stop()
        self.assertEqual(done.returncode, 125)
        self.assertIn(f"the registry {hung.address} hangs", done.stderr)

    def test_a_template_is_an_image_of_the_engine(self):
        daemon = Daemon()
        daemon.start(env={**LIBEXEC, **self.engine.environment})
        self.addCleanup(daemon.end)
        tree = tiny_tree(self.place)

        def atoll(*words):
            done = subprocess.run([ATOLL, "--state", daemon.state, *words], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        atoll("template", "add", "tiny", tree)
        command = ("--template", "tiny", "--", "/bin/sh", "-c", "cat /etc/motto")
        for driver in (self.name, self.name, "native", "gvisor"):
            self.assertEqual(atoll("run", "--driver", driver, *command), "of the template\n")
        images = json.loads(self.engine.ask("GET", "/v1.41/images/json")[1])
        names = [name for image in images for name in image["RepoTags"] or () if "atoll-template:" in name]
        self.assertEqual(len(names), 1, names)
        held = json.loads(self.engine.ask("GET", f"/v1.41/images/{names[0]}/json")[1])
        self.assertEqual(held["Config"]["Labels"], {"atoll.driver": self.name})


class Docker(Cases, unittest.TestCase):
    name = "docker"


class Podman(Cases, unittest.TestCase):
    name = "podman"


def setUpModule():
    missing = lacking("docker") or lacking("podman") or lacking("registry")
    if missing and os.environ.get("ATOLL_MUST_RUN") == "1":
        raise AssertionError(f"ATOLL_MUST_RUN is set, and this host lacks: {missing}")
    if missing:
        raise unittest.SkipTest(f"this host lacks: {missing}")


if __name__ == "__main__":
    unittest.main()
