"""What only a profile opens: a network, the engine's socket, directories of the host. With real engines."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

from engines import BRIDGE_ADDRESS, Engine, lacking
from live import ATOLL, Daemon, wait_until

LIBEXEC = {"ATOLL_LIBEXEC": os.environ["ATOLL_LIBEXEC"]} if "ATOLL_LIBEXEC" in os.environ else {}
PORT = 8099
ASK = f"exec 3<>/dev/tcp/{BRIDGE_ADDRESS}/{PORT} && cat <&3"
PROFILES = """
profiles:
  open: {drivers: [%(driver)s], fallback: [], min_isolation: container, network: bridge}
  ruler: {drivers: [%(driver)s], fallback: [], allow_docker_socket: true}
  data: {drivers: [%(driver)s], fallback: [], min_isolation: container, mount_roots: [%(root)s]}
"""


class Cases:
    """What holds for both engines."""

    driver = None

    @classmethod
    def setUpClass(cls):
        cls.engine = Engine(cls.driver, has_bridge=True).start()
        cls.place = tempfile.mkdtemp(prefix="atoll-e2e-")
        os.chmod(cls.place, 0o755)
        for name in ("shown", "hidden"):
            os.mkdir(f"{cls.place}/{name}")
            with open(f"{cls.place}/{name}/word", "w") as file:
                file.write(f"{name} word\n")
        with open(f"{cls.place}/profiles.yaml", "w") as file:
            file.write(PROFILES % {"driver": cls.driver, "root": f"{cls.place}/shown"})
        cls.daemon = Daemon(arguments=["--profiles", f"{cls.place}/profiles.yaml"])
        cls.daemon.start(env={**LIBEXEC, **cls.engine.environment})
        # Somebody in the engine's own network namespace, on the address of its bridge.
        listen = f"import socket; s = socket.create_server(('{BRIDGE_ADDRESS}', {PORT})); print(flush=True)\n" \
                 "while True:\n c, _ = s.accept()\n c.sendall(b'reached\\n')\n c.close()"
        cls.server = subprocess.Popen(["nsenter", f"--net=/proc/{cls.engine.process.pid}/ns/net", "python3", "-c", listen],
                                      stdout=subprocess.PIPE)
        assert cls.server.stdout.readline() == b"\n", "nobody listens"

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()
        cls.server.wait()
        cls.server.stdout.close()
        cls.daemon.end()
        left = cls.engine.stop()
        shutil.rmtree(cls.place)
        assert not left, f"{cls.driver} has left: {left}"

    def box(self, **asked):
        box = self.daemon.create(**asked)
        self.addCleanup(self.daemon.call, "DELETE", f"/v1/sandboxes/{box}")
        return box

    def setUp(self):
        # Cleanups run backwards: last of all.
        self.addCleanup(wait_until, lambda: not self.engine.containers(), "no container is left")

    def refused(self, status, words, **asked):
        answer = self.daemon.call("POST", "/v1/sandboxes", asked)
        self.assertEqual(answer.status, status, answer)
        self.assertIn(words, answer.json["detail"] + " " + answer.json.get("hint", ""))

    def test_a_network_is_there_where_the_profile_allows_it_and_nowhere_else(self):
        box = self.box(profile="open")
        self.assertEqual(self.daemon.call("GET", f"/v1/sandboxes/{box}").json["network"], "bridge")
        self.assertEqual(self.daemon.exec(box, "bash", "-c", ASK)["stdout"], "reached\n")
        shut = self.box(profile="open", network="none")
        self.assertNotIn("network", self.daemon.call("GET", f"/v1/sandboxes/{shut}").json)
        self.assertNotEqual(self.daemon.exec(shut, "bash", "-c", ASK)["exit_code"], 0)
        plain = self.box(driver=self.driver)
        self.assertNotEqual(self.daemon.exec(plain, "bash", "-c", ASK)["exit_code"], 0)

    def test_the_rest_of_the_hardening_holds_with_a_network(self):
        box = self.box(profile="open")
        host = json.loads(self.engine.ask("GET", f"/v1.41/containers/atoll-{box}/json")[1])["HostConfig"]
        self.assertEqual((host["NetworkMode"], host["ReadonlyRootfs"], host["Privileged"]), ("bridge", True, False))
        told = self.daemon.exec(box, "grep", "-E", "^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):", "/proc/self/status")["stdout"].split()
        self.assertEqual(told, ["CapInh:", "0" * 16, "CapPrm:", "0" * 16, "CapEff:", "0" * 16, "CapBnd:", "0" * 16, "CapAmb:", "0" * 16,
                                "NoNewPrivs:", "1", "Seccomp:", "2"])

    def test_nobody_opens_a_network_without_a_profile(self):
        self.refused(403, "takes a profile that allows it", driver=self.driver, network="bridge")
        self.refused(403, "takes a profile that allows it", profile="data", network="bridge")
        self.refused(409, "native cannot give a sandbox a network", profile="open", driver="native")

    def test_a_network_outlives_a_reset_and_the_daemon(self):
        box = self.box(profile="open")
        self.assertEqual(self.daemon.call("POST", f"/v1/sandboxes/{box}/reset").status, 200)
        self.assertEqual(self.daemon.exec(box, "bash", "-c", ASK)["stdout"], "reached\n")
        self.daemon.kill()
        self.daemon.start(env={**LIBEXEC, **self.engine.environment})
        self.assertEqual(self.daemon.call("GET", f"/v1/sandboxes/{box}").json["network"], "bridge")
        self.assertEqual(self.daemon.exec(box, "bash", "-c", ASK)["stdout"], "reached\n")

    def test_directories_lie_below_the_roots_of_the_profile(self):
        box = self.box(profile="data", host_dirs=[{"path": f"{self.place}/shown", "guest_path": "/data"}])
        self.assertEqual(self.daemon.exec(box, "cat", "/data/word")["stdout"], "shown word\n")
        self.assertNotEqual(self.daemon.exec(box, "touch", "/data/new")["exit_code"], 0)
        self.refused(403, "lies below none of the mount_roots", profile="data", host_dirs=[{"path": f"{self.place}/hidden"}])
        self.refused(409, "ATOLL_ENGINE_MOUNT_ROOTS", driver=self.driver, host_dirs=[{"path": f"{self.place}/shown"}])
        had = sorted(os.listdir(f"{self.place}/shown"))
        for target in ("/opt", "/opt/atoll", "/sys", "/proc", "/dev", "/etc", "/home"):
            self.refused(400, f"nothing can be shown at {target}", profile="data",
                         host_dirs=[{"path": f"{self.place}/shown", "guest_path": target}])
        self.assertEqual(sorted(os.listdir(f"{self.place}/shown")), had)

    def test_the_command_line_says_the_same(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ATOLL_", "DOCKER_", "CONTAINER_"))}
        environment = {**kept, **LIBEXEC, **self.engine.environment, "ATOLL_STATE": "/nonexistent/atoll", "XDG_RUNTIME_DIR": self.place}

        def run(*words):
            return subprocess.run([ATOLL, "run", *words, "--", "bash", "-c", ASK], capture_output=True, text=True, timeout=120, env=environment)

        done = run("--profiles", f"{self.place}/profiles.yaml", "--profile", "open")
        self.assertEqual((done.stdout, done.returncode), ("reached\n", 0), done.stderr)
        done = run("--driver", self.driver, "--network", "bridge")
        self.assertEqual(done.returncode, 126, done.stderr)
        self.assertIn("takes a profile that allows it", done.stderr)


class Docker(Cases, unittest.TestCase):
    driver = "docker"

    def test_the_socket_is_there_where_the_profile_allows_it_and_counts_as_no_isolation(self):
        box = self.box(profile="ruler")
        self.assertEqual(self.daemon.call("GET", f"/v1/sandboxes/{box}").json["isolation"], "none")
        self.assertEqual(self.daemon.exec(box, "stat", "-c", "%F", "/var/run/docker.sock")["stdout"], "socket\n")
        self.assertEqual(self.daemon.exec(box, "test", "-w", "/var/run/docker.sock")["exit_code"], 0)
        plain = self.box(driver=self.driver)
        self.assertNotEqual(self.daemon.exec(plain, "test", "-e", "/var/run/docker.sock")["exit_code"], 0)
        self.refused(409, "docker offers none, container was asked", profile="ruler", min_isolation="container")


class Podman(Cases, unittest.TestCase):
    driver = "podman"

    def test_its_socket_is_never_there(self):
        """It is open to its owner alone, who the sandbox's user is not."""
        answer = self.daemon.call("POST", "/v1/sandboxes", {"profile": "ruler"})
        self.assertEqual(answer.status // 100, 4, answer)
        self.assertEqual(self.engine.containers(), [])


def setUpModule():
    missing = lacking("docker") or lacking("podman") or lacking("bridge") or lacking("tls")
    if missing and os.environ.get("ATOLL_MUST_RUN") == "1":
        raise AssertionError(f"ATOLL_MUST_RUN is set, and this host lacks: {missing}")
    if missing:
        raise unittest.SkipTest(f"this host lacks: {missing}")


if __name__ == "__main__":
    unittest.main()
