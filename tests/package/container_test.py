"""The container image: built from the recipe, run, used, stopped."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from live import wait_until
from packages import make_bare_root, only, packed

RECIPE = pathlib.Path(__file__).resolve().parent.parent.parent / "deploy/Containerfile"
# Everything is in a directory of ours: neither other people's images nor their containers are seen or touched.
CONFIG = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
netns = "host"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


@unittest.skipUnless(shutil.which("podman") and shutil.which("runc") and os.geteuid() == 0,
                     "needs the packages podman and runc, and root")
class Container(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="atoll-podman-")))
        (cls.directory / "containers.conf").write_text(CONFIG)
        (cls.directory / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
        cls.addClassCleanup(cls.try_podman, "rm", "--all", "--force", "--time", "5")
        base = cls.directory / "base"
        base.mkdir()
        make_bare_root(base)
        cls.podman("import", "-", "localhost/bare", input=subprocess.run(
            ["tar", "-C", base, "-c", "."], check=True, stdout=subprocess.PIPE).stdout)
        with packed() as packages:
            context = cls.directory / "context"
            context.mkdir()
            shutil.copy(only(packages, "*.tar.gz"), context)
            cls.podman("build", "--build-arg", "BASE=localhost/bare", "--tag", "localhost/atoll", "--file", RECIPE, context,
                       timeout=300)

    @classmethod
    def try_podman(cls, *arguments, timeout=120, stderr=subprocess.PIPE, **more):
        places = [f"--{name}={cls.directory / name}" for name in ("root", "runroot", "tmpdir")]
        environment = {**os.environ, "CONTAINERS_CONF": str(cls.directory / "containers.conf")}
        command = ["podman", *places, "--storage-driver=vfs", "--runtime=runc", *map(str, arguments)]
        return subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=stderr, timeout=timeout, **more)

    @classmethod
    def podman(cls, *arguments, **more):
        done = cls.try_podman(*arguments, **more)
        assert done.returncode == 0, (arguments, done.stdout.decode(), done.stderr.decode())
        return done.stdout.decode()

    def start(self, *flags):
        name = self.id().split(".")[-1]
        self.podman("run", "--detach", "--name", name, *flags, "localhost/atoll", "serve", "--listen", "127.0.0.1:0",
                    "--state", "/var/lib/atoll")
        log = wait_until(lambda: self.ready_line(name), "the daemon in the container serves", 60)
        self.assertEqual(json.loads(log)["user"], "atoll", log)
        return name

    def ready_line(self, name):
        log = self.try_podman("logs", name, stderr=subprocess.STDOUT).stdout.decode()
        return next((line for line in log.splitlines() if '"msg":"ready"' in line), None)

    def test_privileged_it_makes_native_sandboxes(self):
        name = self.start("--privileged", "--cgroupns=private")
        result = json.loads(self.podman("exec", name, "atoll", "run", "--json", "--min-isolation", "container", "--", "echo",
                                        "hello"))
        self.assertEqual((result["stdout"], result["driver"]), ("hello\n", "native"), result)
        box = self.podman("exec", name, "atoll", "create").strip()
        self.assertEqual(self.podman("exec", name, "atoll", "exec", box, "--", "echo", "inside"), "inside\n")
        # As `podman stop` does it: in order, in time, sandboxes included.
        self.podman("stop", "--time", "30", name)
        self.assertEqual(self.podman("inspect", "--format", "{{.State.ExitCode}}", name), "0\n")

    def test_without_rights_it_says_what_is_missing(self):
        name = self.start()
        done = self.try_podman("exec", name, "atoll", "run", "--min-isolation", "container", "--", "echo", "hello")
        self.assertEqual(done.returncode, 125, done)
        self.assertIn(b"hint", done.stderr)
        told = self.podman("exec", name, "atoll", "run", "--driver", "subprocess", "--", "echo", "hello")
        self.assertEqual(told, "hello\n")


if __name__ == "__main__":
    unittest.main()
