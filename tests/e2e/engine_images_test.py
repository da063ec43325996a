"""Images and templates on other people's engines: fetched from a real registry, refused by one, made of a template."""

import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest
import urllib.parse

from engines import Engine, lacking
from live import ATOLL, Daemon, wait_until
from registry import PASSWORD, HungRegistry, Registry
from terminal import Terminal

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


def tiny_image(place, user):
    """What `docker save` writes, of a busybox, two users and an image's words."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as layer:
        layer.add("/bin/busybox", "bin/busybox")
        for tool in ("sh", "cat", "chmod", "id", "mkdir", "printf"):
            link = tarfile.TarInfo(f"bin/{tool}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            layer.addfile(link)
        people = b"root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/sh\nworker:x:1234:1234::/srv:/bin/sh\n"
        for name, text in (("etc/passwd", people), ("home/agent/.profile", b"# of the image\n")):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o644
            layer.addfile(entry, io.BytesIO(text))
    config = {"architecture": "amd64", "os": "linux", "config": {"User": user, "Env": ["PATH=/home/agent/.local/bin:/bin", "COLOUR=blue"]},
              "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(held.getvalue()).hexdigest()]}}
    parts = {"layer.tar": held.getvalue(), "config.json": json.dumps(config).encode(),
             "manifest.json": json.dumps([{"Config": "config.json", "RepoTags": [f"{user}:1"], "Layers": ["layer.tar"]}]).encode()}
    path = pathlib.Path(place, f"{user}.tar")
    with tarfile.open(path, mode="w") as image:
        for name, data in parts.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            image.addfile(entry, io.BytesIO(data))
    return str(path)


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

    def daemon(self, **more):
        daemon = Daemon()
        daemon.start(env={**LIBEXEC, **self.engine.environment, **more})
        self.addCleanup(daemon.end)
        return daemon

    def speaks_to(self, daemon):
        """The command line, to this daemon."""
        def atoll(*words, code=0):
            done = subprocess.run([ATOLL, "--state", daemon.state, *words], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
            return done.stderr if code else done.stdout
        return atoll

    def test_a_template_is_an_image_of_the_engine(self):
        daemon = self.daemon()
        tree = tiny_tree(self.place)
        atoll = self.speaks_to(daemon)
        added = atoll("template", "add", "tiny", tree).strip()
        command = ("--template", "tiny", "--", "/bin/sh", "-c", "cat /etc/motto")
        for driver in (self.name, self.name, "native", "gvisor"):
            self.assertEqual(atoll("run", "--driver", driver, *command), "of the template\n")
        names = self.engine.images_named("atoll-template:")
        self.assertEqual(len(names), 1, names)
        self.assertEqual(self.labels(names[0]), {"atoll.driver": self.name, "atoll.template": added, "atoll.generation": "1",
                                                 "atoll.instance": daemon.name_on(self.name)})
        # An earlier version goes with what replaces it, and the last one with its name.
        pathlib.Path(tree, "etc/motto").write_text("of another\n")
        atoll("template", "add", "tiny", tree)
        self.assertEqual(atoll("run", "--driver", self.name, *command), "of another\n")
        self.assertEqual(len(self.engine.images_named("atoll-template:")), 2)
        atoll("template", "rollback", "tiny")
        wait_until(lambda: self.engine.images_named("atoll-template:") == names, "the image of the later version goes", 90)
        # A sandbox keeps what it is made of.
        box = daemon.create(driver=self.name, template="tiny")
        atoll("template", "rm", "tiny")
        self.assertEqual(daemon.exec(box, "/bin/cat", "/etc/motto")["stdout"], "of the template\n")
        self.assertEqual(self.engine.images_named("atoll-template:"), names)
        daemon.call("DELETE", f"/v1/sandboxes/{box}")
        wait_until(lambda: not self.engine.images_named("atoll-template:"), "the image goes with the last sandbox", 90)
        self.assertEqual(self.engine.images_named("atoll-trial"), [])

    def labels(self, image):
        return json.loads(self.engine.ask("GET", f"/v1.41/images/{image}/json")[1])["Config"]["Labels"]

    def test_daemons_leave_each_other_their_images(self):
        one, other = self.daemon(), self.daemon()
        tree = tiny_tree(self.place)
        command = ("run", "--driver", self.name, "--template", "tiny", "--", "/bin/cat", "/etc/motto")
        for daemon in (one, other):
            atoll = self.speaks_to(daemon)
            atoll("template", "add", "tiny", tree)
            self.assertEqual(atoll(*command), "of the template\n")
        images = {self.labels(name)["atoll.instance"]: name for name in self.engine.images_named("atoll-template:")}
        self.assertEqual(set(images), {daemon.name_on(self.name) for daemon in (one, other)})
        self.speaks_to(one)("template", "rm", "tiny")
        left = [images[other.name_on(self.name)]]
        wait_until(lambda: self.engine.images_named("atoll-template:") == left, "the image of one goes", 90)
        self.assertEqual(self.speaks_to(other)(*command), "of the template\n")
        self.speaks_to(other)("template", "rm", "tiny")
        wait_until(lambda: not self.engine.images_named("atoll-template:"), "the other goes with its template", 90)

    def test_many_templates_of_others_stay(self):
        theirs = [f"localhost/theirs:{number}" for number in range(34)]
        for number, name in enumerate(theirs):
            self.engine.import_empty(name, {"atoll.driver": self.name, "atoll.instance": "/somebody/else", "atoll.template": f"{number:064x}"})
            self.addCleanup(self.engine.ask, "DELETE", f"/v1.41/images/{name}?force=1")
        atoll = self.speaks_to(self.daemon())
        atoll("template", "add", "tiny", tiny_tree(self.place))
        atoll("run", "--driver", self.name, "--template", "tiny", "--", "/bin/cat", "/etc/motto")
        self.assertEqual(len(self.engine.images_named("atoll-template:")), 1)
        atoll("template", "rm", "tiny")
        wait_until(lambda: not self.engine.images_named("atoll-template:"), "ours goes", 90)
        self.assertEqual(len(self.engine.images_named("localhost/theirs:")), len(theirs))

    def test_the_user_of_an_image_is_the_only_one_where_it_has_that_number(self):
        daemon = self.daemon()
        atoll = self.speaks_to(daemon)
        for user in ("agent", "worker", "1234"):
            atoll("template", "add", f"tiny:{user}", tiny_image(self.place, user))
        script = ("id -u; mkdir -p $HOME/.local/bin; printf '#!/bin/sh\necho $COLOUR\n' > $HOME/.local/bin/mine; "
                  "chmod 755 $HOME/.local/bin/mine; mine")
        for driver in (self.name, "native", "gvisor"):
            self.assertEqual(atoll("run", "--driver", driver, "--template", "tiny:agent", "--", "sh", "-c", script), "1000\nblue\n")
        # A home that is given to its user is the sandbox's, and the template as it was.
        homes = list(pathlib.Path(daemon.state, "templates/trees").glob("*/root/home/agent"))
        self.assertEqual([(home.stat().st_uid, os.listdir(home)) for home in homes], [(0, [".profile"])] * 3)
        box = daemon.create(driver=self.name, template="tiny:agent")
        self.assertEqual(daemon.call("GET", f"/v1/sandboxes/{box}").json["user"], "agent")
        self.assertEqual(daemon.exec(box, "id", "-un")["stdout"], "agent\n")
        self.assertEqual(daemon.exec(box, "id", "-un", user="agent")["stdout"], "agent\n")
        refused = daemon.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["id"], "user": "worker"})
        self.assertEqual((refused.status, refused.json["code"]), (409, "unsupported"), refused)
        daemon.call("DELETE", f"/v1/sandboxes/{box}")
        for user in ("worker", "1234"):
            told = atoll("run", "--driver", self.name, "--template", f"tiny:{user}", "--", "id", code=125)
            self.assertIn(f"{self.name} cannot run as user {user}, who is 1234 in the template: every command is user 1000 there", told)
            self.assertIn("native and gvisor can", told)
            # What is asked for goes before what the image says.
            self.assertEqual(atoll("run", "--driver", self.name, "--template", f"tiny:{user}", "-u", "1000", "--", "id", "-u"), "1000\n")
        self.remove_templates(atoll, "tiny:agent", "tiny:worker", "tiny:1234")

    def remove_templates(self, atoll, *names):
        for name in names:
            atoll("template", "rm", name)
        wait_until(lambda: not self.engine.images_named("atoll-template:"), "the images of templates go", 90)

    def test_places_in_memory_begin_empty_whatever_the_image_has_there(self):
        changes = urllib.parse.quote("VOLUME /volume")
        with open(tiny_image(self.place, "agent"), "rb") as whole, tarfile.open(fileobj=whole) as image:
            held = io.BytesIO(image.extractfile("layer.tar").read())
        places = ("workspace", "home/user", "tmp", "run", "var/tmp", "volume")
        with tarfile.open(fileobj=held, mode="a") as layer:
            for place in (*places, "srv"):
                entry = tarfile.TarInfo(f"{place}/of-the-image")
                entry.size = 4
                layer.addfile(entry, io.BytesIO(b"left"))
        status, text = self.engine.ask("POST", f"/v1.41/images/create?fromSrc=-&repo=localhost%2Ffull:1&changes={changes}", held.getvalue(),
                                       {"Content-Type": "application/x-tar"})
        self.assertEqual(status, 200, text)
        self.assertNotIn(b"error", text)
        name = "localhost/full:1"
        self.addCleanup(self.engine.ask, "DELETE", f"/v1.41/images/{name}?force=1")
        done = subprocess.run([ATOLL, "run", "--driver", self.name, "--image", name, "--", "sh", "-c",
                               "for at in " + " ".join(f"/{place}" for place in (*places, "srv")) + "; do cat $at/of-the-image 2>/dev/null && printf ' %s ' $at; done; true"],
                              capture_output=True, text=True, timeout=120, env=self.environment())
        self.assertEqual(done.stdout, "left /srv ", done)

    def test_a_sandbox_of_a_template_is_made_anew(self):
        daemon = self.daemon()
        atoll = self.speaks_to(daemon)
        atoll("template", "add", "tiny", tiny_image(self.place, "agent"))
        for driver in (self.name, "native"):
            box = daemon.create(driver=driver, template="tiny", env={"MINE": "1"})
            daemon.exec(box, "sh", "-c", "echo secret > /workspace/left; echo secret > $HOME/left")
            # Whatever its name stands for now.
            atoll("template", "add", "tiny", tiny_image(self.place, "worker"))
            answer = daemon.call("POST", f"/v1/sandboxes/{box}/reset", {"env": {"OTHER": "2"}})
            self.assertEqual(answer.status, 200, answer)
            told = daemon.exec(box, "sh", "-c", "cat /workspace/left $HOME/left; echo $MINE $OTHER $COLOUR; cat /home/agent/.profile; id -un")
            self.assertEqual(told["stdout"], "2 blue\n# of the image\nagent\n", told)
            atoll("template", "rollback", "tiny")
            daemon.call("DELETE", f"/v1/sandboxes/{box}")
        self.remove_templates(atoll, "tiny")

    def test_how_far_an_image_is_is_told(self):
        hung = HungRegistry(self.engine, 5010)
        self.addCleanup(hung.stop)
        daemon = self.daemon(ATOLL_PULL_TIMEOUT="3")
        environment = {**self.environment(ATOLL_PULL_TIMEOUT="3"), "TERM": "xterm"}
        create = [ATOLL, "--state", daemon.state, "create", "--driver", self.name, "--image", f"{hung.address}/x:1"]
        run = ["run", "--driver", self.name, "--image", f"{hung.address}/x:1", "--", "true"]
        for words in (create, [ATOLL, "--state", daemon.state, *run], [ATOLL, *run]):
            with self.subTest(words=words), Terminal(words, env=environment) as terminal:
                terminal.expect("fetching the image", 60)
                terminal.expect("hangs", 60)
                self.assertEqual(terminal.wait(), 125)
        told = [event for event in daemon.call("GET", "/v1/events").json["events"] if event["type"] == "sandbox.progress"]
        self.assertEqual(len(told), 2, told)
        self.assertEqual(self.speaks_to(daemon)("events", "--once").count("  pull 0 of an unknown number of bytes\n"), 2)
        for event in told:
            self.assertEqual((event["state"], event["progress"]), ("starting", {"stage": "pull", "done": 0, "total": 0}))


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
