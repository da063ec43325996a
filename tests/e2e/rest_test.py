"""Sandboxes that wait and come back: paused when idle, kept after their time, woken by whoever uses them, made anew when they die."""

import os
import pathlib
import signal
import subprocess
import threading
import time
import unittest

from live import ATOLL, Daemon, all_pids, name_of, wait_until

LIBEXEC = {"ATOLL_LIBEXEC": os.environ["ATOLL_LIBEXEC"]} if "ATOLL_LIBEXEC" in os.environ else {}

# Writes a number that grows as long as it runs, and stands still while the sandbox does.
COUNTER = """
import os, time
n = 0
while True:
    n += 1
    open("now", "w").write(str(n)); os.rename("now", "count")
    time.sleep(0.02)
"""


def agent_of(box):
    for pid in all_pids():
        if name_of(pid) == "atoll-agent" and box in pathlib.Path(f"/proc/{pid}/cgroup").read_text():
            return pid
    raise AssertionError(f"{box} has no agent")


class Resting(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.daemon.start(env=LIBEXEC)
        self.addCleanup(self.daemon.end)

    def create(self, **request):
        return self.daemon.create(driver="native", **request)

    def view(self, box):
        answer = self.daemon.call("GET", f"/v1/sandboxes/{box}")
        return answer.json if answer.status == 200 else {"state": "gone"}

    def wait_for(self, box, state, seconds=30):
        wait_until(lambda: self.view(box)["state"] == state, f"{box} is {state}, not {self.view(box)}", seconds)
        return self.view(box)

    def again(self):
        """kill -9, and the next daemon."""
        self.daemon.kill()
        self.daemon.start(env=LIBEXEC)

    def atoll(self, *words, status=0):
        done = subprocess.run([ATOLL, "--state", str(self.daemon.state), *words], capture_output=True, text=True, timeout=120,
                              env={**os.environ, **LIBEXEC})
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def count(self, box):
        return int(self.daemon.call("GET", f"/v1/sandboxes/{box}/files?path=count").body or 0)

    def test_an_idle_sandbox_pauses_and_goes_on_where_it_was(self):
        box = self.create(ttl_s=600, idle_s=1, on_idle="pause")
        self.daemon.exec(box, "sh", "-c", f"setsid python3 -c '{COUNTER}' >/dev/null 2>&1 </dev/null & sleep 0.5")
        resting = self.wait_for(box, "paused")
        self.assertEqual(resting["rest"], "idle")
        self.assertIn("paused (idle)", self.atoll("ps").stdout)

        first = self.count(box)  # a file call wakes it
        self.assertGreater(first, 0)
        woken = self.view(box)
        self.assertEqual((woken["state"], woken.get("rest")), ("running", None))
        wait_until(lambda: self.count(box) > first, "the process goes on")
        self.wait_for(box, "paused")
        self.assertEqual(self.daemon.exec(box, "echo", "hi")["stdout"], "hi\n")  # and so does a command
        metrics = self.daemon.call("GET", "/metrics").body.decode()
        self.assertIn('atoll_operations_total{driver="native",operation="wake",outcome="ok"}', metrics)
        self.assertIn('atoll_sandbox_rests_total{why="idle",outcome="ok"}', metrics)

    def test_many_at_once_wake_it_once_and_all_are_served(self):
        box = self.create(ttl_s=600, idle_s=1, on_idle="pause")
        self.wait_for(box, "paused")
        said = []

        def call(number):
            said.append(self.daemon.exec(box, "echo", str(number))["stdout"])

        threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(said), [f"{number}\n" for number in range(8)])
        metrics = self.daemon.call("GET", "/metrics").body.decode()
        self.assertIn('atoll_operations_total{driver="native",operation="wake",outcome="ok"} 1\n', metrics)

    def test_a_port_wakes_it_too(self):
        box = self.create(ttl_s=600, idle_s=1, on_idle="pause")
        serve = "setsid python3 -m http.server 8000 --bind 127.0.0.1 >/dev/null 2>&1 </dev/null &"
        self.daemon.exec(box, "sh", "-c", f"echo here > index.html; {serve}")
        self.wait_for(box, "paused")
        connection = self.daemon.connection()
        connection.request("GET", f"/v1/sandboxes/{box}/ports/8000", headers={"Upgrade": "tcp", "Connection": "Upgrade"})
        connection.sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
        heard = b""
        wait_until(lambda: self.view(box)["state"] == "running", "it runs")
        while b"here" not in heard:
            piece = connection.sock.recv(65536)
            self.assertTrue(piece, heard)
            heard += piece
        connection.close()

    def test_rest_survives_the_death_of_the_daemon(self):
        box = self.create(ttl_s=600, idle_s=1, on_idle="stop", env={"WORD": "kept"})
        self.daemon.exec(box, "sh", "-c", "echo mine > file")
        self.wait_for(box, "stopped")
        self.again()
        self.assertEqual(self.view(box)["rest"], "idle")
        self.assertEqual(self.daemon.exec(box, "sh", "-c", "cat file; echo $WORD")["stdout"], "mine\nkept\n")
        self.assertEqual(self.view(box)["state"], "running")

    def test_what_expires_is_paused_kept_and_has_its_time_anew(self):
        box = self.create(ttl_s=2, on_expire="pause", keep_s=600)
        self.daemon.exec(box, "sh", "-c", "echo mine > file")
        resting = self.wait_for(box, "paused")
        self.assertEqual(resting["rest"], "expired")
        self.assertGreater(resting["kept_until"], resting["expires_at"])
        self.again()
        self.assertEqual(self.view(box)["state"], "paused")
        self.assertEqual(self.daemon.exec(box, "cat", "file")["stdout"], "mine\n")
        self.assertGreater(self.view(box)["expires_at"], resting["expires_at"])
        self.wait_for(box, "paused")  # for its time is up again

    def test_what_expires_while_nobody_is_there_is_put_to_rest_by_the_next_daemon(self):
        box = self.create(ttl_s=2, on_expire="stop", keep_s=600)
        ends = time.monotonic() + 3
        self.daemon.kill()
        wait_until(lambda: time.monotonic() > ends, "its time is up")
        self.daemon.start(env=LIBEXEC)
        self.assertEqual(self.wait_for(box, "stopped")["rest"], "expired")
        self.assertEqual(self.daemon.exec(box, "echo", "back")["stdout"], "back\n")

    def test_what_is_kept_ends_in_the_end(self):
        box = self.create(ttl_s=1, on_expire="pause", keep_s=2)
        self.wait_for(box, "paused")
        self.wait_for(box, "gone")

    def test_the_launcher_ends_what_is_kept_though_no_daemon_is_there(self):
        box = self.create(ttl_s=1, on_expire="pause", keep_s=1)
        agent = agent_of(box)
        self.daemon.kill()
        wait_until(lambda: not os.path.exists(f"/proc/{agent}"), "its launcher has ended it")
        self.daemon.start(env=LIBEXEC)
        self.assertEqual(self.view(box)["state"], "gone")

    def test_what_somebody_has_paused_stays_so(self):
        box = self.create(ttl_s=600, idle_s=600, on_idle="pause")
        self.daemon.call("POST", f"/v1/sandboxes/{box}/pause")
        refused = self.daemon.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["true"]})
        self.assertEqual((refused.status, refused.json["code"]), (409, "conflict"))

    def test_the_command_line_says_and_refuses_it(self):
        box = self.atoll("create", "--driver", "native", "--idle", "1s", "--on-idle", "pause", "--on-expire", "stop", "--keep", "2h").stdout.strip()
        self.daemon.made.add(box)
        self.wait_for(box, "paused")
        self.assertEqual(self.atoll("exec", box, "--", "echo", "hi").stdout, "hi\n")
        refused = self.atoll("create", "--driver", "subprocess", "--on-expire", "pause", status=125)
        self.assertIn("subprocess cannot pause a sandbox", refused.stderr)
        stopped = self.atoll("create", "--driver", "subprocess", "--on-expire", "stop").stdout.strip()
        self.atoll("rm", stopped)
        self.assertIn("--on-idle", self.atoll("create", "--on-idle", "pause", status=125).stderr)
        self.assertIn("--keep", self.atoll("create", "--keep", "1h", status=2).stderr)
        self.assertIn("--on-expire", self.atoll("run", "--on-expire", "pause", "--", "true", status=125).stderr)

    def test_a_dead_sandbox_is_made_anew_and_says_so(self):
        box = self.create(ttl_s=600, on_failure="recreate", env={"WORD": "kept"})
        token = self.daemon.call("POST", f"/v1/sandboxes/{box}/token", {}).json["token"]
        before = agent_of(box)
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: self.view(box).get("recoveries") == 1, "it was made anew")
        wait_until(lambda: self.view(box)["state"] == "running", "it runs")
        self.assertEqual(self.daemon.exec(box, "sh", "-c", "echo $WORD")["stdout"], "kept\n")
        self.assertNotEqual(agent_of(box), before)
        self.assertNotIn("health", self.view(box))
        bearer = {"Authorization": f"Bearer {token}"}
        self.assertEqual(self.daemon.call("GET", f"/v1/sandboxes/{box}", headers=bearer).status, 200)
        types = [event["type"] for event in self.daemon.call("GET", f"/v1/events?sandbox={box}").json["events"]]
        for seen in ("sandbox.failed", "sandbox.recovering", "sandbox.running"):
            self.assertIn(seen, types)
        metrics = self.daemon.call("GET", "/metrics").body.decode()
        self.assertIn('atoll_sandbox_recoveries_total{driver="native",outcome="ok"} 1\n', metrics)

    def test_without_the_word_it_stays_failed(self):
        box = self.create(ttl_s=600)
        os.kill(agent_of(box), signal.SIGKILL)
        failed = self.wait_for(box, "failed")
        self.assertEqual(failed["health"], "failed")
        self.assertIn('atoll_sandboxes_unhealthy{health="failed"} 1\n', self.daemon.call("GET", "/metrics").body.decode())

    def test_one_that_died_while_the_daemon_was_away_is_made_anew(self):
        box = self.create(ttl_s=600, on_failure="recreate")
        agent = agent_of(box)
        self.daemon.kill()
        os.kill(agent, signal.SIGKILL)
        self.daemon.start(env=LIBEXEC)
        self.wait_for(box, "running")
        self.assertEqual(self.daemon.exec(box, "echo", "back")["stdout"], "back\n")

    def test_how_it_began_is_known_after_its_end(self):
        box = self.create(ttl_s=600)
        self.daemon.call("DELETE", f"/v1/sandboxes/{box}")
        self.again()
        told = self.daemon.call("GET", f"/v1/sandboxes/{box}/start")
        self.assertEqual((told.status, told.json["state"]), (200, "destroyed"), told)
        self.assertIn("route", [stage["name"] for stage in told.json["stages"]])
        self.assertIn('"stages"', self.atoll("inspect", "--start", box).stdout)

    # Sandboxes that several hold.

    def key(self, role):
        return {"Authorization": "Bearer " + self.daemon.call("POST", "/v1/keys", {"role": role, "tenant": "acme"}).json["key"]}

    def session(self, headers=None, **asked):
        answer = self.daemon.call("POST", "/v1/sessions", asked, headers=headers)
        self.assertEqual(answer.status, 201, answer)
        self.daemon.made.add(answer.json["sandbox"])
        return answer.json

    def test_sessions_share_a_workspace_and_the_last_one_ends_it(self):
        one, other = self.key("agent"), self.key("agent")
        first = self.session(one, scope="workspace", key="web", sandbox={"driver": "native"})
        path = f"/v1/sandboxes/{first['sandbox']}"
        self.assertEqual(self.daemon.call("GET", path, headers=other).status, 404)
        second = self.session(other, scope="workspace", key="web")
        self.assertEqual((second["sandbox"], second["holders"]), (first["sandbox"], 2))
        self.daemon.call("PUT", path + "/files?path=note", b"ours", headers=one)
        self.assertEqual(self.daemon.call("GET", path + "/files?path=note", headers=other).body, b"ours")
        self.again()
        self.assertEqual(self.daemon.call("GET", f"/v1/sessions/{second['id']}", headers=other).json["holders"], 2)
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sessions/{first['id']}", headers=other).status, 404)
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sessions/{first['id']}", headers=one).status, 204)
        self.assertEqual(self.daemon.call("GET", path + "/files?path=note", headers=other).body, b"ours")
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sessions/{second['id']}", headers=other).status, 204)
        self.assertEqual(self.view(first["sandbox"])["state"], "gone")

    def test_a_session_that_nobody_renews_lets_go(self):
        held = self.session(scope="workspace", key="web", ttl_s=5, on_last="pause", sandbox={"driver": "native"})
        self.daemon.exec(held["sandbox"], "sh", "-c", "echo mine > file")
        self.assertEqual(self.wait_for(held["sandbox"], "paused")["rest"], "idle")
        again = self.session(scope="workspace", key="web")
        self.assertEqual((again["sandbox"], again["holders"]), (held["sandbox"], 1))
        self.assertEqual(self.daemon.exec(again["sandbox"], "cat", "file")["stdout"], "mine\n")

    def test_a_viewer_reads_and_changes_nothing(self):
        box = self.create(ttl_s=600)
        self.daemon.exec(box, "sh", "-c", "echo seen > file")
        viewer = {"Authorization": "Bearer " + self.atoll("token", "--read-only", box).stdout.strip()}
        path = f"/v1/sandboxes/{box}"
        self.assertEqual(self.daemon.call("GET", path + "/files?path=file", headers=viewer).body, b"seen\n")
        for look in ("", "/stats", "/start", "/logs", "/processes"):
            self.assertEqual(self.daemon.call("GET", path + look, headers=viewer).status, 200, look)
        for method, change, body in (("POST", "/exec", {"argv": ["true"]}), ("PUT", "/files?path=x", b"x"), ("POST", "/pause", None),
                                     ("DELETE", "", None), ("POST", "/token", {})):
            self.assertEqual(self.daemon.call(method, path + change, body, headers=viewer).status, 403, change)

    def test_the_command_line_opens_lists_renews_and_closes(self):
        session, box = self.atoll("session", "open", "--scope", "workspace", "--key", "web", "--driver", "native", "--lease", "1h").stdout.split()
        self.daemon.made.add(box)
        self.assertEqual(self.atoll("session", "open", "--scope", "workspace", "--key", "web").stdout.split()[1], box)
        self.assertRegex(self.atoll("session", "ls").stdout, f"{session} +workspace +web +{box} +2")
        self.assertIn(box, self.atoll("session", "show", session).stdout)
        self.assertIn(box, self.atoll("session", "renew", session, "--lease", "2h").stdout)
        for verb in (["open"], ["renew", session]):
            refused = subprocess.run([ATOLL, "session", *verb, "--lease", "1s"], capture_output=True, text=True)
            self.assertEqual((refused.returncode, refused.stderr.split(": ")[1]), (2, "--lease"))
        self.atoll("session", "close", *self.atoll("session", "ls", "-q").stdout.split())
        self.assertEqual(self.view(box)["state"], "gone")


if __name__ == "__main__":
    unittest.main()
