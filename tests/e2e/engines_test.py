"""The drivers `docker` and `podman` as their users meet them: with a real engine, a dead one, a restarted one, and none."""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import unittest
import urllib.parse

from engine_proxy import EngineProxy
import port_test
from engines import Engine, add_python, image_tar, lacking
from live import ATOLL, AtTheSamePath, Daemon, wait_until

LIBEXEC = {"ATOLL_LIBEXEC": os.environ["ATOLL_LIBEXEC"]} if "ATOLL_LIBEXEC" in os.environ else {}


def made_sandbox_id():
    return "sbx" + os.urandom(10).hex()


class Cases:
    """What holds for both; `name` is the driver's."""

    @classmethod
    def setUpClass(cls):
        cls.engine = Engine(cls.name).start()

    @classmethod
    def tearDownClass(cls):
        left = cls.engine.stop()
        assert not left, f"{cls.name} has left: {left}"

    def setUp(self):
        if self.engine.process.poll() is not None:
            self.fail("the engine has not come back after another case")
        self.place = tempfile.mkdtemp(prefix="atoll-e2e-")
        self.addCleanup(shutil.rmtree, self.place)

    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ATOLL_", "DOCKER_", "CONTAINER_"))}
        return {**kept, **LIBEXEC, "ATOLL_STATE": "/nonexistent/atoll", "XDG_RUNTIME_DIR": self.place, **self.engine.environment, **more}

    def atoll(self, *words, **more):
        return subprocess.run([ATOLL, *words], capture_output=True, text=True, timeout=120, env=self.environment(**more))

    def run_in(self, *command, **more):
        return self.atoll("run", "--driver", self.name, "--", *command, **more)

    def daemon(self):
        daemon = Daemon()
        daemon.start(env={**LIBEXEC, **self.engine.environment})
        self.addCleanup(daemon.end)
        return daemon

    def restart(self, daemon):
        daemon.start(env={**LIBEXEC, **self.engine.environment})

    def containers(self):
        return [one["Names"][0].lstrip("/") for one in self.engine.containers()]

    def no_containers(self):
        wait_until(lambda: not self.containers(), "no container is left")

    def inspect(self, box):
        return json.loads(self.engine.ask("GET", f"/v1.41/containers/atoll-{box}/json")[1])

    def make_container(self, name, labels):
        self.engine.make_container(name, labels, starts=False)
        self.addCleanup(self.engine.ask, "DELETE", f"/v1.41/containers/{name}?force=1&v=1")

    # Everyday.

    def test_a_command_runs_and_nothing_is_left(self):
        done = self.run_in("sh", "-c", "echo $0 $ATOLL_SANDBOX_ID | cut -c1-8; cat; exit 3", "hello")
        self.assertEqual((done.stdout, done.returncode), ("hello sb\n", 3), done.stderr)
        self.no_containers()
        self.assertEqual(list(pathlib.Path(self.place).rglob("*agent.sock")), [])

    def test_doctor_tries_it(self):
        done = self.atoll("doctor", self.name)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("ran a command", done.stdout)

    def test_explain_tells_what_it_would_be(self):
        done = self.atoll("run", "--driver", self.name, "--memory", "64m", "--explain", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("64 MiB, no swap beyond it", done.stdout)
        self.assertEqual(self.containers(), [])

    # What holds the guest.

    def test_the_container_is_hardened(self):
        daemon = self.daemon()
        box = daemon.create(driver=self.name)
        host = self.inspect(box)["HostConfig"]
        self.assertEqual((host["NetworkMode"], host["PidsLimit"], host["ReadonlyRootfs"], host["Privileged"], host["LogConfig"]["Type"]),
                         ("none", 100, True, False, "none"))
        self.assertEqual([one for one in host["SecurityOpt"] or () if "unconfined" in one], [])
        if self.name == "docker":
            self.assertEqual((host["CapDrop"], host["CapAdd"] or [], host["IpcMode"], host["CgroupnsMode"]), (["ALL"], [], "private", "private"))
            self.assertIn("no-new-privileges", host["SecurityOpt"])
        else:  # which tells each capability by its name
            self.assertLessEqual({"CHOWN", "DAC_OVERRIDE", "MKNOD", "NET_RAW", "SETFCAP", "SETUID", "SYS_CHROOT"}, set(host["CapDrop"]))
            self.assertNotIn(host["IpcMode"], ("host", ""))
        self.assertEqual((host["Memory"], host["MemorySwap"]), (2 << 30, 2 << 30))
        seen = daemon.exec(box, "sh", "-c", "id -u; grep -E 'CapBnd|NoNewPrivs|Seccomp:' /proc/self/status; readlink /proc/self/ns/cgroup;"
                           " for p in /x /etc/x /bin/x /opt/atoll/door/x /opt/atoll/x; do echo x 2>/dev/null > $p && echo wrote $p; done;"
                           " ls /opt/atoll/door; tail -n +3 /proc/net/dev | cut -d: -f1")["stdout"].split()
        self.assertEqual(seen[:1] + seen[1:7], ["1000", "CapBnd:", "0" * 16, "NoNewPrivs:", "1", "Seccomp:", "2"])
        # On version 1 podman does not give a namespace of control groups, and the driver says so.
        if self.name == "docker" or os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
            self.assertNotEqual(seen[7], os.readlink("/proc/self/ns/cgroup"))
        else:
            told = [one for one in daemon.call("GET", "/v1/drivers").json["drivers"] if one["name"] == self.name][0]
            self.assertIn("control groups", " ".join(told["capabilities"]["not_protected"]))
        # Nothing was written, nobody can be called, and there is no network.
        self.assertEqual(seen[8:], ["lo"])
        for kind in ("ipc", "mnt", "net", "pid", "uts"):
            self.assertNotEqual(daemon.exec(box, "readlink", f"/proc/self/ns/{kind}")["stdout"].strip(), os.readlink(f"/proc/self/ns/{kind}"))

    def test_the_engines_filter_is_there_beside_ours(self):
        daemon = self.daemon()
        options = json.loads(self.engine.ask("GET", "/v1.41/info")[1])["SecurityOptions"] or ()
        filters = any("name=seccomp" in one and "unconfined" not in one for one in options)
        told = [one for one in daemon.call("GET", "/v1/drivers").json["drivers"] if one["name"] == self.name][0]
        self.assertEqual("the engine tells of no seccomp filter" in " ".join(told["capabilities"]["not_protected"]), not filters)
        box = daemon.create(driver=self.name)
        count = daemon.exec(box, "sed", "-n", "s/^Seccomp_filters:[[:space:]]*//p", "/proc/self/status")["stdout"].strip()
        # Linux before 5.9 does not count them.
        if count:
            self.assertGreaterEqual(int(count), 2 if filters else 1)

    def test_volumes_of_the_image_do_not_lie_on_the_disk(self):
        image = self.engine.image.replace("atoll-test", "atoll-volume")
        repository, tag = image.rsplit(":", 1)
        changes = urllib.parse.quote("VOLUME /data")
        status, text = self.engine.ask("POST", f"/v1.41/images/create?fromSrc=-&repo={repository}&tag={tag}&changes={changes}", image_tar(),
                                       {"Content-Type": "application/x-tar"})
        self.assertEqual(status, 200, text)
        done = self.run_in("stat", "-f", "-c", "%T", "/data", **{f"ATOLL_{self.name.upper()}_IMAGE": image})
        self.assertEqual(done.stdout, "tmpfs\n", done.stderr)

    # A root that can be written to.

    def test_a_persistent_root_holds_what_was_written(self):
        daemon = self.daemon()
        box = daemon.create(driver=self.name, persistence="persistent")
        told = daemon.call("GET", f"/v1/sandboxes/{box}").json
        self.assertEqual(told["persistence"], "persistent")
        self.assertFalse(self.inspect(box)["HostConfig"]["ReadonlyRootfs"])
        seen = daemon.exec(box, "sh", "-c", "echo w > /workspace/w; echo h > ~/h; echo t > /tmp/t; stat -c '%u %a' /workspace /home/user;"
                           " stat -f -c %T /tmp; echo x 2>/dev/null > /bin/x || echo not mine")["stdout"]
        self.assertEqual(seen, "1000 755\n1000 755\ntmpfs\nnot mine\n")
        # In the container's layer, where a commit finds it; what is in memory is not.
        changed = {one["Path"] for one in json.loads(self.engine.ask("GET", f"/v1.41/containers/atoll-{box}/changes")[1])}
        self.assertLessEqual({"/workspace/w", "/home/user/h"}, changed)
        self.assertNotIn("/tmp/t", changed)
        daemon.kill()
        self.restart(daemon)
        self.assertEqual(daemon.exec(box, "cat", "/workspace/w", "/home/user/h")["stdout"], "w\nh\n")
        self.assertEqual(daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)
        self.no_containers()

    def test_a_disk_limit_is_refused_where_the_storage_has_no_quotas(self):
        done = self.atoll("run", "--driver", self.name, "--persistent", "--disk", "16m", "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("its storage has no quotas", done.stderr)
        self.no_containers()

    def test_a_command_that_uses_too_much_memory_is_told_so(self):
        done = self.atoll("run", "--driver", self.name, "--memory", "64m", "--json", "--", "sh", "-c", "exec dd if=/dev/zero of=/dev/null bs=500M count=1")
        answer = json.loads(done.stdout)
        self.assertEqual((answer["reason"], answer["exit_code"]), ("oom", 137), done.stdout)
        # A kill by somebody else is none.
        done = self.atoll("run", "--driver", self.name, "--json", "--", "sh", "-c", "kill -9 $$")
        self.assertEqual(json.loads(done.stdout)["reason"], "signaled")

    def test_stats_count_files_in_memory(self):
        daemon = self.daemon()
        box = daemon.create(driver=self.name)

        def used():
            return daemon.call("GET", f"/v1/sandboxes/{box}/stats").json["memory_bytes"]

        before = used()
        self.assertEqual(daemon.exec(box, "sh", "-c", "head -c 100000000 /dev/zero > /tmp/x")["exit_code"], 0)
        with_file = used()
        self.assertGreaterEqual(with_file, before + 90_000_000)
        self.assertLess(with_file, 2 << 30)
        daemon.exec(box, "rm", "/tmp/x")
        self.assertLess(used(), before + 50_000_000)

    def failure(self, daemon, box, seconds=20):
        def told():
            answer = daemon.call("GET", f"/v1/sandboxes/{box}").json
            return answer.get("failure") if answer.get("state") == "failed" else None
        return wait_until(told, "its end is known", seconds)

    def test_what_was_installed_is_in_a_snapshot(self):
        daemon = self.daemon()
        box = daemon.create(driver=self.name, persistence="persistent")
        daemon.exec(box, "sh", "-c", "mkdir -p ~/.local/bin; printf '#!/bin/sh\necho installed' > ~/.local/bin/tool; chmod +x ~/.local/bin/tool")
        snapshot = daemon.call("POST", f"/v1/sandboxes/{box}/snapshots", {"kind": "disk"}, timeout=120).json["id"]
        daemon.call("DELETE", f"/v1/sandboxes/{box}")
        again = daemon.create(driver=self.name, snapshot=snapshot)
        self.assertEqual(daemon.exec(again, "sh", "-c", "~/.local/bin/tool")["stdout"], "installed\n")
        daemon.call("DELETE", f"/v1/sandboxes/{again}")
        self.assertEqual(daemon.call("DELETE", f"/v1/snapshots/{snapshot}").status, 204)
        self.no_containers()

    def test_the_disk_of_a_persistent_sandbox_is_declared_as_it_is(self):
        daemon = self.daemon()
        told = [one for one in daemon.call("GET", "/v1/drivers").json["drivers"] if one["name"] == self.name][0]["capabilities"]
        self.assertEqual((told["limits"]["disk"], told["limits"]["root_disk"]), ("enforced", "none"))
        self.assertIn("the disk of a persistent sandbox is not limited", " ".join(told["not_protected"]))
        # Podman's file systems in memory take no such option.
        self.assertEqual("number of files in a sandbox has no limit" in " ".join(told["not_protected"]), self.name == "podman")

    def test_the_death_of_its_container_ends_a_sandbox_at_once(self):
        daemon = self.daemon()
        box = daemon.create(driver=self.name)
        self.assertEqual(self.engine.ask("POST", f"/v1.41/containers/atoll-{box}/kill")[0], 204)
        self.assertEqual(self.failure(daemon, box, 5), "its first process died")
        self.no_containers()

    # Directories of the host.

    def test_directories_of_the_host_are_shown_below_allowed_roots_alone(self):
        allowed, other = pathlib.Path(self.place, "allowed"), pathlib.Path(self.place, "other")
        for directory in (allowed / "deep", other):
            directory.mkdir(parents=True)
            directory.chmod(0o777)
        (allowed / "deep/file").write_text("of the host\n")
        (allowed / "way-out").symlink_to(other)

        def show(path, access, **more):
            return self.atoll("run", "--driver", self.name, "-v", f"{path}:/shown:{access}", "--", "sh", "-c",
                              "cat /shown/file; echo new 2>/dev/null > /shown/new && echo wrote", **more)

        done = show(allowed / "deep", "ro", ATOLL_ENGINE_MOUNT_ROOTS=str(allowed))
        self.assertEqual(done.stdout, "of the host\n", done.stderr)
        done = show(allowed / "deep", "rw", ATOLL_ENGINE_MOUNT_ROOTS=str(allowed))
        self.assertEqual(done.stdout, "of the host\nwrote\n", done.stderr)
        self.assertEqual((allowed / "deep/new").read_text(), "new\n")
        for path in (other, allowed / "way-out"):
            refused = show(path, "ro", ATOLL_ENGINE_MOUNT_ROOTS=str(allowed))
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn("may not be shown to containers here", refused.stderr)
        refused = show(allowed / "deep", "ro")
        self.assertIn("cannot show a directory of the host", refused.stderr)
        refused = show(self.engine.root, "ro", ATOLL_ENGINE_MOUNT_ROOTS="/")
        self.assertIn("the engine's socket is in", refused.stderr)
        # Whatever it is called, and whichever engine's it is.
        pathlib.Path(self.place, "linked").symlink_to(self.engine.root)
        refused = show(self.engine.root, "ro", ATOLL_ENGINE_MOUNT_ROOTS="/", **{self.variable: f"unix://{self.place}/linked/engine.sock"})
        self.assertIn("the engine's socket is in", refused.stderr)
        refused = show("/run", "ro", ATOLL_ENGINE_MOUNT_ROOTS="/")
        self.assertIn("the place of an engine's socket, /run/docker.sock, is in /run", refused.stderr)
        self.no_containers()

    # Runtimes.

    def test_a_runtime_is_no_stronger_than_it_was_seen_to_be(self):
        done = self.atoll("run", "--driver", self.name, "--runtime", "kata", "--min-isolation", "sentry", "--", "true")
        self.assertEqual(done.returncode, 125)
        if self.name == "docker":
            self.assertIn("docker offers container, sentry was asked", done.stderr)
            done = self.atoll("run", "--driver", self.name, "--runtime", "kata", "--", "printf", "fine\\n")
            self.assertEqual(done.stdout, "fine\n", done.stderr)
            return
        # Its service lists what it could have, and gives its own whatever it is asked for.
        self.assertIn("podman has no runtime kata, but runc", done.stderr)
        done = self.atoll("run", "--driver", self.name, "--runtime", "crun", "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("podman has no runtime crun, but runc", done.stderr)
        daemon = self.daemon()
        box = daemon.create(driver=self.name, runtime="runc")
        told = json.loads(self.engine.ask("GET", f"/v4.0.0/libpod/containers/atoll-{box}/json")[1])
        self.assertEqual(told["OCIRuntime"], "runc")
        refused = daemon.call("POST", "/v1/sandboxes", {"driver": self.name, "runtime": "runsc"})
        self.assertIn("podman has no runtime runsc, but runc", refused.json["detail"])
        daemon.call("DELETE", f"/v1/sandboxes/{box}")
        self.no_containers()

    # What may go wrong.

    def test_a_killed_run_leaves_no_container(self):
        process = subprocess.Popen([ATOLL, "run", "--driver", self.name, "--", "sh", "-c", "echo up; sleep 1000"], stdout=subprocess.PIPE,
                                   env=self.environment())
        self.assertEqual(process.stdout.readline(), b"up\n")
        self.assertEqual(len(self.containers()), 1)
        process.kill()
        process.wait()
        process.stdout.close()
        self.no_containers()

    def test_a_killed_daemon_takes_its_sandboxes_up_again(self):
        daemon = self.daemon()
        box = daemon.create(driver=self.name, env={"COLOUR": "green"})
        process = daemon.start_process(box, "sh", "-c", "echo before; until [ -e go ]; do sleep 0.01; done; echo after $COLOUR")["process"]
        daemon.kill()
        self.restart(daemon)
        daemon.exec(box, "touch", "go")
        told = [event for event in daemon.events(box, process)]
        self.assertEqual("".join(event.get("data", "") for event in told), "before\nafter green\n", told)
        # One that leaves in order leaves them, too.
        daemon.terminate()
        self.assertEqual(daemon.process.returncode, 0, daemon.log())
        self.restart(daemon)
        self.assertEqual(daemon.exec(box, "ls")["stdout"], "go\n")
        self.assertEqual(daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)
        self.no_containers()

    def test_an_expiry_holds_while_the_daemon_is_away(self):
        daemon = self.daemon()
        daemon.create(driver=self.name, ttl_s=3)
        daemon.kill()
        self.no_containers()
        self.restart(daemon)

    def test_only_what_is_ours_is_swept(self):
        daemon = self.daemon()
        mine = {"atoll.instance": daemon.name_on(self.name), "atoll.driver": self.name, "atoll.generation": "1"}
        orphan, former = made_sandbox_id(), made_sandbox_id()
        daemon.kill()
        self.make_container("somebodys", {})
        other = made_sandbox_id()
        self.make_container(f"atoll-{other}", {**mine, "atoll.instance": "/elsewhere", "atoll.sandbox": other})
        # A daemon of an earlier version bore the path of its directory, which another's may be.
        self.make_container(f"atoll-{former}", {**mine, "atoll.instance": f"{daemon.state}/engines/{self.name}", "atoll.sandbox": former})
        self.make_container(f"atoll-{orphan}", {**mine, "atoll.sandbox": orphan})
        self.restart(daemon)
        wait_until(lambda: f"atoll-{orphan}" not in self.containers(), "the orphan goes")
        self.assertEqual(sorted(self.containers()), sorted(["somebodys", f"atoll-{other}", f"atoll-{former}"]))

    def keep(self, daemon):
        """A sandbox with a file, and a snapshot of it."""
        box = daemon.create(driver=self.name, persistence="persistent")
        daemon.exec(box, "sh", "-c", "echo kept > kept")
        snapshot = daemon.call("POST", f"/v1/sandboxes/{box}/snapshots", {"kind": "disk"}, timeout=120)
        self.assertEqual(snapshot.status, 201, snapshot)
        return box, snapshot.json["id"]

    def is_as_it_was(self, daemon, box, snapshot):
        self.assertEqual(daemon.exec(box, "cat", "kept")["stdout"], "kept\n")
        again = daemon.create(driver=self.name, snapshot=snapshot)
        self.assertEqual(daemon.exec(again, "cat", "kept")["stdout"], "kept\n")
        for one in (box, again):
            self.assertEqual(daemon.call("DELETE", f"/v1/sandboxes/{one}").status, 204)
        self.assertEqual(daemon.call("DELETE", f"/v1/snapshots/{snapshot}").status, 204)
        self.no_containers()

    def test_a_daemon_at_the_same_path_elsewhere_leaves_all_of_it_alone(self):
        one = self.daemon()
        box, snapshot = self.keep(one)
        other = AtTheSamePath(one)
        other.start(env={**LIBEXEC, **self.engine.environment})
        self.assertEqual(other.call("GET", "/v1/sandboxes").json["sandboxes"], [])
        self.assertEqual(self.containers(), [f"atoll-{box}"])
        other.end()
        self.is_as_it_was(one, box, snapshot)

    def test_a_state_directory_that_has_moved_has_its_sandboxes_and_snapshots(self):
        daemon = self.daemon()
        box, snapshot = self.keep(daemon)
        daemon.terminate()
        wait_until(lambda: not daemon.launchers(), "the launcher leaves")
        daemon.state = shutil.move(daemon.state, os.path.join(daemon.directory, "moved"))
        self.restart(daemon)
        self.is_as_it_was(daemon, box, snapshot)

    def test_a_dead_engine_is_named_and_is_used_again_when_it_is_back(self):
        daemon = self.daemon()
        box = daemon.create(driver=self.name)
        self.engine.kill()
        try:
            # The way to the agent does not lead through the engine.
            self.assertEqual(daemon.exec(box, "printf", "still here\\n")["stdout"], "still here\n")
            refused = daemon.call("POST", "/v1/sandboxes", {"driver": self.name})
            self.assertEqual(refused.status, 503, refused)
            self.assertIn(f"{self.name} has died", refused.json["detail"])
            self.assertIn("start it: systemctl start", refused.json["hint"])
        finally:
            self.engine.start()

        def created():
            answer = daemon.call("POST", "/v1/sandboxes", {"driver": self.name})
            return answer.json["id"] if answer.status == 201 else None

        again = wait_until(created, "sandboxes can be made again", 60)
        self.assertEqual(daemon.exec(again, "printf", "new\\n")["stdout"], "new\n")
        for one in (box, again):
            daemon.call("DELETE", f"/v1/sandboxes/{one}")
        self.no_containers()

    def test_without_an_engine_it_says_what_helps(self):
        done = self.run_in("true", **{self.variable: f"unix://{self.place}/none.sock"})
        self.assertEqual(done.returncode, 125)
        self.assertIn(f"{self.name} is not running: there is no {self.place}/none.sock", done.stderr)
        self.assertIn(f"{self.variable}=unix:///path", done.stderr)

    def test_an_address_that_will_not_do_is_told(self):
        """What works over TCP is in engine_relay_test.py."""
        done = self.run_in("true", **{self.variable: "ssh://elsewhere"})
        self.assertIn(f"{self.variable} names no engine", done.stderr)
        done = self.run_in("true", **{self.variable: "tcp://192.0.2.1"})
        self.assertIn("is another machine, and without TLS", done.stderr)
        if self.name == "podman":
            done = self.run_in("true", **{self.variable: "tcp://127.0.0.1:1"})
            self.assertIn("podman must be on this host, on a Unix socket", done.stderr)

    def test_without_its_image_it_says_what_fetches_it(self):
        done = self.atoll("run", "--driver", self.name, "--pull", "never", "--", "true",
                          **{f"ATOLL_{self.name.upper()}_IMAGE": "localhost/no-such-image:1"})
        self.assertEqual(done.returncode, 125)
        self.assertIn(f"{self.name} has no image localhost/no-such-image:1", done.stderr)
        self.assertIn(f"{self.name} pull localhost/no-such-image:1", done.stderr)

    def test_what_cannot_begin_is_refused_before_anything_is_made(self):
        self.engine.load_foreign_image("localhost/atoll-other:1")
        refusals = {("--pids", "1"): ("a container needs at least 3 processes", "its agent is one of them"),
                    ("--memory", "1m"): ("at least 8 MiB of memory", "a shell runs with that"),
                    ("--cpus", "0.001"): ("at least 0.01 of a processor", "hint:"),
                    ("-u", "0"): (f"{self.name} cannot run as user 0", "native"),
                    ("-u", "root"): (f"{self.name} cannot run as user root", "native"),
                    ("--image", "Upper/Case"): ("its name is in small letters", ""),
                    ("--image", "localhost/atoll-other:1"): ("image localhost/atoll-other:1 is for a", "--platform linux/")}
        with EngineProxy(self.engine) as proxy:
            for flags, words in refusals.items():
                with self.subTest(flags=flags):
                    done = self.atoll("run", "--driver", self.name, *flags, "--", "true", **proxy.environment)
                    self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
                    for word in words:
                        self.assertIn(word, done.stderr)
            self.assertEqual([one for one in proxy.requests if "/containers/create" in str(one)], [])
        done = self.atoll("run", "--driver", self.name, "--pids", "3", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.atoll("run", "--driver", self.name, "-u", "1234", "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("every command is user 1000 here", done.stderr)

    def test_a_full_sandbox_says_what_helps(self):
        daemon = self.daemon()
        box = daemon.create(driver=self.name, resources={"pids": 3})
        for _ in range(2):
            daemon.start_process(box, "sleep", "1000")
        told = daemon.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["true"]})
        self.assertEqual((told.status, told.json["code"]), (429, "resource_exhausted"), told)
        self.assertIn("as many processes as it may have", told.json["detail"])
        self.assertIn("--pids", told.json["hint"])
        changed = daemon.call("PATCH", f"/v1/sandboxes/{box}", {"resources": {"pids": 1}})
        self.assertIn(changed.status, (400, 409), changed)  # podman changes none
        daemon.call("DELETE", f"/v1/sandboxes/{box}")

    def test_what_is_no_socket_and_what_is_not_ours_is_told(self):
        done = self.run_in("true", **{self.variable: "unix:///etc/passwd"})
        self.assertIn(f"{self.name} is not there: /etc/passwd is no socket", done.stderr)
        self.assertIn(f"{self.variable}=unix:///path", done.stderr)

    def test_an_engine_that_hangs_does_not_hold_up_others(self):
        path = f"{self.place}/hung.sock"
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as hung:
            hung.bind(path)
            hung.listen(64)
            refused = self.run_in("true", **{self.variable: f"unix://{path}"})
            self.assertEqual(refused.returncode, 125)
            self.assertIn("has not answered within", refused.stderr)
            done = self.atoll("run", "--driver", "subprocess", "--", "echo", "fine", **{self.variable: f"unix://{path}"})
            self.assertEqual(done.stdout, "fine\n", done.stderr)


class Docker(Cases, unittest.TestCase):
    name, variable = "docker", "DOCKER_HOST"

    def test_a_restart_of_the_engine_is_told(self):
        daemon = self.daemon()
        box = daemon.create(driver=self.name)
        self.engine.kill()
        self.engine.start()
        self.assertEqual(self.failure(daemon, box, 60), "docker's engine was restarted or died, and it with that")
        self.no_containers()

    def test_a_sandbox_that_was_out_of_memory_says_so(self):
        """The agent writes the file, and nobody else is there whom the kernel could end for it."""
        daemon = self.daemon()
        box = daemon.create(driver=self.name, resources={"memory_mb": 32})
        with contextlib.suppress(OSError, http.client.HTTPException):
            answer = daemon.call("PUT", f"/v1/sandboxes/{box}/files?path=/tmp/x", bytes(64 << 20))
            self.assertGreaterEqual(answer.status, 400, answer)
        self.assertEqual(self.failure(daemon, box), "it was out of memory, and its first process was killed")
        self.no_containers()

    def test_an_engine_that_stops_in_order_is_told(self):
        daemon = self.daemon()
        box = daemon.create(driver=self.name)
        self.engine.process.terminate()
        self.engine.process.wait(60)
        self.engine.start()
        self.assertEqual(self.failure(daemon, box, 60), "docker's engine was restarted or died, and it with that")
        self.no_containers()

    def test_doctor_attacks_it_and_nothing_is_reached(self):
        done = self.atoll("doctor", "--attack", "--driver", self.name, "--json")
        card = json.loads(done.stdout)
        self.assertEqual((done.returncode, [row for row in card["attacks"] if row["outcome"] in ("reached", "broken")]), (0, []), done.stderr)
        self.assertGreater(card["totals"]["denied"], 80)
        self.no_containers()


class Podman(Cases, unittest.TestCase):
    name, variable = "podman", "CONTAINER_HOST"


class EnginePorts:
    wish = {"resources": {"pids": 400}}

    @classmethod
    def setUpClass(cls):
        cls.engine = Engine(cls.driver, more=add_python).start()

    @classmethod
    def tearDownClass(cls):
        left = cls.engine.stop()
        assert not left, f"{cls.driver} has left: {left}"

    def start_daemon(self):
        daemon = Daemon()
        daemon.start(env={**LIBEXEC, **self.engine.environment})
        self.addCleanup(daemon.end)
        self.addCleanup(lambda: daemon.call("DELETE", f"/v1/sandboxes/{self.box}"))
        return daemon


class DockerPorts(EnginePorts, port_test.Ports):
    driver = "docker"


class PodmanPorts(EnginePorts, port_test.Ports):
    driver = "podman"


class Quotas(unittest.TestCase):
    """Storage that can limit the root of a container."""

    def test_a_persistent_root_ends_where_its_limit_is(self):
        engine = Engine("docker")
        engine.put_data_on_btrfs()
        try:
            engine.start()
            done = subprocess.run([ATOLL, "run", "--driver", "docker", "--persistent", "--disk", "24m", "--", "sh", "-c",
                                   "dd if=/dev/zero of=/workspace/x bs=1M count=64; stat -c %s /workspace/x"], capture_output=True, text=True,
                                  timeout=120, env={**os.environ, **LIBEXEC, "ATOLL_STATE": "/nonexistent/atoll", **engine.environment})
            self.assertIn("quota exceeded", done.stderr + done.stdout)
            self.assertLessEqual(int(done.stdout.split()[-1]), 24 << 20)
            daemon = Daemon()
            daemon.start(env={**LIBEXEC, **engine.environment})
            try:
                told = [one for one in daemon.call("GET", "/v1/drivers").json["drivers"] if one["name"] == "docker"][0]["capabilities"]
            finally:
                daemon.end()
            self.assertEqual(told["limits"]["root_disk"], "enforced")
            self.assertNotIn("the disk of a persistent sandbox", " ".join(told["not_protected"]))
        finally:
            left = engine.stop()
        self.assertEqual(left, [])


def setUpModule():
    missing = lacking("docker") or lacking("podman") or lacking("btrfs")
    if missing and os.environ.get("ATOLL_MUST_RUN") == "1":
        raise AssertionError(f"ATOLL_MUST_RUN is set, and this host lacks: {missing}")
    if missing:
        raise unittest.SkipTest(f"this host lacks: {missing}")


if __name__ == "__main__":
    unittest.main()
