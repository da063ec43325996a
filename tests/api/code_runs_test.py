"""Runs of code: POST /v1/runs with code, language, files and requirements; sandboxes that have files from the beginning."""

import base64
import io
import json
import os
import tarfile
import unittest
import zipfile

from live import Daemon, wait_until

DRIVERS = ("native", "local")


def make_wheel(name, source):
    """A wheel of one module, as pip wants it."""
    info = f"{name}-1.0.dist-info"
    members = {
        f"{name}.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    members[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*members, f"{info}/RECORD"])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, text in members.items():
            archive.writestr(path, text)
    return base64.b64encode(out.getvalue()).decode()


def make_npm_package(name, source):
    """A tarball as `npm pack` makes it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, text in (("package.json", json.dumps({"name": name, "version": "1.0.0"})), ("index.js", source)):
            member = tarfile.TarInfo("package/" + path)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return base64.b64encode(out.getvalue()).decode()


class CodeRuns(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.end)

    def ask(self, driver="native", headers=None, **body):
        body.setdefault("sandbox", {})["driver"] = driver
        return self.daemon.call("POST", "/v1/runs", body, headers=headers)

    def run_code(self, **body):
        answer = self.ask(**body)
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def refused(self, status=400, **body):
        answer = self.ask(**body)
        self.assertEqual(answer.status, status, answer)
        return answer.json

    def assert_nothing_left(self):
        wait_until(lambda: not self.daemon.call("GET", "/v1/sandboxes").json["sandboxes"], "no sandbox is left")

    def test_code_is_python_unless_told_otherwise(self):
        for driver in DRIVERS:
            with self.subTest(driver):
                result = self.run_code(driver=driver, code="print(6*7)")
                self.assertEqual((result["stdout"], result["exit_code"]), ("42\n", 0))
                self.assertIn("files", [stage["name"] for stage in result["stages"]])
        self.assert_nothing_left()

    def test_every_language_that_is_here_runs(self):
        programs = {
            "python": "import sys; print('hi from', 'python')", "py": "print('hi from python')",
            "javascript": "console.log('hi from javascript')", "node": "console.log('hi from javascript')",
            "bash": "[[ 1 == 1 ]] && echo hi from bash", "sh": "echo hi from sh",
            "perl": "print \"hi from perl\\n\";",
        }
        same = {"py": "python", "node": "javascript"}
        for language, code in programs.items():
            with self.subTest(language):
                result = self.run_code(code=code, language=language)
                self.assertEqual(result["stdout"], f"hi from {same.get(language, language)}\n", result)

    def test_a_traceback_shows_the_line_of_the_code(self):
        result = self.run_code(code="x = 1\nraise ValueError('this one')  # look here\n")
        self.assertEqual(result["exit_code"], 1)
        self.assertIn("main.py\", line 2", result["stderr"])
        self.assertIn("# look here", result["stderr"])

    def test_files_are_beside_the_code_and_can_be_imported(self):
        result = self.run_code(
            code="import helper, pathlib\nprint(helper.double(21), pathlib.Path('data/in.csv').read_text(),\n"
                 "      pathlib.Path('raw.bin').read_bytes())",
            files={"helper.py": "def double(x): return 2 * x\n", "data/in.csv": "a,b"},
            files_b64={"raw.bin": base64.b64encode(b"\x00\xff").decode()})
        self.assertEqual(result["stdout"], "42 a,b b'\\x00\\xff'\n", result)

    def test_the_rest_of_exec_goes_with_code(self):
        result = self.run_code(code="import os, sys; print(os.environ['WHO'], sys.stdin.read(), os.path.basename(os.getcwd()))",
                               exec={"env": {"WHO": "me"}, "stdin": "typed", "cwd": "below"})
        self.assertEqual(result["stdout"], "me typed below\n", result)
        result = self.run_code(code="while True: pass", exec={"timeout_ms": 300})
        self.assertEqual(result["reason"], "timeout")

    def test_large_code_is_no_trouble(self):
        result = self.run_code(code="x = '" + "y" * 3_000_000 + "'\nprint(len(x))")
        self.assertEqual(result["stdout"], "3000000\n")

    def test_code_streams_as_commands_do(self):
        answer = self.ask(headers={"Accept": "application/x-ndjson"}, code="print('now')")
        lines = [json.loads(line) for line in answer.body.splitlines()]
        self.assertEqual(lines[0]["type"], "start")
        self.assertEqual(lines[-1]["type"], "exit")
        self.assertEqual("".join(line.get("data", "") for line in lines), "now\n", lines)

    def test_requirements_are_installed_from_files(self):
        wheel = make_wheel("answer", "VALUE = 42\n")
        for driver in DRIVERS:
            with self.subTest(driver):
                result = self.run_code(driver=driver, code="import answer; print(answer.VALUE)",
                                       requirements=["./answer-1.0-py3-none-any.whl"],
                                       files_b64={"answer-1.0-py3-none-any.whl": wheel})
                self.assertEqual(result["stdout"], "42\n", result)
                self.assertIn("setup", [stage["name"] for stage in result["stages"]])
        result = self.run_code(code="console.log(require('answer').value)", language="javascript",
                               requirements=["./answer-1.0.0.tgz"],
                               files_b64={"answer-1.0.0.tgz": make_npm_package("answer", "exports.value = 42\n")})
        self.assertEqual(result["stdout"], "42\n", result)
        self.assert_nothing_left()

    def test_what_cannot_be_installed_is_told_with_the_installers_words(self):
        problem = self.refused(code="print(1)", requirements=["surely-no-such-package==9"])
        self.assertEqual(problem["stage"], "setup")
        self.assertIn("requirements: python3: ", problem["detail"])
        self.assertIn("surely-no-such-package", problem["detail"])
        self.assertIn("no network", problem["hint"])
        self.assert_nothing_left()

    def test_what_makes_no_sense_is_refused_before_anything_is_made(self):
        for body, word in (
                ({}, "exec: missing"),
                ({"code": "1", "exec": {"argv": ["true"]}}, "either code or a command"),
                ({"code": "1", "language": "cobol"}, "none is called cobol"),
                ({"exec": {"argv": ["true"]}, "language": "python"}, "language"),
                ({"exec": {"argv": ["true"]}, "requirements": ["six"]}, "requirements"),
                ({"code": "1", "requirements": ["--index-url=http://x"]}, "is an option"),
                ({"code": "1", "files": {"main.py": "2"}}, "given twice"),
                ({"code": "1", "files": {"a/": ""}}, "directory"),
                ({"code": "1", "files_b64": {"a": "%%"}}, "base64"),
                ({"code": "1", "files": {"../../out": ""}}, "out")):
            with self.subTest(str(body)):
                answer = self.ask(**body)
                self.assertIn(answer.status, (400, 403), answer)
                self.assertIn(word, answer.json["detail"])
        self.assertEqual(self.refused(status=409, code="1", language="lua", requirements=["x"])["code"], "unsupported")
        self.assert_nothing_left()

    def test_a_workspace_of_the_host_is_not_written_to_by_code(self):
        workspace = self.daemon.directory + "/mine"
        os.mkdir(workspace)
        problem = self.refused(code="print(1)", sandbox={"host_dirs": [{"path": workspace, "access": "rw", "workspace": True}]})
        self.assertIn("access cow", problem["hint"])
        result = self.run_code(code="print(1)", sandbox={"host_dirs": [{"path": workspace, "access": "cow", "workspace": True}]})
        self.assertEqual(result["stdout"], "1\n", result)
        self.assertEqual(os.listdir(workspace), [])

    def test_a_client_that_leaves_while_packages_are_installed_ends_the_run(self):
        connection = self.daemon.connection()
        body = {"sandbox": {"driver": "native"}, "code": "print(1)", "language": "python",
                "requirements": ["./slow-1.0.tar.gz"],
                "files_b64": {"slow-1.0.tar.gz": slow_source()}}
        connection.request("POST", "/v1/runs", json.dumps(body), {"Content-Type": "application/json"})
        wait_until(lambda: any(b["state"] == "running" for b in self.daemon.call("GET", "/v1/sandboxes").json["sandboxes"]),
                   "the run is under way")
        connection.close()
        self.assert_nothing_left()

    def test_a_sandbox_has_its_files_from_the_beginning(self):
        for driver in DRIVERS:
            with self.subTest(driver):
                box = self.daemon.create(driver=driver, files={"src/a.py": "print('a')\n"}, files_b64={"b": "aGk="})
                self.assertEqual(self.daemon.call("GET", f"/v1/sandboxes/{box}/files?path=b").body, b"hi")
                result = self.daemon.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["python3", "src/a.py"]}).json
                self.assertEqual(result["stdout"], "a\n")
                self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)

    def test_runs_of_a_batch_have_the_files_too(self):
        answer = self.daemon.call("POST", "/v1/runs:batch", {
            "sandbox": {"driver": "native", "files": {"in": "shared"}},
            "runs": [{"argv": ["cat", "in"]}, {"argv": ["wc", "-c", "in"]}]}).json
        self.assertEqual([run["stdout"] for run in answer["runs"]], ["shared", "6 in\n"])


def slow_source():
    """A source package whose build never ends by itself."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        members = {"setup.py": "import signal\nsignal.pause()\n",
                   "pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = 'never'\nbackend-path = ['.']\n",
                   "never.py": "import signal\nsignal.pause()\n"}
        for path, text in members.items():
            member = tarfile.TarInfo("slow-1.0/" + path)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return base64.b64encode(out.getvalue()).decode()


if __name__ == "__main__":
    unittest.main()
