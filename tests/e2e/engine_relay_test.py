"""Containers whose agent cannot call: behind gVisor's kernel, and on an engine that is reached over TCP and TLS. Real engines."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from engine_proxy import EngineProxy
from engines import Engine, add_python, lacking
from live import ATOLL, Daemon, wait_until
from terminal import Terminal

LIBEXEC = {"ATOLL_LIBEXEC": os.environ["ATOLL_LIBEXEC"]} if "ATOLL_LIBEXEC" in os.environ else {}


ECHO = "import socket; s = socket.create_server(('127.0.0.1', 3000))\nwhile True:\n c, _ = s.accept()\n c.sendall(c.recv(99).upper())\n c.close()"


class Cases:
    """What holds for all; `flags` and `wish` ask for such a sandbox."""

    driver = "docker"
    engine_is = {}

    @classmethod
    def setUpClass(cls):
        cls.engine = Engine(cls.driver, more=add_python, **cls.engine_is).start()

    @classmethod
    def tearDownClass(cls):
        # The engine forgets a container first, and its volumes a moment later.
        volumes = lambda: json.loads(cls.engine.ask("GET", "/v1.41/volumes")[1]).get("Volumes") or []
        try:
            wait_until(lambda: not volumes(), "its volumes are gone")
        finally:
            kept = [f"volume {one['Name']}" for one in volumes()]
            left = cls.engine.stop() + kept
        assert not left, f"{cls.driver} has left: {left}"

    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="atoll-e2e-")
        self.addCleanup(shutil.rmtree, self.place)

    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ATOLL_", "DOCKER_", "CONTAINER_"))}
        return {**kept, **LIBEXEC, "ATOLL_STATE": "/nonexistent/atoll", "XDG_RUNTIME_DIR": self.place, **self.engine.environment, **more}

    def run_in(self, *command, flags=(), stdin="", **more):
        return subprocess.run([*self.engine.inside, ATOLL, "run", "--driver", self.driver, *self.flags, *flags, "--", *command], input=stdin,
                              capture_output=True, text=True, timeout=120, env=self.environment(**more))

    def daemon(self):
        daemon = Daemon(before=self.engine.inside)
        daemon.start(env=self.environment())
        self.addCleanup(daemon.end)
        return daemon

    def restart(self, daemon):
        daemon.kill()
        daemon.start(env=self.environment())

    def inspect(self, box):
        return json.loads(self.engine.ask("GET", f"/v1.41/containers/atoll-{box}/json")[1])

    def processes_inside(self):
        """As the engine sees them, for who wants to know why something hangs."""
        return [self.engine.ask("GET", f"/v1.41/containers/{one['Id']}/top")[1] for one in self.engine.containers()]

    def interrupt(self, terminal):
        """As people do: who sees no prompt presses the keys again. How often, and what runs there then, is told."""
        for presses in range(1, 4):
            terminal.type("\x03")
            try:
                terminal.expect("$", 20)
                return
            except AssertionError as trouble:
                print(f"figure: Ctrl-C on {self.driver} was pressed {presses} times without a prompt: {trouble}; in the sandbox are "
                      f"{self.processes_inside()}", flush=True)
        self.fail("Ctrl-C, pressed three times, brings no prompt")

    def no_containers(self):
        wait_until(lambda: not self.engine.containers(), "no container is left")

    def remove(self, daemon, box):
        self.assertEqual(daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)
        self.no_containers()

    def test_a_command_reads_writes_and_ends_and_nothing_is_left(self):
        done = self.run_in("sh", "-c", "cat; echo trouble >&2; exit 3", flags=["-i"], stdin="hello\n" * 50_000)
        self.assertEqual((done.stdout == "hello\n" * 50_000, done.stderr, done.returncode), (True, "trouble\n", 3), done.stderr[-500:])
        done = self.run_in("sh", "-c", "dd if=/dev/zero bs=1000 count=20000 2>/dev/null")
        self.assertEqual((len(done.stdout), done.returncode), (20_000_000, 0))
        self.no_containers()

    def test_a_terminal(self):
        command = [*self.engine.inside, ATOLL, "run", "-it", "--driver", self.driver, *self.flags, "--", "sh"]
        command[0] = shutil.which(command[0])
        with Terminal(command, env=self.environment()) as terminal:
            terminal.expect("$", 60)
            terminal.type("test -t 0 && echo a ter''minal\n")
            terminal.expect("a terminal")
            # What it says itself shows that the terminal is the command's; before that, the key would be the shell's.
            terminal.type("sh -c 'echo as\"\"leep; exec sleep 1000'\n")
            terminal.expect("asleep")
            self.interrupt(terminal)
            terminal.type("exit 5\n")
            self.assertEqual(terminal.wait(), 5)
        self.no_containers()

    def test_a_port(self):
        daemon = self.daemon()
        box = daemon.create(**self.wish)
        daemon.start_process(box, "python3", "-c", ECHO)

        def answered():
            with contextlib.closing(daemon.connection(timeout=30)) as connection:
                connection.request("GET", f"/v1/sandboxes/{box}/ports/3000", headers={"Upgrade": "tcp", "Connection": "Upgrade"})
                wire = connection.sock
                if connection.getresponse().status != 101:
                    return None
                wire.sendall(b"hello")
                return wire.recv(99)

        self.assertEqual(wait_until(answered, "the port answers", 60), b"HELLO")
        self.remove(daemon, box)

    def test_files(self):
        daemon = self.daemon()
        box = daemon.create(**self.wish)
        content = os.urandom(3_000_000)
        self.assertEqual(daemon.call("PUT", f"/v1/sandboxes/{box}/files?path=in", content).status // 100, 2)
        daemon.exec(box, "cp", "in", "out")
        self.assertEqual(daemon.call("GET", f"/v1/sandboxes/{box}/files?path=out").body, content)
        self.remove(daemon, box)

    def test_a_stop_ends_commands_and_spares_the_way_to_the_agent(self):
        daemon = self.daemon()
        box = daemon.create(**self.wish)
        process = daemon.start_process(box, "sh", "-c", "echo kept > file; sleep 1000")["process"]
        wait_until(lambda: daemon.call("GET", f"/v1/sandboxes/{box}/files?path=file").body == b"kept\n", "the command has begun")
        self.assertEqual(daemon.call("POST", f"/v1/sandboxes/{box}/stop").status // 100, 2)
        self.assertEqual(daemon.call("POST", f"/v1/sandboxes/{box}/start").status // 100, 2)
        rows = {one["process"]: one for one in daemon.call("GET", f"/v1/sandboxes/{box}/processes").json["processes"]}
        self.assertEqual((rows[process]["running"], rows[process]["exit"]["reason"]), (False, "killed"), rows)
        self.assertEqual(daemon.exec(box, "cat", "file")["stdout"], "kept\n")
        self.remove(daemon, box)

    def test_a_killed_daemon_takes_its_sandboxes_up_again(self):
        daemon = self.daemon()
        box = daemon.create(env={"COLOUR": "green"}, **self.wish)
        process = daemon.start_process(box, "sh", "-c", "echo before; until [ -e go ]; do sleep 0.05; done; echo after $COLOUR")["process"]
        self.restart(daemon)
        daemon.exec(box, "touch", "go")
        told = list(daemon.events(box, process))
        self.assertEqual("".join(event.get("data", "") for event in told), "before\nafter green\n", told)
        # The relay of the one before is gone with it: the agent, what looks, and the newest relay.
        counted = "ls -d /proc/[0-9]*" if self.engine.runsc else "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -x relay"
        wait_until(lambda: len(daemon.exec(box, "sh", "-c", counted)["stdout"].split()) <= (5 if self.engine.runsc else 1), "one relay", 10)
        self.remove(daemon, box)

    def test_the_guest_cannot_speak_to_the_agent_nor_keep_others_from_it(self):
        daemon = self.daemon()
        box = daemon.create(**self.wish)
        # It is greeted, is not heard without the token, and is sent away.
        said = daemon.exec(box, "sh", "-c", "mkfifo /tmp/silence; exec 3<>/tmp/silence; yes | head -c 100 >&3;"
                           " timeout 20 /opt/atoll/agent relay <&3 | head -c 1; echo")["stdout"]
        self.assertEqual(said, "a\n")
        daemon.start_process(box, "sh", "-c", "exec 3<>/tmp/silence;"
                             " for i in $(seq 80); do /opt/atoll/agent relay <&3 > /tmp/$i & done; wait")
        # Each is greeted; more than the agent takes at once.
        wait_until(lambda: int(daemon.exec(box, "sh", "-c", "cat /tmp/[0-9]* | tr -dc a | wc -c")["stdout"]) >= 70, "they have come")
        self.restart(daemon)
        self.assertEqual(daemon.exec(box, "printf", "fine")["stdout"], "fine")
        self.remove(daemon, box)

    def test_an_expiry_holds_while_the_daemon_is_away(self):
        daemon = self.daemon()
        daemon.create(ttl_s=4, **self.wish)
        daemon.kill()
        self.no_containers()
        daemon.start(env=self.environment())

    def test_an_expiry_can_be_put_off(self):
        daemon = self.daemon()
        box = daemon.create(ttl_s=5, **self.wish)
        self.assertEqual(daemon.call("POST", f"/v1/sandboxes/{box}/renew", {"ttl_s": 3600}).status // 100, 2)
        daemon.kill()
        with self.assertRaises(AssertionError):
            wait_until(lambda: not self.engine.containers(), "its first time is over", 7)
        daemon.start(env=self.environment())
        self.assertEqual(daemon.exec(box, "printf", "fine")["stdout"], "fine")
        self.remove(daemon, box)

    def test_a_killed_run_leaves_no_container(self):
        process = subprocess.Popen([*self.engine.inside, ATOLL, "run", "--driver", self.driver, *self.flags, "--", "sh", "-c", "echo up; sleep 1000"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=self.environment())
        self.assertEqual(process.stdout.readline(), b"up\n")
        # One that showed what the runtime is may be on its way out.
        wait_until(lambda: len(self.engine.containers()) == 1, "its container is the only one")
        process.kill()
        process.wait()
        process.stdout.close()
        self.no_containers()

    def test_the_container_is_hardened(self):
        daemon = self.daemon()
        box = daemon.create(**self.wish)
        host = self.inspect(box)["HostConfig"]
        self.assertEqual((host["NetworkMode"], host["ReadonlyRootfs"], host["Privileged"]), ("none", True, False))
        if self.driver == "docker":
            self.assertEqual(host["CapDrop"], ["ALL"])
        else:  # which tells each by its name
            self.assertLessEqual({"CHOWN", "DAC_OVERRIDE", "MKNOD", "NET_RAW", "SETFCAP", "SETUID", "SYS_CHROOT"}, set(host["CapDrop"]))
        seen = daemon.exec(box, "sh", "-c", "id -u; for p in /x /opt/atoll/x /opt/atoll/agent; do echo x 2>/dev/null > $p && echo wrote $p; done;"
                           " rm -f /opt/atoll/agent 2>/dev/null; echo $PPID")["stdout"].split()
        self.assertEqual(seen, ["1000", "1"])
        self.remove(daemon, box)


class Runsc(Cases, unittest.TestCase):
    """gVisor as a runtime of the engine's."""

    engine_is = {"runsc": True}
    flags = ["--runtime", "runsc", "--min-isolation", "sentry"]
    wish = {"driver": "docker", "runtime": "runsc", "min_isolation": "sentry"}

    def test_the_level_is_what_was_seen(self):
        daemon = self.daemon()
        box = daemon.create(**self.wish)
        self.assertEqual(daemon.call("GET", f"/v1/sandboxes/{box}").json["isolation"], "sentry")
        self.assertIn("4.4.0", daemon.exec(box, "uname", "-r")["stdout"])
        self.remove(daemon, box)
        told = [one for one in daemon.call("GET", "/v1/drivers").json["drivers"] if one["name"] == "docker"][0]["capabilities"]
        levels = {one["name"]: one["isolation"] for one in told["runtimes"]}
        self.assertEqual(levels, {"runc": "container", "runsc": "sentry", "kata": "container"})
        # One that promises more than it is.
        self.assertIn("runtime kata is no more than a container: its containers are in the kernel of the engine's host", told["not_protected"])
        refused = daemon.call("POST", "/v1/sandboxes", {"driver": "docker", "runtime": "runsc", "min_isolation": "vm"})
        self.assertIn("docker offers sentry, vm was asked", refused.json["detail"])

    def test_a_runtime_that_has_become_another_gets_no_sandbox(self):
        """The engine is told nothing of it: every sandbox looks for itself."""
        daemon = self.daemon()
        program = f"{self.engine.root}/runsc"
        with open(program) as file:
            honest = file.read()
        try:
            with open(program, "w") as file:
                file.write('#!/bin/sh\nexec runc "$@"\n')
            refused = daemon.call("POST", "/v1/sandboxes", self.wish)
            self.assertEqual(refused.status, 503, refused)
            self.assertIn("in the host's own kernel, not in a second one", refused.json["detail"])
            self.no_containers()
        finally:
            with open(program, "w") as file:
                file.write(honest)
        self.remove(daemon, daemon.create(**self.wish))

    def test_a_command_that_ends_the_agent_ends_its_sandbox(self):
        """Linux would not let it; gVisor does, and atoll drivers says so."""
        daemon = self.daemon()
        box = daemon.create(**self.wish)
        told = daemon.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["sh", "-c", "kill -9 1; sleep 1000"]})
        # It may be gone before it has said that the command has started.
        self.assertTrue(told.status == 503 or told.json["reason"] == "infra", told)
        wait_until(lambda: daemon.call("GET", f"/v1/sandboxes/{box}").json.get("state") in ("failed", "stopped", None), "its end is known", 10)
        self.no_containers()

    def test_a_limit_that_gvisor_does_not_hold_is_refused(self):
        done = self.run_in("true", flags=["--pids", "10"])
        self.assertEqual(done.returncode, 125)
        self.assertIn("the number of processes behind gVisor's kernel has no limit", done.stderr)


    def test_a_sandbox_that_was_out_of_memory_says_so(self):
        """The second kernel is one process, which the host's kernel ends."""
        daemon = self.daemon()
        box = daemon.create(resources={"memory_mb": 16, "disk_mb": 2048}, **self.wish)
        daemon.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["dd", "if=/dev/zero", "of=/tmp/x", "bs=1M", "count=1000"]}, timeout=120)
        failure = lambda: daemon.call("GET", f"/v1/sandboxes/{box}").json.get("failure")
        self.assertEqual(wait_until(failure, "its end is known", 30), "it was out of memory, and its first process was killed")
        self.no_containers()

    def test_a_resize_leaves_room_for_the_second_kernel(self):
        """Debian's runsc changes no limits, and the engine asks it: the request is seen on its way."""
        proxy = EngineProxy(self.engine).__enter__()
        self.addCleanup(proxy.__exit__)
        daemon = Daemon()
        daemon.start(env=self.environment(**proxy.environment))
        self.addCleanup(daemon.end)
        box = daemon.create(**self.wish)
        seen = []

        def look(exchange):
            seen.append(json.loads(exchange.request.split(b"\r\n\r\n", 1)[1]))
            exchange.send()
            exchange.receive()
            exchange.pass_on()

        proxy.on("POST", "/update", look)
        changed = daemon.call("PATCH", f"/v1/sandboxes/{box}", {"resources": {"memory_mb": 64, "cpu": 512}})
        self.assertEqual(seen, [{"Memory": 320 << 20, "MemorySwap": 320 << 20, "NanoCpus": os.sysconf("SC_NPROCESSORS_ONLN") * 10**9}])
        if changed.status != 200:
            self.assertEqual(changed.status, 409, changed)
            self.assertIn("this gVisor does not change the limits of what runs", changed.json["detail"])
        refused = daemon.call("PATCH", f"/v1/sandboxes/{box}", {"resources": {"pids": 10}})
        self.assertEqual(refused.status, 409, refused)
        self.assertIn("the number of processes behind gVisor's kernel has no limit", refused.json["detail"])
        self.assertEqual(self.inspect(box)["HostConfig"]["PidsLimit"], 8192)
        self.assertEqual(daemon.exec(box, "printf", "fine")["stdout"], "fine")
        self.remove(daemon, box)


class OwnRunsc(Cases, unittest.TestCase):
    """gVisor as the engine's own runtime, which nobody has named."""

    engine_is = {"runsc": True, "own_runtime": "runsc"}
    flags = []
    wish = {"driver": "docker"}

    def test_it_is_behind_the_second_kernel_and_others_are_what_they_are(self):
        daemon = self.daemon()
        box = daemon.create(**self.wish)
        self.assertIn("4.4.0", daemon.exec(box, "uname", "-r")["stdout"])
        self.assertEqual(self.inspect(box)["HostConfig"]["PidsLimit"], 8192)
        self.remove(daemon, box)
        told = [one for one in daemon.call("GET", "/v1/drivers").json["drivers"] if one["name"] == "docker"][0]["capabilities"]
        levels = {one["name"]: one["isolation"] for one in told["runtimes"]}
        self.assertEqual(levels, {"runc": "container", "runsc": "sentry", "kata": "container"})
        # What would be refused is not declared, so that the router takes another driver.
        self.assertEqual((told["limits"]["pids"], told["host_dir_ro"], told["host_dir_rw"], told["host_dir_roots"]), ("none", False, False, False))
        refused = daemon.call("POST", "/v1/sandboxes", {**self.wish, "resources": {"pids": 50}})
        self.assertIn("docker cannot limit pids", refused.json["detail"])


class PodmanRunsc(Cases, unittest.TestCase):
    """gVisor as the runtime of a podman service, which gives its containers no other: nothing to compare it with but this host."""

    driver = "podman"
    engine_is = {"runsc": True, "own_runtime": "runsc"}
    flags = []
    wish = {"driver": "podman"}

    def capabilities(self, daemon):
        return [one for one in daemon.call("GET", "/v1/drivers").json["drivers"] if one["name"] == "podman"][0]["capabilities"]

    def test_the_level_is_what_was_seen(self):
        daemon = self.daemon()
        box = daemon.create(driver="podman", runtime="runsc", min_isolation="sentry")
        self.assertEqual(daemon.call("GET", f"/v1/sandboxes/{box}").json["isolation"], "sentry")
        self.assertIn("4.4.0", daemon.exec(box, "uname", "-r")["stdout"])
        self.remove(daemon, box)
        told = self.capabilities(daemon)
        self.assertEqual({one["name"]: one["isolation"] for one in told["runtimes"]}, {"runsc": "sentry"})
        self.assertEqual((told["limits"]["pids"], told["host_dir_roots"]), ("none", False))
        self.assertIn("memory of processes is not kept: it takes runc as the service's runtime, which is runsc", told["not_protected"])
        refused = daemon.call("POST", "/v1/sandboxes", {"driver": "podman", "runtime": "runsc", "min_isolation": "vm"})
        self.assertIn("podman offers sentry, vm was asked", refused.json["detail"])

    def test_a_run_that_has_named_no_runtime_is_behind_the_second_kernel(self):
        done = self.run_in("uname", "-r")
        self.assertEqual((done.stdout, done.returncode), ("4.4.0\n", 0), done.stderr)
        self.no_containers()

    def test_a_runtime_that_has_become_another_gets_no_sandbox_of_a_service(self):
        daemon = self.daemon()
        self.remove(daemon, daemon.create(**self.wish))
        with self.program("runc"):
            refused = daemon.call("POST", "/v1/sandboxes", self.wish)
            self.assertEqual(refused.status, 503, refused)
            self.assertIn("in the host's own kernel, not in a second one", refused.json["detail"])
            self.no_containers()

    def test_a_runtime_that_only_says_so_is_no_more_than_a_container(self):
        with self.program("runc"):
            daemon = self.daemon()
            box = daemon.create(**self.wish)
            self.assertEqual(daemon.exec(box, "uname", "-r")["stdout"].strip(), os.uname().release)
            self.remove(daemon, box)
            told = self.capabilities(daemon)
            self.assertEqual({one["name"]: one["isolation"] for one in told["runtimes"]}, {"runsc": "container"})
            self.assertIn("runtime runsc is no more than a container: its containers are in the kernel of the engine's host", told["not_protected"])
            refused = daemon.call("POST", "/v1/sandboxes", {"driver": "podman", "runtime": "runsc", "min_isolation": "sentry"})
            self.assertIn("podman offers container, sentry was asked", refused.json["detail"])

    @contextlib.contextmanager
    def program(self, other):
        """What the service calls runsc is another meanwhile."""
        path = f"{self.engine.root}/runsc"
        with open(path) as file:
            honest = file.read()
        try:
            with open(path, "w") as file:
                file.write(f'#!/bin/sh\nexec {other} "$@"\n')
            yield
        finally:
            with open(path, "w") as file:
                file.write(honest)


class Elsewhere(Cases, unittest.TestCase):
    """An engine over TCP, with certificates of both sides."""

    engine_is = {"is_remote": True}
    flags = []
    wish = {"driver": "docker"}

    def refused(self, words, **more):
        done = self.run_in("true", **more)
        self.assertEqual(done.returncode, 125)
        self.assertIn(words, done.stderr)

    def test_what_is_wrong_with_the_way_is_told(self):
        place = f"{self.engine.root}/tls"
        self.refused("certificate", DOCKER_CERT_PATH=f"{place}/distrusts")
        self.refused("do the certificates of DOCKER_CERT_PATH belong to this engine?", DOCKER_CERT_PATH=f"{place}/unknown")
        self.refused(f"there is no {place}/none/cert.pem", DOCKER_CERT_PATH=f"{place}/none")
        self.refused("speaks TLS alone", DOCKER_TLS_VERIFY="")
        self.refused("is another machine, and without TLS", DOCKER_HOST="tcp://192.0.2.1:2375", DOCKER_TLS_VERIFY="")
        self.refused("nobody listens on tcp://127.0.0.1:2399", DOCKER_HOST="tcp://127.0.0.1:2399")

    def test_it_has_a_copy_of_the_agent_and_no_path_of_this_host(self):
        daemon = self.daemon()
        box = daemon.create(**self.wish)
        told = self.inspect(box)
        self.assertEqual([(one["Type"], one["Destination"]) for one in told["Mounts"]], [("volume", "/opt/atoll")])
        self.assertNotIn(daemon.state, json.dumps(told))
        row = [one for one in daemon.call("GET", "/v1/drivers").json["drivers"] if one["name"] == "docker"][0]["capabilities"]
        self.assertEqual((row["placement"], row["isolation"]), ("own", "container"))
        self.remove(daemon, box)

    def test_others_that_use_it_keep_what_is_theirs(self):
        first, second = self.daemon(), self.daemon()
        box = first.create(**self.wish)
        self.restart(second)
        self.assertEqual(second.call("GET", f"/v1/sandboxes/{box}").status, 404)
        self.assertEqual(first.exec(box, "printf", "fine")["stdout"], "fine")
        self.remove(first, box)

    def test_what_is_left_of_a_container_that_somebody_has_removed_is_swept(self):
        daemon = self.daemon()
        box = daemon.create(**self.wish)
        held = self.inspect(box)["Mounts"][0]["Name"]
        labels = json.loads(self.engine.ask("GET", f"/v1.41/volumes/{held}")[1])["Labels"]
        self.assertEqual((labels["atoll.driver"], labels["atoll.sandbox"]), ("docker", box))
        self.remove(daemon, box)
        daemon.kill()
        orphan = {**labels, "atoll.sandbox": "sbx" + os.urandom(10).hex()}
        for name, marks in (("orphan", orphan), ("foreign", {}), ("others", {**orphan, "atoll.instance": "elsewhere"})):
            status, text = self.engine.ask("POST", "/v1.41/volumes/create", json.dumps({"Name": name, "Labels": marks}),
                                           {"Content-Type": "application/json"})
            self.assertEqual(status, 201, text)
        daemon.start(env=self.environment())
        names = lambda: sorted(one["Name"] for one in self.engine.volumes())
        try:
            wait_until(lambda: "orphan" not in names(), "the orphan goes")
            self.assertEqual(names(), ["foreign", "others"])
        finally:
            for name in names():
                self.engine.ask("DELETE", f"/v1.41/volumes/{name}")

    def test_it_must_stay_on_this_host_if_that_is_asked(self):
        refused = self.daemon().call("POST", "/v1/sandboxes", {"placement": "host", **self.wish})
        self.assertIn("docker runs at own, host was asked", refused.json["detail"])

    def test_a_persistent_root(self):
        daemon = self.daemon()
        box = daemon.create(persistence="persistent", **self.wish)
        daemon.exec(box, "sh", "-c", "echo kept > kept")
        self.restart(daemon)
        self.assertEqual(daemon.exec(box, "cat", "kept")["stdout"], "kept\n")
        self.remove(daemon, box)

    def test_an_image_for_another_machine_is_refused(self):
        self.engine.load_foreign_image("atoll-other:1")
        self.refused("image atoll-other:1 is for arm64, and the agent that would be copied there for amd64", ATOLL_DOCKER_IMAGE="atoll-other:1")
        self.no_containers()


def setUpModule():
    missing = lacking("docker") or lacking("runsc") or lacking("tls")
    if missing and os.environ.get("ATOLL_MUST_RUN") == "1":
        raise AssertionError(f"ATOLL_MUST_RUN is set, and this host lacks: {missing}")
    if missing:
        raise unittest.SkipTest(f"this host lacks: {missing}")


if __name__ == "__main__":
    unittest.main()
