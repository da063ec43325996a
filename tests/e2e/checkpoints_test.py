"""What ends is kept first, and the next sandbox of its name begins with it: with gVisor, through a daemon that is killed."""

import json
import os
import pathlib
import signal
import subprocess
import threading
import time
import unittest

from live import ATOLL, Daemon, wait_until

LIBEXEC = {"ATOLL_LIBEXEC": os.environ["ATOLL_LIBEXEC"]} if "ATOLL_LIBEXEC" in os.environ else {}
PROFILES = """
profiles:
  lasting: {drivers: [gvisor], min_isolation: sentry, persistence: checkpoint, ttl: 10m}
  steady: {drivers: [native], min_isolation: container, lifecycle: persistent}
"""
COUNTER = "i=0; while :; do i=$((i+1)); echo $i > now; mv now count; sleep 0.02; done"


class Cases(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            if os.environ.get("ATOLL_MUST_RUN") == "1":
                raise AssertionError("ATOLL_MUST_RUN is set, and this takes root")
            raise unittest.SkipTest("it takes root")
        self.daemon = Daemon()
        profiles = pathlib.Path(self.daemon.directory, "profiles.yaml")
        profiles.write_text(PROFILES)
        self.daemon.arguments += ["--profiles", str(profiles)]
        self.start()
        self.addCleanup(self.daemon.end)  # asserts that nothing is left

    def start(self):
        self.daemon.start(env=LIBEXEC)

    def ask(self, method, path, body=None, status=None, **more):
        answer = self.daemon.call(method, path, body, **more)
        if status is not None:
            self.assertEqual(answer.status, status, answer)
        return answer

    def told(self, box):
        return self.ask("GET", f"/v1/sandboxes/{box}", status=200).json

    def snapshots(self):
        return self.ask("GET", "/v1/snapshots", status=200).json["snapshots"]

    def sh(self, box, script):
        return self.daemon.exec(box, "sh", "-c", script)["stdout"]

    def environment(self):
        return {**os.environ, "ATOLL_URL": f"unix:{self.daemon.socket_path}"}

    def atoll(self, *words, code=0):
        done = subprocess.run([ATOLL, *words], capture_output=True, text=True, timeout=60, env=self.environment())
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done.stdout if code == 0 else done.stderr


class Checkpoints(Cases):
    wish = {"driver": "gvisor", "name": "dev", "persistence": "checkpoint", "ttl_s": 600}

    def create(self, **more):
        return self.daemon.create(**{**self.wish, **more})

    def destroy(self, box, status=204):
        return self.ask("DELETE", f"/v1/sandboxes/{box}", status=status)

    def test_what_is_destroyed_is_where_the_next_one_begins(self):
        box = self.create()
        self.sh(box, "echo mine > file; mkdir -p ~/.cache; echo too > ~/.cache/file; chmod 640 file")
        self.destroy(box)
        kept = self.snapshots()
        self.assertEqual([(one["checkpoint_of"], one["state"], one["sandbox"]) for one in kept], [("dev", "ready", box)])
        self.daemon.kill()
        self.start()
        again = self.create()
        self.assertNotEqual(again, box)
        self.assertEqual(self.told(again)["snapshot"], kept[0]["id"])
        self.assertEqual(self.sh(again, "cat file ~/.cache/file; stat -c %a-%U file"), "mine\ntoo\n640-user\n")
        same = self.ask("POST", "/v1/sandboxes", self.wish)
        self.assertIn(same.status, (200, 201), same)
        self.assertEqual(same.json["id"], again)
        other = self.create(name="other")
        self.assertEqual(self.sh(other, "ls"), "")
        self.assertNotIn("snapshot", self.told(other))
        self.ask("DELETE", f"/v1/sandboxes/{other}?discard=true", status=204)
        self.assertEqual(len(self.snapshots()), 1)
        spoilt = self.create(name="spoilt")
        self.ask("POST", f"/v1/sandboxes/{spoilt}/release", {"corrupted": True}, status=204)
        self.assertEqual(len(self.snapshots()), 1)

    def test_what_expires_is_kept_and_of_one_name_a_few(self):
        for number in range(5):
            box = self.create(ttl_s=3600)
            self.assertEqual(self.sh(box, "cat file 2>/dev/null"), f"{number - 1}\n" if number else "")
            self.sh(box, f"echo {number} > file")
            self.ask("POST", f"/v1/sandboxes/{box}/renew", {"ttl_s": 1}, 200)
            wait_until(lambda: self.ask("GET", f"/v1/sandboxes/{box}").status == 404, "it has expired", 60)  # noqa: B023
        self.assertEqual([one["checkpoint_of"] for one in self.snapshots()], ["dev"] * 3)

    def test_one_whose_time_was_up_while_the_daemon_was_away_is_kept(self):
        box = self.create(ttl_s=3600)
        self.sh(box, "echo mine > file")
        self.ask("POST", f"/v1/sandboxes/{box}/renew", {"ttl_s": 2}, 200)
        self.daemon.kill()
        over = time.monotonic() + 3
        wait_until(lambda: time.monotonic() > over, "its time is up")
        self.start()
        wait_until(lambda: self.ask("GET", f"/v1/sandboxes/{box}").status == 404, "it is ended by the next daemon", 60)
        self.assertEqual(self.sh(self.create(), "cat file"), "mine\n")

    def test_memory_is_kept_where_it_is_asked(self):
        box = self.create(checkpoint="memory")
        self.daemon.start_process(box, "sh", "-c", COUNTER)
        before = wait_until(lambda: self.sh(box, "cat count 2>/dev/null"), "it counts")
        self.destroy(box)
        self.assertEqual(self.snapshots()[0]["kind"], "memory")
        again = self.create(checkpoint="memory")
        first = int(self.sh(again, "cat count"))
        self.assertGreaterEqual(first, int(before))
        wait_until(lambda: int(self.sh(again, "cat count") or 0) > first, "it goes on counting")

    def test_what_rests_is_woken_to_be_kept(self):
        for verb in ("pause", "stop"):
            with self.subTest(verb=verb):
                box = self.create(name=verb + "d")
                self.sh(box, f"echo {verb} > file")
                self.ask("POST", f"/v1/sandboxes/{box}/{verb}", status=200)
                self.destroy(box)
                self.assertEqual(self.sh(self.create(name=verb + "d"), "cat file"), f"{verb}\n")

    def test_what_cannot_be_kept_is_not_destroyed(self):
        box = self.create()
        self.sh(box, "head -c 50M /dev/urandom > large; echo mine > file")
        small = f"{self.daemon.state}/engines"
        os.makedirs(small, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "small", small], check=True)
        try:
            told = self.destroy(box, 507).json
            self.assertEqual(told["code"], "out_of_space")
            self.assertIn("is not destroyed, because it could not be kept", told["detail"])
            self.assertEqual(self.told(box)["state"], "running")
            self.assertEqual(self.sh(box, "cat file"), "mine\n")
            self.assertEqual(self.snapshots(), [])
            self.daemon.process.send_signal(signal.SIGINT)  # everything is to end
            self.assertNotEqual(self.daemon.process.wait(timeout=60), 0)
            self.start()
            self.assertEqual(self.sh(box, "cat file"), "mine\n")
        finally:
            subprocess.run(["umount", small], check=True)
        self.destroy(box)
        self.assertEqual(self.sh(self.create(), "cat file; stat -c %s large"), f"mine\n{50 << 20}\n")

    def test_a_daemon_that_dies_meanwhile_has_lost_nothing(self):
        outcomes = []
        for delay in (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8):
            if False in outcomes:
                break
            name = f"dying-{int(delay * 1000)}"
            box = self.create(name=name)
            self.sh(box, "head -c 20M /dev/urandom > large; echo mine > file")
            asking = threading.Thread(target=self.ignoring_errors, args=("DELETE", f"/v1/sandboxes/{box}"))
            asking.start()
            asking.join(delay)
            self.daemon.kill()
            asking.join()
            self.start()
            is_there = self.ask("GET", f"/v1/sandboxes/{box}").status == 200
            outcomes.append(is_there)
            if is_there:
                self.assertEqual(self.sh(box, "cat file"), "mine\n")
                self.destroy(box)
            again = self.create(name=name)
            self.assertEqual(self.sh(again, "cat file; stat -c %s large"), f"mine\n{20 << 20}\n")
            self.ask("DELETE", f"/v1/sandboxes/{again}?discard=true", status=204)
        self.assertEqual(set(outcomes), {True, False}, "killed before it was kept, and after it was")

    def ignoring_errors(self, *call):
        try:
            self.daemon.call(*call)
        except OSError:
            pass

    def test_drivers_that_keep_nothing_are_refused(self):
        told = self.ask("POST", "/v1/sandboxes", {**self.wish, "driver": "native"})
        self.assertGreaterEqual(told.status, 400, told)
        self.assertIn("native has no snapshots", json.dumps(told.json))
        nameless = self.ask("POST", "/v1/sandboxes", {**self.wish, "name": ""})
        self.assertEqual(nameless.status, 400, nameless)
        self.assertIn("found again by its name", nameless.json["detail"])
        run = self.ask("POST", "/v1/runs", {"argv": ["true"], "sandbox": {"driver": "gvisor", "persistence": "checkpoint"}})
        self.assertEqual(run.status, 400, run)

    def test_the_command_line_and_profiles_have_the_words(self):
        box = json.loads(self.atoll("create", "--json", "--profile", "lasting", "--name", "work"))["id"]
        self.daemon.made.add(box)
        self.assertEqual(self.told(box)["checkpoint"], "disk")
        self.sh(box, "echo mine > file")
        self.atoll("rm", "work")
        box = json.loads(self.atoll("create", "--json", "--driver", "gvisor", "--persistence", "checkpoint", "--name", "work"))["id"]
        self.daemon.made.add(box)
        self.assertEqual(self.sh(box, "cat file"), "mine\n")
        self.sh(box, "echo other > file")
        self.atoll("rm", "--discard", "work")
        box = json.loads(self.atoll("create", "--json", "--driver", "gvisor", "--checkpoint", "--name", "work"))["id"]
        self.daemon.made.add(box)
        self.assertEqual(self.sh(box, "cat file"), "mine\n")
        self.assertIn("--persistence checkpoint",
                      self.atoll("create", "--checkpoint", "--persistence", "ephemeral", "--name", "x", code=2))


class Lifecycles(Cases):
    def test_each_is_told(self):
        session = self.daemon.create(driver="native", ttl_s=600)
        self.assertEqual(self.told(session)["lifecycle"], "session")
        opened = self.ask("POST", "/v1/sessions", {"scope": "workspace", "key": "web", "sandbox": {"driver": "native"}}, 201).json
        self.daemon.made.add(opened["sandbox"])
        self.assertEqual(self.told(opened["sandbox"])["lifecycle"], "workspace")
        steady = self.daemon.create(driver="native", lifecycle="persistent")
        told = self.told(steady)
        self.assertEqual((told["lifecycle"], told["expires_at"]), ("persistent", None))
        running = subprocess.Popen([ATOLL, "run", "--driver", "native", "--", "sleep", "60"], env=self.environment(),
                                   stderr=subprocess.DEVNULL)
        try:
            def find():
                listed = self.ask("GET", "/v1/sandboxes", status=200).json["sandboxes"]
                return [one for one in listed if one["lifecycle"] == "ephemeral"]
            self.daemon.made.add(wait_until(find, "the run is listed")[0]["id"])
        finally:
            running.terminate()
            running.wait()

    def test_what_is_persistent_lasts_as_long_as_the_server_and_no_longer(self):
        box = self.daemon.create(driver="native", lifecycle="persistent", name="db")
        self.sh(box, "echo mine > file")
        refused = self.ask("POST", f"/v1/sandboxes/{box}/renew", {"ttl_s": 5})
        self.assertEqual(refused.status, 409, refused)
        self.daemon.kill()
        self.start()
        self.daemon.terminate()  # an upgrade leaves sandboxes
        self.start()
        told = self.told(box)
        self.assertEqual((told["state"], told["lifecycle"], told["expires_at"]), ("running", "persistent", None))
        self.assertEqual(self.sh(box, "cat file"), "mine\n")
        self.atoll("down")
        self.daemon.process.wait(timeout=30)
        self.assertEqual(self.daemon.agents(), {})

    def test_it_takes_a_profile_that_says_so_or_an_administrator(self):
        made = self.ask("POST", "/v1/keys", {"role": "member", "tenant": "acme", "label": "m"}, 201).json
        member = {"Authorization": f"Bearer {made['key']}"}
        refused = self.ask("POST", "/v1/sandboxes", {"driver": "native", "lifecycle": "persistent"}, 403, headers=member).json
        self.assertEqual(refused["code"], "permission_denied")
        given = self.ask("POST", "/v1/sandboxes", {"profile": "steady"}, 201, headers=member).json
        self.daemon.made.add(given["id"])
        self.assertEqual((given["lifecycle"], given["expires_at"]), ("persistent", None))
        timed = self.ask("POST", "/v1/sandboxes", {"profile": "steady", "ttl_s": 60}, 400, headers=member).json
        self.assertIn("as long as the server", timed["detail"])


if __name__ == "__main__":
    unittest.main()
