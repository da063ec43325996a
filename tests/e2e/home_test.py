"""A home of another name: the profile `agent` lives in /home/agent on every driver that has a root of its own, and nothing loses that."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from chroot_test import make_tree
from engines import Engine, lacking
from live import Daemon, wait_until

LIBEXEC = {"ATOLL_LIBEXEC": os.environ["ATOLL_LIBEXEC"]} if "ATOLL_LIBEXEC" in os.environ else {}
OWN = "native" if os.geteuid() == 0 else "rootless"
MUST_RUN = os.environ.get("ATOLL_MUST_RUN") == "1"
SMALL = {"memory_mb": 512, "disk_mb": 64}
TELL = 'echo "$HOME"; pwd; cd; pwd; stat -c %u .; touch own && echo mine'
PROFILES = """
profiles:
  lives: {home: /home/agent, workdir: /home/agent, min_isolation: container}
  other: {home: /home/other, min_isolation: container}
  ready: {inherits: lives, drivers: [DRIVER], fallback: [], pool: {min: 1, max: 1}}
"""


class Cases:
    """What holds on every driver; `name` is the driver's."""

    snapshots = False
    profile = "lives"  # `agent` has a limit that not every driver has

    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="atoll-e2e-"))
        self.addCleanup(shutil.rmtree, self.place)
        (self.place / "own.yaml").write_text(PROFILES.replace("DRIVER", self.name))
        os.chmod(self.place, 0o755)
        self.daemon = Daemon(arguments=["--profiles", str(self.place / "own.yaml")])
        self.addCleanup(self.daemon.end)
        self.resume()

    def resume(self):
        self.daemon.start(env={**LIBEXEC, **self.environment()})

    def environment(self):
        return {}

    def create(self, **more):
        return self.daemon.create(**{"profile": self.profile, "driver": self.name, "resources": SMALL, "ttl_s": 600, **more})

    def ask(self, status, method, path, body=None):
        answer = self.daemon.call(method, path, body)
        self.assertEqual(answer.status, status, answer)
        return answer

    def sh(self, box, script, **more):
        done = self.daemon.exec(box, "sh", "-c", script, **more)
        self.assertEqual(done["exit_code"], 0, done)
        return done["stdout"]

    def lives_there(self, box):
        self.assertEqual(self.sh(box, TELL), "/home/agent\n/home/agent\n/home/agent\n1000\nmine\n")

    def test_it_lives_and_works_there_also_with_another_daemon(self):
        box = self.create()
        self.lives_there(box)
        self.sh(box, "echo kept > ~/note; ln -s note ~/link")
        self.assertEqual(self.ask(200, "GET", f"/v1/sandboxes/{box}/files?path=/home/agent/note").body, b"kept\n")
        self.ask(200, "PUT", f"/v1/sandboxes/{box}/files?path=/home/agent/sent", b"sent\n")
        self.assertEqual(self.sh(box, "cat sent"), "sent\n")
        self.daemon.terminate()
        self.resume()
        self.lives_there(box)
        self.assertEqual(self.sh(box, "cat note link"), "kept\nkept\n")

    def test_a_reset_and_a_stop_leave_it_where_it_is_also_with_another_daemon(self):
        box = self.create()
        self.sh(box, "echo old > ~/note")
        self.daemon.terminate()
        self.resume()
        self.ask(200, "POST", f"/v1/sandboxes/{box}/stop", {})
        self.ask(200, "POST", f"/v1/sandboxes/{box}/start", {})
        self.lives_there(box)
        self.ask(200, "POST", f"/v1/sandboxes/{box}/reset", {})
        self.lives_there(box)
        self.assertEqual(self.sh(box, "ls -A"), "own\n")

    def test_one_of_a_pool_and_a_run_have_it_too(self):
        wait_until(lambda: self.ask(200, "GET", "/v1/pools/ready@1").json["ready"] == 1, "one is ready", 60)
        made = self.ask(201, "POST", "/v1/sandboxes", {"profile": "ready"}).json
        self.daemon.made.add(made["id"])
        self.daemon.made |= {one["id"] for one in self.ask(200, "GET", "/v1/sandboxes?tenant=*").json["sandboxes"]}
        self.assertIn("pool", [stage["name"] for stage in made["stages"]])
        self.lives_there(made["id"])
        run = {"sandbox": {"profile": self.profile, "driver": self.name, "resources": SMALL}, "exec": {"argv": ["sh", "-c", TELL]}}
        for _ in range(3):  # the later ones may be of those that were made ahead
            self.assertEqual(self.ask(200, "POST", "/v1/runs", run).json["stdout"].splitlines()[:3], ["/home/agent"] * 3)

    def test_a_snapshot_and_a_fork_keep_it_and_another_home_is_refused(self):
        box = self.create()
        if not self.snapshots:
            self.ask(409, "POST", f"/v1/sandboxes/{box}/snapshots", {})
            return
        self.sh(box, "echo kept > ~/note; echo work > /workspace/note")
        kept = self.ask(201, "POST", f"/v1/sandboxes/{box}/snapshots", {}).json["id"]
        self.daemon.terminate()
        self.resume()
        for profile in ("lives", "none"):
            again = self.create(snapshot=kept, profile=profile)
            self.assertEqual(self.sh(again, 'echo "$HOME"; cat ~/note /workspace/note', cwd="/home/agent"), "/home/agent\nkept\nwork\n")
        refused = self.ask(400, "POST", "/v1/sandboxes", {"profile": "other", "snapshot": kept}).json
        self.assertIn("whose home is /home/agent", refused["detail"])
        forked = self.ask(201, "POST", f"/v1/sandboxes/{box}/fork", {"count": 1}).json["sandboxes"][0]["id"]
        self.daemon.made.add(forked)
        self.assertEqual(self.sh(forked, 'echo "$HOME"; pwd; cat note'), "/home/agent\n/home/agent\nkept\n")


class OfOurOwn(Cases):
    def test_everybody_is_told_so_and_the_usual_name_leads_there(self):
        box = self.create()
        self.assertEqual(self.sh(box, "grep ^user: /etc/passwd; readlink /home/user; ls /home"),
                         "user:x:1000:1000:user:/home/agent:/bin/bash\nagent\nagent\nuser\n")
        self.assertEqual(self.sh(box, "touch /home/x 2>/dev/null || ln -sfn /etc /home/user 2>/dev/null || echo fixed"), "fixed\n")
        if self.name != "rootless":
            self.assertEqual(self.sh(box, 'echo "$HOME"', user="root"), "/root\n")

    def test_in_a_template_it_is_made_or_what_it_has_stays(self):
        for has in (False, True):
            with self.subTest(has=has):
                tree = make_tree(self.place / f"tree-{has}")
                if has:
                    (tree / "home/agent").mkdir(parents=True)
                    (tree / "home/agent/brought").write_text("of the template\n")
                    (tree / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/sh\n")
                packed = subprocess.run(["tar", "-C", tree, "-c", "."], check=True, capture_output=True).stdout
                self.ask(201, "PUT", f"/v1/templates/{str(has).lower()}", packed)
                box = self.create(template=str(has).lower())
                self.assertEqual(self.sh(box, 'echo "$HOME"; pwd; echo kept > ~/note; cat note'), "/home/agent\n/home/agent\nkept\n")
                if has:
                    self.assertEqual(self.sh(box, "cat ~/brought"), "of the template\n")
                if self.snapshots:
                    kept = self.ask(201, "POST", f"/v1/sandboxes/{box}/snapshots", {}).json["id"]
                    again = self.create(template=str(has).lower(), snapshot=kept)
                    self.assertEqual(self.sh(again, "cat ~/note"), "kept\n")


class Native(OfOurOwn, unittest.TestCase):
    name, profile = OWN, "agent"


@unittest.skipIf((lacking("runsc") or os.geteuid() != 0) and not MUST_RUN, "gvisor needs runsc and root here")
class Gvisor(OfOurOwn, unittest.TestCase):
    name = "gvisor"
    snapshots = True

    def test_memory_keeps_it(self):
        box = self.create()
        self.sh(box, "echo kept > ~/note")
        kept = self.ask(201, "POST", f"/v1/sandboxes/{box}/snapshots", {"kind": "memory"}).json["id"]
        again = self.create(snapshot=kept)
        self.assertEqual(self.sh(again, "pwd; cat note"), "/home/agent\nkept\n")


class Engines(Cases):
    snapshots = True

    @classmethod
    def setUpClass(cls):
        if lacking(cls.name) and not MUST_RUN:
            raise unittest.SkipTest(f"no {cls.name} here: {lacking(cls.name)}")
        cls.engine = Engine(cls.name).start()

    @classmethod
    def tearDownClass(cls):
        left = cls.engine.stop()
        assert not left, f"{cls.name} has left: {left}"

    def environment(self):
        return self.engine.environment

    def tearDown(self):
        for snapshot in self.daemon.call("GET", "/v1/snapshots").json["snapshots"]:
            self.daemon.call("DELETE", f"/v1/snapshots/{snapshot['id']}")


class Docker(Engines, unittest.TestCase):
    name = "docker"


class Podman(Engines, unittest.TestCase):
    name = "podman"


if __name__ == "__main__":
    unittest.main()
