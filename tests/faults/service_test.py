"""The launcher as a service of the host, without systemd: this program hands over the socket as it would."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

from live import LIBEXEC, Daemon, is_alive, pid_on_host, wait_until

COUNTER = "i=0; while :; do echo $i; i=$((i+1)); sleep 0.05; done"


class Service:
    """What systemd does for atoll-launcher.socket and atoll-launcher.service."""

    def __init__(self, state):
        self.run = os.path.join(state, "run")
        self.path = os.path.join(os.path.dirname(state), "launcher.sock")
        os.makedirs(self.run, mode=0o711)
        os.chmod(state, 0o711)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(self.path)
        self.socket.listen(16)
        # A place of its own, where the programs can be replaced as a package manager does it.
        self.libexec = os.path.join(os.path.dirname(state), "libexec")
        shutil.copytree(LIBEXEC, self.libexec)
        self.program = os.path.join(self.libexec, "atoll-launcher")

    def start(self):
        with open(os.path.join(os.path.dirname(self.path), "launcher.log"), "ab") as log:
            self.process = self.popen(log)
        return self

    def popen(self, log):
        return subprocess.Popen(
            ["sh", "-c", f'LISTEN_PID=$$ LISTEN_FDS=1 STATE_DIRECTORY="$1" exec "$0" --service 3<&{self.socket.fileno()}',
             self.program, self.run], stdin=subprocess.DEVNULL, stderr=log, pass_fds=[self.socket.fileno()])

    def replace_programs(self):
        for name in os.listdir(self.libexec):
            path = os.path.join(self.libexec, name)
            if os.path.isfile(path):
                shutil.copy2(path, path + ".new")
                os.rename(path + ".new", path)

    def end(self):
        self.socket.close()
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=30)


class LauncherService(unittest.TestCase):
    driver = "subprocess"

    def setUp(self):
        self.daemon = Daemon()
        self.service = Service(self.daemon.state).start()
        self.daemon.arguments = ["--launcher", self.service.path]
        self.addCleanup(self.service.end)
        self.addCleanup(self.daemon.end)  # asserts that nothing is left: without work the launcher leaves
        self.daemon.start()
        self.box = self.daemon.create(driver=self.driver, ttl_s=600)
        self.counter = self.daemon.start_process(self.box, "sh", "-c", COUNTER)
        self.pid = pid_on_host(self.box, self.counter["pid"])

    def check_counts(self):
        """It is the same process, and no line of its output is missing."""
        self.assertTrue(is_alive(self.pid))
        text = ""
        for event in self.daemon.events(self.box, self.counter["process"]):
            text += event["data"] if event["type"] == "stdout" else ""
            if text.count("\n") >= 3:
                break
        lines = text.split("\n")[:-1]
        self.assertEqual(lines, [str(i) for i in range(len(lines))])
        self.assertEqual(self.daemon.exec(self.box, "echo", "alive")["stdout"], "alive\n")

    def test_a_new_daemon_takes_the_sandboxes_up(self):
        launcher = self.daemon.launcher()
        self.daemon.terminate()
        self.daemon.start()
        self.check_counts()
        self.daemon.kill()
        self.daemon.start()
        self.check_counts()
        self.assertEqual(self.daemon.launcher(), launcher)

    def test_a_launcher_that_dies_is_started_again(self):
        launcher = self.daemon.launcher()
        os.kill(launcher, signal.SIGKILL)
        wait_until(lambda: self.daemon.launcher() not in (None, launcher), "the keeper starts another launcher")
        self.check_counts()

    def test_sighup_brings_the_program_that_is_installed_now(self):
        launcher = self.daemon.launcher()
        old = os.stat(f"/proc/{self.service.process.pid}/exe").st_ino
        self.service.replace_programs()
        for _ in range(3):
            self.service.process.send_signal(signal.SIGHUP)
        new = os.stat(self.service.program).st_ino
        self.assertNotEqual(new, old)
        wait_until(lambda: os.stat(f"/proc/{self.service.process.pid}/exe").st_ino == new, "the keeper is the new program")
        wait_until(lambda: self.daemon.launcher() not in (None, launcher), "another launcher serves")
        self.check_counts()
        box = self.daemon.create(driver=self.driver)
        self.assertEqual(self.daemon.exec(box, "echo", "new")["stdout"], "new\n")
        self.assertIsNone(self.service.process.poll())

    def test_sighup_while_sandboxes_are_being_made_loses_none_that_was_promised(self):
        made = []
        for _ in range(10):
            self.service.process.send_signal(signal.SIGHUP)
            made.append(wait_until(self.try_create, "sandboxes are made again", 60))
        self.check_counts()
        for box in made:
            self.assertEqual(self.daemon.exec(box, "echo", "alive")["stdout"], "alive\n")

    def try_create(self):
        answer = self.daemon.call("POST", "/v1/sandboxes", {"driver": self.driver})
        if answer.status != 201:
            self.assertEqual(answer.status, 503, answer)
            return None
        self.daemon.made.add(answer.json["id"])
        return answer.json["id"]

    def test_sigterm_ends_every_sandbox_and_tells_the_daemon(self):
        self.service.process.terminate()
        self.assertEqual(self.service.process.wait(timeout=30), 0)
        wait_until(lambda: not is_alive(self.pid), "the sandbox has ended")
        self.assertEqual(os.listdir(self.service.run), [])
        state = self.daemon.call("GET", f"/v1/sandboxes/{self.box}").json
        self.assertNotEqual(state.get("state"), "running", state)
        # The next who connects is served again, as systemd has it.
        self.service.start()
        box = self.daemon.create(driver=self.driver)
        self.assertEqual(self.daemon.exec(box, "echo", "new")["stdout"], "new\n")

    def test_sigterm_reaches_the_successor_of_a_launcher_that_was_just_killed(self):
        self.service.process.send_signal(signal.SIGHUP)
        self.service.process.terminate()
        self.assertEqual(self.service.process.wait(timeout=30), 0)
        wait_until(lambda: not is_alive(self.pid), "the sandbox has ended")
        self.assertEqual(os.listdir(self.service.run), [])
        self.service.start()

    def test_without_work_it_leaves(self):
        self.daemon.call("DELETE", f"/v1/sandboxes/{self.box}")
        self.daemon.terminate()
        self.assertEqual(self.service.process.wait(timeout=30), 0)
        self.assertEqual(os.listdir(self.service.run), [])
        self.assertTrue(os.path.exists(self.service.path), "the socket is not the launcher's to remove")


@unittest.skipUnless(os.geteuid() == 0, "the native driver needs root")
class NativeLauncherService(LauncherService):
    driver = "native"

    def test_a_large_disk_is_in_the_storage_pool(self):
        box = self.daemon.create(driver="native", resources={"memory_mb": 256, "disk_mb": 1500})
        self.assertTrue(self.daemon.pool())
        self.service.process.send_signal(signal.SIGHUP)
        self.assertEqual(self.daemon.exec(box, "sh", "-c", "echo x >file && cat file")["stdout"], "x\n")
        self.service.process.terminate()
        self.assertEqual(self.service.process.wait(timeout=30), 0)
        self.assertEqual(os.listdir(self.service.run), [])
        self.service.start()  # as systemd does when the daemon connects


class Refusals(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory(prefix="atoll-service-"))
        self.listener = self.enterContext(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))

    def launch(self, environment):
        return subprocess.run(
            ["sh", "-c", f'LISTEN_PID=$$ exec "$0" --service 3<&{self.listener.fileno()}',
             os.path.join(LIBEXEC, "atoll-launcher")], env={"PATH": os.environ["PATH"], **environment},
            pass_fds=[self.listener.fileno()], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=30)

    def test_no_socket(self):
        done = self.launch({"STATE_DIRECTORY": self.directory})
        self.assertEqual((done.returncode, done.stderr), (125, "atoll-launcher: no socket was handed over\n"))

    def test_a_socket_without_a_place(self):
        self.listener.bind("\0atoll-service-test")
        done = self.launch({"LISTEN_FDS": "1", "STATE_DIRECTORY": self.directory})
        self.assertEqual(done.returncode, 125)
        self.assertIn("no place in the file system", done.stderr)

    def test_a_run_directory_that_others_may_write_to(self):
        self.listener.bind(os.path.join(self.directory, "launcher.sock"))
        run = os.path.join(self.directory, "run")
        os.mkdir(run)
        os.chmod(run, 0o777)
        done = self.launch({"LISTEN_FDS": "1", "STATE_DIRECTORY": run})
        self.assertEqual(done.returncode, 125)
        self.assertIn("others may write to it", done.stderr)

    def test_a_run_directory_behind_a_link(self):
        self.listener.bind(os.path.join(self.directory, "launcher.sock"))
        os.mkdir(os.path.join(self.directory, "real"))
        os.symlink("real", os.path.join(self.directory, "run"))
        done = self.launch({"LISTEN_FDS": "1", "STATE_DIRECTORY": os.path.join(self.directory, "run")})
        self.assertEqual(done.returncode, 125, done)

    def test_a_daemon_without_the_service(self):
        daemon = Daemon(arguments=["--launcher", os.path.join(self.directory, "none.sock")])
        with self.assertRaises(AssertionError) as failure:
            daemon.start()
        self.assertIn("systemctl status atoll-launcher.socket", str(failure.exception))
        shutil.rmtree(daemon.directory)


if __name__ == "__main__":
    unittest.main()
