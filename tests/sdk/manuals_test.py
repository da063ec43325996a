"""The manuals of the packages: every example is run, and says what the manual says."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

import installed
from installed import ROOT, TOOLS
from live import Daemon

LEAST = {"python": 7, "ts": 8}


def examples(path, language):
    """(line, code, what it prints or none) of each."""
    text = path.read_text()
    for found in re.finditer(rf"^```{language}\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", text, re.S | re.M):
        yield text.count("\n", 0, found.start()) + 1, found.group(1), found.group(2)


def matches(expected, said):
    """`…` stands for anything."""
    return re.fullmatch(".*".join(re.escape(part) for part in expected.split("…")), said, re.S) is not None


class Manuals(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon().start()
        self.addCleanup(self.daemon.end)
        self.environment = {**{name: value for name, value in os.environ.items() if not name.startswith(("ATOLL_", "PYTHON"))},
                            "ATOLL_STATE": self.daemon.state}

    def check(self, words, expected, cwd):
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=60, cwd=cwd)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        if expected is not None:
            self.assertTrue(matches(expected, done.stdout), f"{done.stdout!r} instead of {expected!r}")

    def nothing_is_left(self):
        self.assertEqual(self.daemon.call("GET", "/v1/sandboxes").json["sandboxes"], [])

    def test_python(self):
        found = [(path, *one) for path in (ROOT / "docs/sdk-python.md", ROOT / "sdk/python/README.md")
                 for one in examples(path, "python")]
        self.assertGreaterEqual(len(found), LEAST["python"])
        python = str(installed.python())
        with tempfile.TemporaryDirectory() as directory:
            for path, line, code, expected in found:
                with self.subTest(f"{path.name}:{line}"):
                    self.check([python, "-W", "error", "-c", code], expected, directory)
        self.nothing_is_left()

    def test_typescript(self):
        found = [(path, *one) for path in (ROOT / "docs/sdk-typescript.md", ROOT / "sdk/typescript/README.md")
                 for one in examples(path, "ts")]
        self.assertGreaterEqual(len(found), LEAST["ts"])
        project = installed.node_project()
        shutil.rmtree(project / "manual", ignore_errors=True)
        (project / "manual").mkdir()
        for number, (_, _, code, _) in enumerate(found):
            (project / f"manual/example{number}.ts").write_text(code)
        done = subprocess.run(
            [TOOLS / "node/node_modules/.bin/tsc", "--strict", "--skipLibCheck", "--module", "NodeNext", "--target", "ES2022", "--lib",
             "ES2022,ESNext.Disposable", "--types", "node", "--typeRoots", TOOLS / "node/node_modules/@types",
             *sorted((project / "manual").glob("*.ts"))], capture_output=True, text=True, cwd=project, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        for number, (path, line, _, expected) in enumerate(found):
            with self.subTest(f"{path.name}:{line}"):
                self.check(["node", f"manual/example{number}.js"], expected, project)
        self.nothing_is_left()


if __name__ == "__main__":
    unittest.main()
