"""`sudo` in a box: root of the sandbox for scripts that expect it, and nothing more."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from live import ATOLL, Daemon

KNOCK = r'''
import array, socket, struct, sys, os
def text(value):
    value = value.encode()
    return struct.pack("<I", len(value)) + value
def ask(argv, user="root", env={}):
    packet = b"\x01" + text(user) + struct.pack("<I", len(argv)) + b"".join(map(text, argv))
    return packet + struct.pack("<I", len(env)) + b"".join(text(k) + text(v) for k, v in env.items())
def knock():
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    door.connect("\0atoll-sudo")
    return door
def say(door, packet, fds):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    door.sendmsg([packet], rights)
here = os.open(".", os.O_RDONLY)
'''


class Sudo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.end)  # asserts that nothing is left
        cls.box = cls.daemon.create(driver="native")

    def run_in(self, *argv, **more):
        return self.daemon.exec(self.box, *argv, **more)

    def atoll(self, *arguments):
        return subprocess.run([ATOLL, *arguments], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "ATOLL_STATE": str(self.daemon.state)})

    def sh(self, script, **more):
        return self.run_in("sh", "-c", script, **more)

    def python(self, code, **more):
        return self.run_in("python3", "-c", KNOCK + code, **more)

    def test_runs_as_root_of_the_sandbox(self):
        done = self.run_in("sudo", "sh", "-c", "id -u; id -g; echo $HOME $USER $SUDO_USER $SUDO_UID; pwd")
        self.assertEqual((done["exit_code"], done["stdout"]), (0, "0\n0\n/root root user 1000\n/workspace\n"), done)

    def test_every_way_to_it_is_the_same(self):
        self.assertEqual(self.run_in("/opt/atoll/bin/sudo", "id", "-u")["stdout"], "0\n")
        if os.path.exists("/usr/bin/sudo"):
            self.assertEqual(self.run_in("/usr/bin/sudo", "id", "-u")["stdout"], "0\n")

    def test_runs_as_somebody_else(self):
        self.assertEqual(self.run_in("sudo", "-u", "daemon", "id", "-un")["stdout"], "daemon\n")
        self.assertEqual(self.run_in("sudo", "-n", "-u", "4321", "id", "-u")["stdout"], "4321\n")
        refused = self.run_in("sudo", "-u", "nobody-here", "id")
        self.assertEqual(refused["exit_code"], 1)
        self.assertIn("no user 'nobody-here'", refused["stderr"])

    def test_root_has_no_capabilities_on_the_hosts_system(self):
        status = self.run_in("sudo", "cat", "/proc/self/status")["stdout"]
        self.assertRegex(status, r"CapEff:\s+0{16}\n")
        self.assertRegex(status, r"NoNewPrivs:\s+1\n")

    def test_stdio_passes_through(self):
        done = self.run_in("sudo", "sh", "-c", "cat; echo problem >&2", stdin="some\ninput")
        self.assertEqual((done["stdout"], done["stderr"]), ("some\ninput", "problem\n"), done)

    def test_exit_code_and_signal_are_the_commands(self):
        self.assertEqual(self.run_in("sudo", "sh", "-c", "exit 7")["exit_code"], 7)
        self.assertEqual(self.sh("sudo sh -c 'kill -9 $$'; echo $?")["stdout"], "137\n")

    def test_a_missing_command_is_said(self):
        done = self.run_in("sudo", "no-such-program")
        self.assertEqual((done["exit_code"], done["stderr"]), (1, "sudo: no-such-program: command not found\n"))

    def test_environment_is_reset_unless_kept(self):
        env = {"SECRET": "x", "TERM": "xterm"}
        self.assertEqual(self.sh("sudo sh -c 'echo $SECRET-$TERM'", env=env)["stdout"], "-xterm\n")
        self.assertEqual(self.sh("sudo -E sh -c 'echo $SECRET'", env=env)["stdout"], "x\n")
        self.assertEqual(self.sh("sudo A=1 sh -c 'echo $A'")["stdout"], "1\n")

    def test_keeps_the_working_directory(self):
        self.assertEqual(self.sh("mkdir -p /tmp/deep/er && cd /tmp/deep/er && sudo pwd")["stdout"], "/tmp/deep/er\n")

    def test_signals_are_passed_on(self):
        done = self.sh("""sudo sh -c 'trap "echo got it; exit 5" TERM; echo ready > /tmp/ready; while :; do sleep 0.1; done' &
            while ! [ -e /tmp/ready ]; do sleep 0.01; done
            kill -TERM $!; wait $!; echo $?""", timeout_ms=20000)
        self.assertEqual(done["stdout"], "got it\n5\n", done)

    def test_a_killed_sudo_takes_its_command_along(self):
        done = self.sh("""sudo sh -c 'echo $$ > /tmp/inner; exec sleep 1000' &
            while ! [ -s /tmp/inner ]; do sleep 0.01; done
            kill -KILL $!
            while [ -e /proc/$(cat /tmp/inner)/comm ] && grep -q sleep /proc/$(cat /tmp/inner)/comm; do sleep 0.01; done
            echo gone""", timeout_ms=20000)
        self.assertEqual((done["reason"], done["stdout"]), ("exited", "gone\n"), done)

    def test_a_timeout_reaches_what_sudo_started(self):
        done = self.sh("sudo sh -c 'echo $$ > /tmp/late; exec sleep 1000'", timeout_ms=1500)
        self.assertEqual(done["reason"], "timeout")
        inner = self.sh("cat /tmp/late")["stdout"].strip()
        self.assertEqual(self.sh(f"test -e /proc/{inner} && cat /proc/{inner}/comm; true")["stdout"], "")

    def test_is_counted_with_the_command_that_asked(self):
        spin = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
        done = self.run_in("sudo", "python3", "-c", spin)
        self.assertGreater(done["usage"]["cpu_ms"], 290, done)
        # … and so is the time that it may use.
        ended = self.run_in("sudo", "sh", "-c", "while :; do :; done", cpu_time_ms=300)
        self.assertEqual((ended["reason"], ended["limit"]), ("timeout", "cpu_time"), ended)

    def test_only_the_sandboxs_user_may_ask(self):
        done = self.run_in("sudo", "id", user="nobody")
        self.assertEqual(done["exit_code"], 1)
        self.assertIn("may not run commands as somebody else", done["stderr"])

    def test_works_in_a_root_of_its_own(self):
        with tempfile.TemporaryDirectory() as root:
            for name in ("bin", "usr/bin", "lib", "lib64", "etc"):
                pathlib.Path(root, name).mkdir(parents=True)
            pathlib.Path(root, "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n")
            busybox = subprocess.run(["which", "busybox"], capture_output=True, text=True).stdout.strip()
            self.assertTrue(busybox, "busybox is missing: ./dev setup")
            subprocess.run(["cp", busybox, f"{root}/bin/busybox"], check=True)
            for name in ("sh", "id", "touch", "chown", "stat", "grep"):
                os.symlink("busybox", f"{root}/bin/{name}")
            os.chmod(root, 0o755)
            script = "touch mine && sudo chown 7:8 mine && stat -c %u:%g mine; sudo id -u"
            done = self.atoll("run", "--driver", "native", "--rootfs", root, "--", "sh", "-c", script)
            self.assertEqual((done.returncode, done.stdout), (0, "7:8\n0\n"), done)
            # What was put there for it is no change of the guest's.
            made = self.atoll("create", "--driver", "native", "--rootfs", root)
            changed = self.atoll("diff", made.stdout.strip())
            self.assertEqual(changed.returncode, 0, changed)
            self.assertNotIn("atoll", changed.stdout)
            self.assertEqual(self.atoll("rm", made.stdout.strip()).returncode, 0)

    def still_works(self):
        self.assertEqual(self.run_in("sudo", "id", "-u")["stdout"], "0\n")

    def test_nonsense_is_refused_and_harms_nobody(self):
        done = self.python(r'''
for packet, fds in [(b"", [0, 1, 2, here]), (b"\x00" * 1000, [0, 1, 2, here]), (os.urandom(100000), [0, 1, 2, here]),
                    (ask(["id"]), []), (ask(["id"]), [0, 1]), (ask(["id"]), [0, 1, 2, 0]), (ask([]), [0, 1, 2, here]),
                    (ask([""]), [0, 1, 2, here]), (ask(["id"], user="x" * 5000), [0, 1, 2, here]),
                    (ask(["a\0b"]), [0, 1, 2, here]), (ask(["id"], env={"": "x"}), [0, 1, 2, here]),
                    (b"\x02" + ask(["id"])[1:], [0, 1, 2, here]), (ask(["id"]) + b"x", [0, 1, 2, here]),
                    (b"\x01\xff\xff\xff\xff", [0, 1, 2, here]), (ask(["id"]), [0, 1, 2, here] * 7),
                    (ask(["id"]), [os.open("/dev/null", os.O_RDONLY) for _ in range(200)])]:
    door = knock()
    try:
        say(door, packet, fds)
        print("answer" if door.recv(4096)[1:5] != b"\0\0\0\0" else "RUN", end=" ")
    except OSError as error:
        print("gone", end=" ")
''')
        self.assertEqual(done["exit_code"], 0, done)
        self.assertNotIn("RUN", done["stdout"])
        self.still_works()

    def test_the_silent_and_the_many_are_sent_away(self):
        done = self.python(r'''
doors = []
refused = 0
for _ in range(200):
    door = knock()
    door.settimeout(20)
    doors.append(door)
for door in doors:
    try:
        refused += door.recv(4096) != b""
    except OSError:
        pass
print(refused, "told,", len(doors), "knocked")
''', timeout_ms=60000)
        self.assertEqual(done["exit_code"], 0, done)
        self.assertRegex(done["stdout"], r"^1[0-9][0-9] told, 200 knocked", done)
        self.still_works()

    def test_a_stuck_pipe_does_not_stop_the_agent(self):
        done = self.python(r'''
import fcntl
r, w = os.pipe()
fcntl.fcntl(w, fcntl.F_SETFL, os.O_NONBLOCK)
try:
    while True: os.write(w, b"x" * 65536)
except BlockingIOError:
    pass
os.set_blocking(w, True)
door = knock()
say(door, ask(["no-such-program"]), [0, w, w, here])
print("answered" if door.recv(4096) else "gone")
''', timeout_ms=20000)
        self.assertEqual((done["reason"], done["stdout"]), ("exited", "answered\n"), done)

    def test_signals_reach_only_ones_own_command(self):
        done = self.python(r'''
door = knock()
say(door, ask(["sleep", "1000"]), [0, 1, 2, here])
for packet in (b"\x00", b"\xff", b"\x41", b"\x09\x09", b"x" * 500):
    door.send(packet)
door.send(b"\x09")
answer = door.recv(4096)
print(struct.unpack("<II", answer[-8:]))
''', timeout_ms=20000)
        self.assertEqual(done["stdout"], "(137, 9)\n", done)
        self.still_works()


if __name__ == "__main__":
    unittest.main()
