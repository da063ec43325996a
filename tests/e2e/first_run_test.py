"""The first minutes: nothing is configured, no daemon runs, and fingers slip. Everything works, or says what to type next."""

import os
import re
import subprocess
import tempfile
import unittest

from live import ATOLL, LIBEXEC, Daemon

# What a word of the command line takes so that it can be tried: nothing is there that it could name.
NEEDS_A_DAEMON = (("ps",), ("create",), ("exec", "nosuch", "--", "ls"), ("attach", "nosuch"), ("logs", "nosuch"), ("stats",),
                  ("top",), ("events",), ("cp", "a", "nosuch:b"), ("stop", "nosuch"), ("rm", "nosuch"), ("keys", "list"),
                  ("inspect", "nosuch"), ("trace", "--last"), ("down",))


class FirstRun(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="atoll-first-")
        self.addCleanup(directory.cleanup)
        self.home = directory.name

    def atoll(self, *words, **variables):
        # As root the usual state directory belongs to the whole host, so an empty one stands for it.
        environment = {"PATH": os.environ["PATH"], "HOME": self.home, "XDG_RUNTIME_DIR": self.home, "ATOLL_LIBEXEC": LIBEXEC,
                       "ATOLL_STATE": os.path.join(self.home, "state"), **variables}
        return subprocess.run([ATOLL, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment,
                              cwd=self.home, timeout=60)

    def next_step(self, *words):
        """The command that an error's hint gives."""
        done = self.atoll(*words)
        self.assertNotEqual(done.returncode, 0, done)
        self.assertEqual(done.stdout, "", done)
        hint = re.search(r"^  hint: (.*)$", done.stderr, re.M)
        self.assertTrue(hint, done.stderr)
        return done, hint.group(1)

    def test_alone_it_tells_how_to_begin_and_that_works(self):
        done = self.atoll()
        self.assertEqual(done.returncode, 2)
        first = re.search(r"^to begin: atoll (.*)$", done.stderr, re.M)
        self.assertTrue(first, done.stderr)
        said = self.atoll(*first.group(1).split())
        self.assertEqual((said.returncode, said.stdout, said.stderr), (0, "hello\n", ""))

    def test_a_run_needs_nothing(self):
        done = self.atoll("run", "--", "echo", "hi")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "hi\n", ""))
        self.assertEqual(self.atoll("run", "echo", "hi").stdout, "hi\n")

    def test_what_needs_a_daemon_says_how_to_have_one(self):
        for words in NEEDS_A_DAEMON:
            with self.subTest(words):
                done, hint = self.next_step(*words)
                self.assertEqual(done.returncode, 125)
                self.assertIn("no daemon answers", done.stderr)
                self.assertIn("atoll serve", hint)
                self.assertIn("atoll run -- COMMAND", hint)

    def test_what_is_left_out_is_named(self):
        for words, told in ((("run",), "atoll run -- python3 -V"), (("exec", "nosuch"), "atoll exec BOX -- python3 -V"),
                            (("map",), "seq 10 | atoll map -- echo {}"), (("logs",), "atoll logs --help"),
                            (("cp", "a", "b"), "BOX:PATH"), (("trace",), "atoll trace --last")):
            with self.subTest(words):
                done, hint = self.next_step(*words)
                self.assertEqual(done.returncode, 2)
                self.assertIn(told, hint)

    def test_slips_are_put_right(self):
        for words, meant in ((("rnu", "--", "true"), "atoll run"), (("psx",), "atoll ps"), (("creat",), "atoll create"),
                             (("docter",), "atoll doctor"), (("help", "exce"), "atoll exec"),
                             (("run", "--timout", "3", "--", "true"), "--timeout"), (("ps", "--jsno"), "--json"),
                             (("--verison",), "--version"), (("doctor", "nativ"), "atoll doctor native"),
                             (("config", "explain", "sandbox.drvier"), "sandbox.driver")):
            with self.subTest(words):
                done, _ = self.next_step(*words)
                self.assertEqual(done.returncode, 2)
                self.assertRegex(done.stderr, "did you mean:? " + meant)

    def test_a_driver_that_is_not_there_names_those_that_are(self):
        done, hint = self.next_step("run", "--driver", "dokcer", "--", "true")
        self.assertIn("native", hint + done.stderr)

    def test_with_a_daemon_the_same_words_work(self):
        daemon = Daemon().start()
        self.addCleanup(daemon.end)
        self.assertEqual(self.atoll("ps", ATOLL_STATE=daemon.state).returncode, 0)
        box = self.atoll("create", ATOLL_STATE=daemon.state).stdout.strip()
        self.assertEqual(self.atoll("exec", box, "--", "echo", "in", ATOLL_STATE=daemon.state).stdout, "in\n")
        done = self.atoll("exec", "nosuch", "--", "ls", ATOLL_STATE=daemon.state)
        self.assertEqual(done.returncode, 125)
        self.assertIn("atoll ps lists them", done.stderr)


if __name__ == "__main__":
    unittest.main()
