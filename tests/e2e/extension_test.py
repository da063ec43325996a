"""Extensions: added, used, killed, started again and removed; the example is what is added."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from extension import MANIFEST, NAME, Extension
from live import ATOLL, Daemon, is_alive, wait_until

PATIENCE = 180  # seconds; an agent that is asked something has 60
SOON = 60
UNIT = pathlib.Path(MANIFEST).with_name("atoll-namespaces.service")


def atoll(*words, **more):
    return subprocess.run([ATOLL, *words], capture_output=True, text=True, timeout=60, **more)


class World(unittest.TestCase):
    def setUp(self):
        self.extension = Extension().start()
        self.addCleanup(self.stop_extension)

    def stop_extension(self):
        self.assertEqual(self.extension.stop(), [])

    def add(self, state, *flags):
        done = self.extension.add(state, *flags)
        self.assertEqual((done.stdout, done.returncode), (f"{NAME}\n", 0), done.stderr)
        return done


class CommandLine(World):
    def setUp(self):
        super().setUp()
        self.place = tempfile.TemporaryDirectory(prefix="atoll-extension-state-")
        self.addCleanup(self.place.cleanup)
        self.state = f"{self.place.name}/state"

    def here(self, *words, **more):
        return atoll(*words, "--state", self.state, **more)

    def run_in(self, *words, flags=()):
        return atoll("run", "--state", self.state, "--driver", NAME, *flags, "--", *words)

    def test_it_is_added_shown_and_removed(self):
        self.assertEqual(self.here("extension", "ls", "-q").stdout, "")
        added = self.add(self.state)
        self.assertIn("believed none", added.stderr)
        self.assertIn(f"it runs as user {os.stat(self.extension.socket).st_uid}, without capabilities", added.stderr)
        self.assertEqual(self.here("extension", "ls", "-q").stdout, f"{NAME}\n")
        self.assertIn("container", self.here("extension", "ls").stdout)
        shown = json.loads(self.here("extension", "show", NAME, "--json").stdout)
        self.assertEqual((shown["trust_isolation"], shown["settings"]), ("none", {"disk_mb": 256}))
        self.assertEqual(shown["uid"], os.stat(self.extension.socket).st_uid)
        self.assertEqual(self.here("extension", "rm", NAME).returncode, 0)
        again = self.here("extension", "rm", NAME)
        self.assertEqual(again.returncode, 125)
        self.assertIn("no extension is called", again.stderr)

    def test_what_is_wrong_is_refused_with_its_line(self):
        text = pathlib.Path(MANIFEST).read_text()
        for old, new, said in (("name: namespaces", "name: docker", ":3: name: docker is a driver of Atoll's own"),
                               ("protocol: 1", "protocol: 7", ":5: protocol: 7 is not spoken here"),
                               ("network: deny", "fork: true", "unknown field"),
                               ("minimum: 16", "multipleOf: 16", "multipleOf")):
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(text.replace(old, new, 1))
                file.flush()
                done = self.here("extension", "add", file.name, "--socket", self.extension.socket)
            self.assertEqual(done.returncode, 125, said)
            self.assertIn(said, done.stderr)
        done = self.extension.add(self.state, "--set", "disk_mb=1")
        self.assertIn("too small", done.stderr)
        self.assertEqual(self.extension.add(self.state, "--trust-isolation", "much").returncode, 2)
        nobody = self.here("extension", "add", MANIFEST, "--socket", "/nonexistent/socket")
        self.assertIn("start the extension", nobody.stderr)
        self.assertEqual(self.here("extension", "ls", "-q").stdout, "")

    def test_a_socket_for_everybody_is_refused(self):
        os.chmod(self.extension.socket, 0o666)
        self.assertIn("everybody on this host", self.extension.add(self.state).stderr)

    def test_the_check_finds_the_example_well_behaved(self):
        self.add(self.state)
        done = self.here("extension", "check", NAME)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("✓"), 9)
        steps = json.loads(self.here("extension", "check", MANIFEST, "--socket", self.extension.socket, "--json").stdout)
        self.assertTrue(all(step["holds"] for step in steps))

    @unittest.skipIf(os.geteuid() != 0, "it takes root to run it as root")
    def test_one_that_runs_as_root_is_only_added_when_that_is_said(self):
        self.stop_extension()
        self.extension = Extension()
        self.extension.user = {}
        self.extension.start()
        refused = self.extension.add(self.state)
        self.assertEqual(refused.returncode, 126, refused.stderr)
        self.assertIn("runs as root: whoever gets the better of it has this host", refused.stderr)
        self.assertIn("--allow-root", refused.stderr)
        self.assertEqual(self.here("extension", "ls", "-q").stdout, "")
        self.assertEqual(self.add(self.state, "--allow-root").returncode, 0)

    def test_a_run_without_a_daemon(self):
        self.add(self.state, "--trust-isolation", "container")
        done = self.run_in("sh", "-c", "echo $GIVEN; id -un; pwd; ls /; cat > f; cat f; exit 3", flags=("--env", "GIVEN=so"))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(done.stdout.splitlines()[:3], ["so", "user", "/workspace"])
        self.assertNotIn("root", done.stdout.split())
        self.assertIn(NAME, self.here("drivers", "-q").stdout.split())
        floor = self.run_in("true", flags=("--min-isolation", "container"))
        self.assertEqual(floor.returncode, 0, floor.stderr)
        self.assertEqual(self.extension.listed(), {})

    def test_it_is_believed_no_further_than_was_said(self):
        self.add(self.state, "--trust-isolation", "process")
        refused = self.run_in("true", flags=("--min-isolation", "container"))
        self.assertEqual(refused.returncode, 125)
        self.assertIn("process", refused.stderr)
        self.assertEqual(self.run_in("true").returncode, 0)
        plan = atoll("plan", "--state", self.state, "--min-isolation", "container")
        self.assertIn(NAME, plan.stdout + plan.stderr)

    def test_a_run_that_is_killed_leaves_nothing(self):
        self.add(self.state)
        run = subprocess.Popen([ATOLL, "run", "--state", self.state, "--driver", NAME, "--", "sh", "-c", "echo up; sleep 1000"],
                               stdout=subprocess.PIPE, text=True)
        self.assertEqual(run.stdout.readline(), "up\n")
        self.assertEqual(len(self.extension.listed()), 1)
        run.kill()
        run.wait()
        run.stdout.close()
        wait_until(lambda: not self.extension.listed(), "its sandbox ends with it")

    def test_doctor_tells_about_it(self):
        self.add(self.state)
        done = self.here("doctor", NAME)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("not protected: another program makes these sandboxes", done.stdout)
        self.assertNotIn("runs as root", done.stdout)
        self.extension.kill()
        dead = self.here("doctor", NAME)
        self.assertEqual(dead.returncode, 1, dead.stdout)
        self.assertIn("start it again", dead.stdout)
        self.extension.start()


class Unit(unittest.TestCase):
    def test_the_examples_unit_gives_up_what_it_can(self):
        if not shutil.which("systemd-analyze") and os.environ.get("ATOLL_MUST_RUN") != "1":
            self.skipTest("systemd-analyze is not here")
        told = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", UNIT], capture_output=True, text=True, timeout=60)
        self.assertRegex(told.stdout, r"exposure level for atoll-namespaces.service: [0-2]\.\d", told.stderr)
        refused = [line for line in told.stdout.splitlines() if line.startswith("✗") and "CapabilityBoundingSet" in line]
        self.assertEqual(refused, [])


class WithADaemon(World):
    def setUp(self):
        super().setUp()
        # Its socket is for its own user and root.
        self.daemon = Daemon(arguments=["--user", "root"] if os.geteuid() == 0 else [])
        self.add(self.daemon.state, "--trust-isolation", "container")
        self.daemon.start()
        self.addCleanup(self.end_daemon)

    def end_daemon(self):
        self.daemon.end()

    def create(self, driver=NAME, **more):
        return self.daemon.create(driver=driver, **more)

    def try_create(self):
        answer = self.daemon.call("POST", "/v1/sandboxes", {"driver": NAME})
        if answer.status != 201:
            return None
        self.daemon.made.add(answer.json["id"])
        return answer.json["id"]

    def sh(self, box, script):
        return self.daemon.exec(box, "sh", "-c", script)["stdout"]

    def state_of(self, box):
        return self.daemon.call("GET", f"/v1/sandboxes/{box}").json["state"]

    def driver_view(self):
        drivers = self.daemon.call("GET", "/v1/drivers").json["drivers"]
        return next(one for one in drivers if one["name"] == NAME)

    def test_it_is_a_driver_like_others(self):
        view = self.driver_view()
        self.assertTrue(view["available"], view)
        self.assertEqual(view["capabilities"]["isolation"], "container")
        box = self.create(env={"SECRET": "hunter2"})
        self.assertEqual(self.sh(box, "echo $SECRET; cat /proc/net/dev | grep -c eth"), "hunter2\n0\n")
        self.assertEqual(self.daemon.call("PUT", f"/v1/sandboxes/{box}/files?path=f", b"bytes").status // 100, 2)
        self.assertEqual(self.sh(box, "cat f"), "bytes")
        self.assertNotIn("hunter2", pathlib.Path(self.extension.boxes, box, "record.json").read_text())
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)
        self.assertEqual(self.extension.listed(), {})

    def test_its_death_harms_nobody_else_and_its_return_mends_it(self):
        box, other = self.create(), self.create(driver="subprocess")
        self.sh(box, "echo kept > f")
        self.extension.kill()

        refused = self.daemon.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["true"]})
        self.assertEqual(refused.status, 503, refused)
        self.assertIn(f"extension {NAME}", refused.json["detail"])
        self.assertEqual(self.daemon.call("POST", "/v1/sandboxes", {"driver": NAME}).status, 503)
        self.assertEqual(self.sh(other, "echo fine"), "fine\n")
        self.assertEqual(self.state_of(other), "running")

        self.extension.start()
        self.assertEqual(self.sh(box, "cat f"), "kept\n")
        self.assertEqual(self.state_of(box), "running")

    def test_one_that_hangs_holds_up_its_own_sandboxes_until_a_deadline_and_nobody_else(self):
        box, other = self.create(), self.create(driver="subprocess")
        self.sh(box, "echo kept > f")
        os.kill(self.extension.process.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, self.extension.process.pid, signal.SIGCONT)

        calls = (("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["true"]}), ("GET", f"/v1/sandboxes/{box}/files?path=f"),
                 ("GET", f"/v1/sandboxes/{box}/processes"))
        with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
            asked = [pool.submit(self.daemon.call, *call, timeout=PATIENCE) for call in calls]
            looks = 0
            while concurrent.futures.wait(asked, timeout=1).not_done:
                begun = time.monotonic()
                self.assertEqual(self.sh(other, "echo fine"), "fine\n")
                self.assertLess(time.monotonic() - begun, SOON)
                looks += 1
        self.assertGreater(looks, 0, "nobody was held up")
        for call, answer in zip(calls, (future.result() for future in asked), strict=True):
            self.assertEqual((answer.status, answer.json["code"]), (504, "deadline_exceeded"), (call, answer))
            self.assertIn("did not answer in time", answer.json["detail"])
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{self.create(driver='subprocess')}").status, 204)

        os.kill(self.extension.process.pid, signal.SIGCONT)
        self.assertEqual(self.sh(box, "cat f"), "kept\n")
        self.assertEqual(self.state_of(box), "running")
        # A driver that has missed its probes is asked when it has answered some.
        new = wait_until(self.try_create, "it makes sandboxes again", SOON)
        self.assertEqual(self.sh(new, "echo new"), "new\n")

    def test_what_ended_while_it_was_dead_is_told_when_it_is_back(self):
        box, stays = self.create(), self.create()
        agent = self.extension.pid_of(box)
        self.extension.kill()
        os.kill(agent, signal.SIGKILL)
        wait_until(lambda: not is_alive(agent), "the sandbox has ended")
        self.extension.start()
        wait_until(lambda: self.state_of(box) == "failed", "its end is known")
        self.assertEqual(self.sh(stays, "echo fine"), "fine\n")

    def test_sandboxes_outlive_the_daemon_and_orphans_do_not(self):
        box = self.create()
        self.sh(box, "echo kept > f; sleep 1000 & echo")
        self.daemon.kill()
        instance = self.extension.listed()[box]
        orphan, stranger = "sbx" + "o" * 20, "sbx" + "s" * 20
        for one, whose in ((orphan, instance), (stranger, "another")):
            agent = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(ATOLL))), "libexec/atoll/atoll-agent")
            made = self.extension.call(call="create", id=one, instance=whose, agent=agent, configuration={})
            self.assertEqual(made, {"ok": {}})
        self.daemon.start()
        self.assertEqual(self.sh(box, "cat f"), "kept\n")
        wait_until(lambda: orphan not in self.extension.listed(), "the orphan is gone")
        self.assertIn(stranger, self.extension.listed(), "another's is left alone")
        self.extension.call(call="destroy", id=stranger)

    def test_a_sandbox_expires_while_the_daemon_is_away(self):
        box = self.create(ttl_s=2)
        self.daemon.kill()
        wait_until(lambda: box not in self.extension.listed(), "it ends by itself")
        self.daemon.start()
        wait_until(lambda: self.daemon.call("GET", f"/v1/sandboxes/{box}").json.get("state") in ("destroyed", None), "it is known")

    def test_it_is_not_removed_while_it_is_used(self):
        box = self.create()
        refused = atoll("extension", "rm", NAME, "--state", self.daemon.state)
        self.assertEqual(refused.returncode, 125)
        self.assertIn("1 sandboxes", refused.stderr)
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)
        self.assertEqual(atoll("extension", "rm", NAME, "--state", self.daemon.state).returncode, 0)
        self.daemon.terminate()
        self.daemon.start()
        gone = self.daemon.call("POST", "/v1/sandboxes", {"driver": NAME})
        self.assertEqual(gone.status, 404, gone)


if __name__ == "__main__":
    unittest.main()
