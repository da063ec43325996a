"""An interpreter that was started ahead does what one does that is started for the command: the same list, both ways."""
import base64
import collections
import os
import pathlib
import subprocess
import sys
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from live import ATOLL, Daemon, wait_until
from warm_cases import CASES, Result, differences

# Of the list, what is no UTF-8.
NO_TEXT = {f"python -c: {name} that is no UTF-8" for name in ("an argument", "code", "a variable")}


def setUpModule():
    global daemon
    daemon = Daemon().start()


def tearDownModule():
    daemon.end()  # asserts that nothing is left


def is_there(interpreter):
    return os.access(f"/usr/bin/{interpreter}", os.X_OK)


def why_never_warm(interpreter):
    """Of an interpreter that is installed; empty if it can be. The versions are those that README.md promises."""
    if interpreter != "node":
        return ""
    version = subprocess.run(["/usr/bin/node", "--version"], capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    major, minor, _ = (int(part) for part in version.lstrip("v").split("."))
    return "" if major == 18 or (major == 20 and minor >= 12) else f"{version} is neither 18 nor 20.12 or a later 20"


def is_text(case):
    """Whether JSON can carry it; other bytes cannot be asked for."""
    words = [*case.argv, *case.env, *case.env.values()]
    return all(not any(0xD800 <= ord(c) < 0xE000 for c in word) for word in words)


def bytes_of(answer, name):
    return base64.b64decode(answer[name + "_b64"]) if name + "_b64" in answer else answer[name].encode()


def result_of(answer, box):
    signal = answer.get("signal", 0)
    texts = [bytes_of(answer, name).replace(box.encode(), b"BOX") for name in ("stdout", "stderr")]
    return Result(0 if signal else answer["exit_code"], signal, *texts)


class Warm(unittest.TestCase):
    def execute(self, case, warm):
        interpreter = case.argv[0]
        box = daemon.create(driver="native", **({"warm": interpreter} if warm else {}))
        try:
            for path, content in case.files.items():
                content = content.encode() if isinstance(content, str) else content
                put = daemon.call("PUT", f"/v1/sandboxes/{box}/files?path={urllib.parse.quote(path)}", content)
                self.assertEqual(put.status, 200, put)
            answer = daemon.call("POST", f"/v1/sandboxes/{box}/exec",
                                 {"argv": case.argv, "env": case.env, "timeout_ms": 60000, "warm": warm})
            self.assertEqual(answer.status, 200, answer)
            return answer.json, result_of(answer.json, box)
        finally:
            daemon.call("DELETE", f"/v1/sandboxes/{box}")

    def test_every_case_both_ways(self):
        served, cold = collections.Counter(), []
        absent = sorted({case.argv[0] for case in CASES if not is_there(case.argv[0])})
        if absent and os.environ.get("ATOLL_MUST_RUN") == "1":
            self.fail(f"without {', '.join(absent)} their cases prove nothing")
        for interpreter in absent:
            print(f"not tried, since it is not installed: {interpreter}", flush=True)
        untold = {case.name for case in CASES if not is_text(case)}
        self.assertEqual(untold, NO_TEXT, "whatever else is left out has to be said")
        print(f"not tried, since no request can carry it: {'; '.join(sorted(untold))}", flush=True)
        cases = [case for case in CASES if is_there(case.argv[0]) and is_text(case)]
        for case in cases:
            with self.subTest(case.name):
                _, plain = self.execute(case, warm=False)
                answer, warm = self.execute(case, warm=True)
                is_warm = answer.get("warm", False)
                served[case.argv[0]] += is_warm
                if not is_warm:
                    cold.append(case.name)
                case = case if is_warm else case._replace(known_difference="")
                self.assertEqual(differences(case, plain, warm), [])
        print(f"not served warm: {'; '.join(cold)}", flush=True)
        for interpreter, count in collections.Counter(case.argv[0] for case in cases).items():
            why = why_never_warm(interpreter)
            print(f"figure: {interpreter}: {served[interpreter]} of {count} served warm{why and ': ' + why}", flush=True)
            if why:
                self.assertEqual(served[interpreter], 0, why)
            else:
                self.assertGreater(served[interpreter], 0.8 * count, f"hardly any of {interpreter} was warm")


class WarmRuns(unittest.TestCase):
    def run_python(self, code, **exec_):
        answer = daemon.call("POST", "/v1/runs", {"sandbox": {"driver": "native"}, "exec": {"argv": ["python3", "-c", code], **exec_}})
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def test_are_served_once_somebody_has_asked(self):
        def is_warm():
            answer = self.run_python("print(6*7)")
            self.assertEqual(answer["stdout"], "42\n")
            return answer.get("warm", False)
        wait_until(is_warm, "a run is served by a waiting interpreter", seconds=30)
        self.assertNotIn("warm", self.run_python("print(1)", warm=False))

    def test_nobody_finds_it_who_runs_something_else(self):
        box = daemon.create(driver="native", warm="python3")
        seen = daemon.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"]})
        self.assertNotIn("python3", seen.json["stdout"])
        later = daemon.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["python3", "-c", "print(1)"]})
        self.assertEqual((later.json["stdout"], later.json.get("warm")), ("1\n", None))
        daemon.call("DELETE", f"/v1/sandboxes/{box}")

    def test_it_is_under_the_whole_policy(self):
        box = daemon.create(driver="native", warm="python3")
        code = ("import os; status = dict(line.split(':', 1) for line in open('/proc/self/status'));"
                "print(os.getuid(), status['NoNewPrivs'].strip(), status['Seccomp'].strip(), status['CapEff'].strip(),"
                " status['CapPrm'].strip(), sorted(int(x) for x in os.listdir('/proc/self/fd'))[:3])")
        answer = daemon.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["python3", "-c", code]})
        self.assertTrue(answer.json.get("warm"), answer)
        self.assertEqual(answer.json["stdout"].split(), ["1000", "1", "2", "0" * 16, "0" * 16, "[0,", "1,", "2]"])
        daemon.call("DELETE", f"/v1/sandboxes/{box}")

    def test_limits_and_usage_are_the_commands_own(self):
        box = daemon.create(driver="native", warm="python3")
        answer = daemon.call("POST", f"/v1/sandboxes/{box}/exec",
                             {"argv": ["python3", "-c", "while True: pass"], "timeout_ms": 300})
        self.assertTrue(answer.json.get("warm"), answer)
        self.assertEqual((answer.json["reason"], answer.json["exit_code"]), ("timeout", 124))
        self.assertLess(answer.json["usage"]["cpu_ms"], 400)
        daemon.call("DELETE", f"/v1/sandboxes/{box}")

    def test_what_cannot_wait_is_refused(self):
        answer = daemon.call("POST", "/v1/sandboxes", {"warm": "perl"})
        self.assertEqual(answer.status, 400)
        self.assertIn("python3", answer.json["detail"])

    def test_the_command_line_can_refuse_it(self):
        done = subprocess.run([ATOLL, "run", "--state", daemon.state, "--no-warm", "--json", "--", "python3", "-c", "print(2)"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done)
        self.assertNotIn('"warm"', done.stdout)


if __name__ == "__main__":
    unittest.main()
