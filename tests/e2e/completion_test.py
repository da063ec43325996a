"""Completion in real shells, and the manual page through a real formatter."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from live import ATOLL, Daemon


def atoll(*arguments):
    done = subprocess.run([ATOLL, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    return done.stdout


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.box = cls.daemon.create(driver="native", name="harbour")
        cls.directory = tempfile.mkdtemp(prefix="atoll-completion-")
        os.symlink(os.path.abspath(ATOLL), os.path.join(cls.directory, "atoll"))
        for shell in ("bash", "zsh", "fish"):
            pathlib.Path(cls.directory, shell).write_text(atoll("completion", shell))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.directory)
        cls.daemon.end()

    def shell(self, *argv):
        environment = {"PATH": self.directory + ":/usr/bin:/bin", "HOME": self.directory, "ATOLL_STATE": self.daemon.state,
                       "LANG": "C.UTF-8", "TERM": "dumb"}
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, env=environment, cwd=self.directory)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout.split()

    def bash(self, *words):
        line = " ".join(f"'{word}'" for word in words)
        return self.shell("bash", "--norc", "-c", f"source {self.directory}/bash; COMP_WORDS=({line}); "
                          f"COMP_CWORD={len(words) - 1}; _atoll; printf '%s\\n' \"${{COMPREPLY[@]}}\"")

    def fish(self, line):
        return self.shell("fish", "--no-config", "-c", f"source {self.directory}/fish; complete -C '{line}' | cut -f1")

    def test_bash(self):
        self.assertEqual(self.bash("atoll", "ev"), ["events"])
        self.assertIn("--driver", self.bash("atoll", "run", "--dr"))
        self.assertEqual(self.bash("atoll", "exec", self.box[:8]), [self.box])
        self.assertEqual(self.bash("atoll", "--state", self.daemon.state, "exec", self.box[:8]), [self.box])
        self.assertIn("zsh", self.bash("atoll", "completion", ""))

    def test_bash_offers_what_fits(self):
        self.assertEqual(self.bash("atoll", "run", "--driver", "nat"), ["native"])
        self.assertEqual(self.bash("atoll", "run", "--driver", "=", "nat"), ["native"])
        self.assertEqual(self.bash("atoll", "run", "--driver", "="), self.bash("atoll", "run", "--driver", ""))
        self.assertEqual(self.bash("atoll", "doctor", "chr"), ["chroot"])
        self.assertEqual(self.bash("atoll", "run", "--min-isolation", "s"), ["sentry"])
        self.assertEqual(self.bash("atoll", "keys", ""), ["create", "list", "revoke"])
        self.assertEqual(self.bash("atoll", "keys", "create", "--role", "v"), ["viewer"])
        self.assertEqual(self.bash("atoll", "events", "--into", "pa"), ["paused"])
        self.assertEqual(self.bash("atoll", "config", "m"), ["migrate"])
        self.assertEqual(self.bash("atoll", "exec", "-t", "--timeout", "5s", "har"), ["harbour"])
        self.assertEqual(self.bash("atoll", "rm", "harbour", "har"), ["harbour"])
        # Behind the sandbox comes a command.
        self.assertEqual(self.bash("atoll", "exec", "harbour", "--", "fi"), ["fish"])
        self.assertEqual(self.bash("atoll", "ps", ""), [])

    def test_fish(self):
        self.assertEqual(self.fish("atoll ev"), ["events"])
        self.assertIn("--driver", self.fish("atoll run --dr"))
        self.assertEqual(self.fish(f"atoll exec {self.box[:8]}"), [self.box])
        self.assertEqual(self.fish("atoll rm harb"), ["harbour"])
        self.assertEqual(self.fish("atoll run --driver nat"), ["native"])
        self.assertEqual(self.fish("atoll run --min-isolation se"), ["sentry"])
        self.assertEqual(self.fish("atoll keys cr"), ["create"])

    def test_zsh_takes_the_script(self):
        self.shell("zsh", "-f", "-n", f"{self.directory}/zsh")
        loaded = self.shell("zsh", "-f", "-c", f"autoload -Uz compinit; compinit -u -D; source {self.directory}/zsh; print $_comps[atoll]")
        self.assertEqual(loaded, ["_atoll"])

    def test_a_shell_that_is_unknown(self):
        done = subprocess.run([ATOLL, "completion", "tcsh"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("bash", done.stderr)

    def test_the_manual_page(self):
        page = subprocess.run(["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-P-cbou"], input=atoll("completion", "man"), capture_output=True, text=True,
                              timeout=60)
        self.assertEqual((page.returncode, page.stderr), (0, ""))
        self.assertIn("atoll run", page.stdout)
        self.assertIn("EXIT STATUS", page.stdout)


if __name__ == "__main__":
    unittest.main()
