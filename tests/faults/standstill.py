"""A daemon stands still for a minute, beside whatever else a file of cases does: start() before them, and Stopped as the last one."""

import json
import os
import pathlib
import signal
import subprocess
import threading
import time
import unittest

from live import ATOLL, Daemon, wait_until


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
        self.daemon.end()  # asserts that nothing is left


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
        self.assertIsNone(agent_of(still.short), "the launcher ends what has expired")
        self.assertTrue(agent_of(still.stays))
        stood = time.monotonic() - still.begun

        still.go_on()

        fenced = 0
        for what, connection in still.asked.items():
            answer = connection.getresponse()
            body = answer.read()
            self.assertGreaterEqual(answer.status, 400, (what, answer.status, body))
            self.assertLess(answer.status, 500 if "run" not in what else 504, (what, answer.status, body))
            self.assertIn(b"request_id", body)
            fenced += 1
            connection.close()
        begun = time.monotonic()
        self.assertEqual(daemon.exec(still.stays, "echo", "fine")["stdout"], "fine\n")
        answered = time.monotonic() - begun
        for box in (still.short, still.idle, still.session["sandbox"]):
            wait_until(lambda: self.state(box) in ("destroyed", "gone"), f"the end of {box} is known, which is {self.state(box)}", 20)  # noqa: B023
            self.assertIsNone(agent_of(box))
        self.assertEqual(self.state(still.stays), "running")
        print(f"figure: 8, daemon stopped for {stood:.0f} s: fenced operations {fenced} of {len(still.asked)}, ended meanwhile 1, idle and sessions ended"
              f" afterwards 2, the first answer took {answered * 1000:.0f} ms", flush=True)

    def state(self, box):
        answer = Stopped.still.daemon.call("GET", f"/v1/sandboxes/{box}")
        return answer.json["state"] if answer.status == 200 else "gone"


def start():
    """What module cleanups end."""
    Stopped.still = Still()
    unittest.addModuleCleanup(Stopped.still.end)
