"""A daemon stands still for a minute, beside whatever else a file of cases does: start() before them, and Stopped as the last one."""

import contextlib
import datetime
import json
import os
import pathlib
import signal
import subprocess
import threading
import time
import unittest

from live import ATOLL, Daemon, wait_until

ENDED = ("destroyed", "gone")  # states


def agent_of(box):
    """On the host; none when it is gone."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if pathlib.Path(f"/proc/{pid}/comm").read_text(errors="replace") == "atoll-agent\n" and box in pathlib.Path(f"/proc/{pid}/cgroup").read_text():
                return int(pid)
        except OSError:
            pass
    return None


class Still:
    """A daemon that stands still for as long as everything else takes, and for a minute at least."""

    SECONDS = 60

    def __init__(self):
        self.daemon = Daemon().start()
        call = self.daemon.call
        self.short, self.stays = self.daemon.create(driver="native", ttl_s=15), self.daemon.create(driver="native", ttl_s=600)
        self.idle = self.daemon.create(driver="native", ttl_s=600, idle_s=15)
        session = call("POST", "/v1/sessions", {"scope": "session", "ttl_s": 15, "on_last": "kill", "sandbox": {"driver": "native"}})
        assert session.status == 201, session
        self.session = session.json
        self.daemon.made.add(self.session["sandbox"])
        os.kill(self.daemon.process.pid, signal.SIGSTOP)
        self.begun = time.monotonic()
        # The first that it finds when it goes on: nobody has told it yet what is over.
        self.asked = {name: self.ask(*call) for name, call in (
            ("renew the expired one", ("POST", f"/v1/sandboxes/{self.short}/renew", {"ttl_s": 600})),
            ("run in the expired one", ("POST", f"/v1/sandboxes/{self.short}/exec", {"argv": ["true"]})),
            ("renew the session", ("POST", f"/v1/sessions/{self.session['id']}/renew", {})))}

    def ask(self, method, path, body):
        """Is on its way now, and read when the daemon goes on."""
        connection = self.daemon.connection(timeout=600)
        connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
        return connection

    def go_on(self):
        os.kill(self.daemon.process.pid, signal.SIGCONT)

    def end(self):
        self.go_on()
        self.daemon.end(f"8, after a daemon that stood still for {self.SECONDS} s")  # asserts that nothing is left


class Stopped(unittest.TestCase):
    """The last one: meanwhile the others have had their turn. It has to be a class of their module, whose end is that of the daemon."""

    still = None

    def test_a_daemon_that_stood_still_holds_up_no_end_and_does_nothing_that_is_over(self):
        still = Stopped.still
        daemon = still.daemon
        second = subprocess.run([ATOLL, "serve", "--listen", "127.0.0.1:0", "--state", daemon.state], capture_output=True, text=True, timeout=60)
        self.assertNotEqual(second.returncode, 0)
        self.assertIn("another daemon uses", second.stderr)
        threading.Event().wait(max(0, still.begun + still.SECONDS - time.monotonic()))  # the fault itself
        over = (still.short, still.idle, still.session["sandbox"])
        meanwhile = [box for box in over if agent_of(box) is None]
        self.assertTrue(agent_of(still.stays))
        stood = time.monotonic() - still.begun

        went_on = datetime.datetime.now(datetime.timezone.utc)
        still.go_on()

        answers = {what: self.answer_on(connection) for what, connection in still.asked.items()}
        fenced = [what for what, (status, _) in answers.items() if status >= 400]
        begun = time.monotonic()
        fine = daemon.exec(still.stays, "echo", "fine")["stdout"]
        answered = time.monotonic() - begun
        with contextlib.suppress(AssertionError):  # what it came to is told first
            wait_until(lambda: all(self.state(box) in ENDED for box in over), "the end of all is known", 60)
        states = {box: self.state(box) for box in over}
        afterwards = [box for box in over if box not in meanwhile and states[box] in ENDED and agent_of(box) is None]
        print(f"figure: 8, daemon stopped for {stood:.0f} s: of {len(answers)} operations on what was over fenced {len(fenced)}, done"
              f" {len(answers) - len(fenced)}; of {len(over)} that were over ended meanwhile {len(meanwhile)}, afterwards {len(afterwards)};"
              f" the first answer took {answered * 1000:.0f} ms", flush=True)
        self.assertIn(still.short, meanwhile, "the launcher ends what has expired")
        self.assertEqual(fine, "fine\n")
        for what, (status, body) in answers.items():
            if what == "renew the session" and status == 200:
                # It came before anybody had ended the session, which lives on for as long as it was told, from now.
                self.assertGreater(datetime.datetime.fromisoformat(json.loads(body)["expires_at"].replace("Z", "+00:00")), went_on)
                continue
            self.assertIn(what, fenced, (status, body))
            self.assertLess(status, 500 if "run" not in what else 504, (what, status, body))
            self.assertIn(b"request_id", body)
        self.assertEqual(set(meanwhile + afterwards), set(over), states)
        self.assertEqual(self.state(still.stays), "running")

    @staticmethod
    def answer_on(connection):
        with contextlib.closing(connection):
            answer = connection.getresponse()
            return answer.status, answer.read()

    def state(self, box):
        answer = Stopped.still.daemon.call("GET", f"/v1/sandboxes/{box}")
        return answer.json["state"] if answer.status == 200 else "gone"


def start():
    """What module cleanups end."""
    Stopped.still = Still()
    unittest.addModuleCleanup(Stopped.still.end)
