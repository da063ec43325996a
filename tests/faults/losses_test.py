"""Parts vanish: an agent, the launcher. Each gets its own clear answer."""

import os
import signal
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


if __name__ == "__main__":
    unittest.main()
