"""Parts vanish or run out: an agent, the launcher, the disk, descriptors. Each gets its own clear answer."""

import os
import resource
import signal
import subprocess
import unittest

from live import Daemon, is_alive, wait_until


class Losses(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()

    def tearDown(self):
        self.daemon.end()  # asserts that nothing is left

    def test_a_vanished_agent_fails_only_its_own_sandbox(self):
        self.daemon.start()
        box, other = self.daemon.create(driver="subprocess"), self.daemon.create(driver="subprocess")
        process = self.daemon.start_process(box, "sh", "-c", "sleep 600 & sleep 600")

        os.kill(self.daemon.agents()[box], signal.SIGKILL)

        wait_until(lambda: self.daemon.call("GET", f"/v1/sandboxes/{box}").json["state"] == "failed", "it is failed")
        wait_until(lambda: not is_alive(process["pid"]), "its processes are gone")
        answer = self.daemon.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["true"]})
        self.assertIn(answer.status, (409, 503), answer)
        self.assertIn("request_id", answer.json)
        self.assertEqual(self.daemon.exec(other, "echo", "fine")["stdout"], "fine\n")
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)

    def test_an_exec_whose_agent_vanishes_says_so(self):
        self.daemon.start()
        box = self.daemon.create(driver="local")
        connection = self.daemon.connection()
        connection.request("POST", f"/v1/sandboxes/{box}/exec", '{"argv":["sleep","600"]}',
                           {"Content-Type": "application/json"})
        wait_until(lambda: self.daemon.call("GET", f"/v1/sandboxes/{box}/processes").json["processes"], "it runs")

        os.kill(self.daemon.agents()[box], signal.SIGKILL)

        answer = connection.getresponse()
        body = answer.read()
        self.assertTrue(answer.status == 503 or b'"reason":"infra"' in body, (answer.status, body))
        connection.close()

    def test_a_vanished_launcher_delays_a_create_and_does_not_fail_it(self):
        self.daemon.start()
        for _ in range(5):
            os.kill(self.daemon.launcher(), signal.SIGKILL)
            box = wait_until(lambda: self.try_create(), "a create works again")
            self.assertEqual(self.daemon.exec(box, "true")["exit_code"], 0)
            wait_until(self.daemon.launcher, "a launcher is there")

    def try_create(self):
        answer = self.daemon.call("POST", "/v1/sandboxes", {"driver": "local"})
        return answer.json["id"] if answer.status == 201 else None

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small file system needs root")
    def test_a_full_disk_is_an_error_and_passes(self):
        small = os.path.join(self.daemon.directory, "small")
        os.mkdir(small)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=0711", "tmpfs", small], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", small], stderr=subprocess.DEVNULL)
        self.daemon.state = os.path.join(small, "state")
        self.daemon.start()
        kept = self.daemon.create(driver="local")

        ballast = os.path.join(small, "ballast")
        file = os.open(ballast, os.O_WRONLY | os.O_CREAT)
        with self.assertRaises(OSError):
            while True:
                os.write(file, bytes(4096))
        os.close(file)
        refused = self.daemon.call("POST", "/v1/sandboxes", {"driver": "local"})
        upload = self.daemon.call("PUT", f"/v1/sandboxes/{kept}/files?path=big", bytes(1 << 20))
        self.assertIn(refused.status, (201, 500, 507), refused)
        self.assertEqual(upload.status, 507, upload)
        self.assertEqual(self.daemon.call("GET", "/healthz").status, 200)
        self.assertEqual(self.daemon.call("GET", f"/v1/sandboxes/{kept}").status, 200)

        os.unlink(ballast)
        self.assertEqual(self.daemon.call("PUT", f"/v1/sandboxes/{kept}/files?path=big", bytes(1 << 20)).status // 100, 2)
        self.daemon.create(driver="local")
        self.daemon.process.send_signal(signal.SIGINT)
        self.daemon.process.wait(timeout=30)
        wait_until(lambda: not self.daemon.launchers(), "the launcher leaves")
        subprocess.run(["umount", small], check=True)

    def test_too_few_descriptors_are_an_error_and_pass(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80))
        self.daemon.start(preexec_fn=limit)
        box = self.daemon.create(driver="local")
        held = []
        for _ in range(100):
            try:
                connection = self.daemon.connection(timeout=5)
                connection.connect()
                held.append(connection)
            except OSError:
                break

        for connection in held:
            connection.close()

        answer = wait_until(lambda: self.ask(box), "the daemon answers again")
        self.assertEqual(answer.status, 200)
        self.assertEqual(self.daemon.exec(box, "echo", "fine")["stdout"], "fine\n")

    def ask(self, box):
        try:
            return self.daemon.call("GET", f"/v1/sandboxes/{box}", timeout=5)
        except OSError:
            return None


if __name__ == "__main__":
    unittest.main()
