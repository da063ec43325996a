"""What programs in a box see of the machine: the sandbox and its limits, not the host."""

import concurrent.futures
import json
import os
import re
import subprocess
import tempfile
import time
import unittest

from live import ATOLL, Daemon, census, wait_until

RUNTIME = tempfile.mkdtemp(prefix="atoll-e2e-")
ENVIRONMENT = {**{k: v for k, v in os.environ.items() if not k.startswith("ATOLL_") or k == "ATOLL_LIBEXEC"},
               "ATOLL_STATE": "/nonexistent/atoll", "XDG_RUNTIME_DIR": RUNTIME}
HOST_PROCESSORS = len(os.sched_getaffinity(0))


def box(*command, flags=()):
    return subprocess.run([ATOLL, "run", "--driver", "native", *flags, "--", *command], capture_output=True, text=True,
                          env=ENVIRONMENT, timeout=60)


def setUpModule():
    refused = box("true")
    if refused.returncode != 0:
        why = f"the native driver does not work here: {refused.stderr}"
        if os.environ.get("ATOLL_MUST_RUN") == "1":
            raise AssertionError(why)
        raise unittest.SkipTest(why)


def tearDownModule():
    if os.path.isdir(os.path.join(RUNTIME, "atoll")):
        os.rmdir(os.path.join(RUNTIME, "atoll"))
    os.rmdir(RUNTIME)


class InABox(unittest.TestCase):
    def tearDown(self):
        left = census(RUNTIME)
        # Control groups may be those of others that are at work beside us.
        self.assertEqual((left["processes"], left["mounts"]), ([], []))

    def told(self, *command, flags=()):
        done = box(*command, flags=flags)
        self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        return done.stdout

    def python(self, code, flags=()):
        return self.told("python3", "-c", code, flags=flags)


class Memory(InABox):
    def test_free_shows_the_limit(self):
        row = self.told("free", "-m", flags=("--memory", "256m")).splitlines()[1].split()
        self.assertEqual((row[0], row[1]), ("Mem:", "256"))
        self.assertLess(int(row[2]), 100, "used")

    def test_free_shows_no_swap(self):
        row = self.told("free", "-m", flags=("--memory", "256m")).splitlines()[2].split()
        self.assertEqual(row, ["Swap:", "0", "0", "0"])

    def test_what_is_taken_is_missing_from_what_is_free(self):
        code = """
import re, time
def free():
    return int(re.search(r"MemFree: *(\\d+)", open("/proc/meminfo").read())[1])
before = free()
taken = bytearray(64 << 20)
deadline = time.monotonic() + 20
while before - free() < (60 << 10) and time.monotonic() < deadline:
    time.sleep(0.01)
print(before - free())
"""
        self.assertGreaterEqual(int(self.python(code, flags=("--memory", "256m"))), 60 << 10)


class OutOfMemory(unittest.TestCase):
    """Whatever the kernel kills in a sandbox without memory, it is a command: the agent goes on."""

    def test_memory_full_of_files_ends_only_who_fills_it(self):
        daemon = Daemon().start()
        self.addCleanup(daemon.end)
        box = daemon.create(driver="native", resources={"memory_mb": 64, "disk_mb": 512})
        for number in range(6):
            daemon.exec(box, "dd", "if=/dev/zero", f"of=/dev/shm/{number}", "bs=1M", "count=40")
            listed = daemon.exec(box, "ls", "/dev/shm")
            self.assertEqual((listed["exit_code"], listed["stdout"].split()), (0, [str(n) for n in range(number + 1)]))
        self.assertEqual(daemon.exec(box, "python3", "-c", "bytearray(200 << 20)")["reason"], "oom")
        self.assertEqual(daemon.exec(box, "sh", "-c", "rm /dev/shm/*; echo emptied")["stdout"], "emptied\n")


class ClosedDescriptors(InABox):
    """Whoever starts us may have closed stdin, stdout or stderr; nothing of ours may take their place."""

    def test_what_is_closed_is_empty_inside(self):
        with tempfile.TemporaryDirectory() as shared:
            os.chmod(shared, 0o777)
            look = "import os; open('/v/seen', 'w').write(' '.join(os.readlink(f'/proc/self/fd/{n}') for n in (0, 1, 2)))"
            for closed in ("0<&-", "1>&-", "2>&-", "0<&- 1>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"):
                with self.subTest(closed=closed):
                    done = subprocess.run(
                        ["sh", "-c", f'"$0" run --driver native -v "$1":/v -- python3 -c "$2" {closed}', ATOLL, shared, look],
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, timeout=60)
                    self.assertEqual(done.returncode, 0, done)
                    with open(os.path.join(shared, "seen"), encoding="utf-8") as seen:
                        shown = seen.read().split()
                    for number, target in enumerate(shown):
                        wanted = "/dev/null" if f"{number}<&-" in closed or f"{number}>&-" in closed else "pipe:"
                        self.assertTrue(target.startswith(wanted), shown)
                    self.assertEqual(len(shown), 3)



class Resizing(unittest.TestCase):
    def test_meminfo_follows_and_the_least_holds(self):
        daemon = Daemon().start()
        self.addCleanup(daemon.end)
        box = daemon.create(driver="native", resources={"memory_mb": 128})
        total = ("sh", "-c", "grep MemTotal /proc/meminfo")
        self.assertIn(f"{128 << 10} kB", daemon.exec(box, *total)["stdout"])
        resized = daemon.call("PATCH", f"/v1/sandboxes/{box}", {"resources": {"memory_mb": 300}})
        self.assertEqual(resized.status, 200, resized)
        wait_until(lambda: f"{300 << 10} kB" in daemon.exec(box, *total)["stdout"], "meminfo tells the new limit")
        refused = daemon.call("PATCH", f"/v1/sandboxes/{box}", {"resources": {"memory_mb": 1}})
        self.assertEqual(refused.status, 400, refused)
        self.assertIn("at least 8 MiB", refused.json["detail"])

    def test_a_paused_sandbox_that_is_recreated_runs(self):
        daemon = Daemon().start()
        self.addCleanup(daemon.end)
        box = daemon.create(driver="native")
        for verb, state in (("pause", "paused"), ("recreate", "running")):
            changed = daemon.call("POST", f"/v1/sandboxes/{box}/{verb}")
            self.assertEqual((changed.status, changed.json["state"]), (200, state))
        self.assertEqual(daemon.exec(box, "echo", "hi")["stdout"], "hi\n")

    def test_more_processes_than_the_host_has_are_no_obstacle(self):
        daemon = Daemon().start()
        self.addCleanup(daemon.end)
        box = daemon.create(driver="native", resources={"pids": 4 << 20})
        self.assertEqual(daemon.exec(box, "echo", "hi")["stdout"], "hi\n")
        resized = daemon.call("PATCH", f"/v1/sandboxes/{box}", {"resources": {"pids": 3 << 20}})
        self.assertEqual(resized.status, 200, resized)
        self.assertEqual(daemon.exec(box, "echo", "hi")["stdout"], "hi\n")

    def test_memory_that_is_not_there_cannot_be_kept(self):
        done = box("true", flags=("--dedicated", "--cpus", "1", "--memory", "10000g"))
        self.assertEqual(done.returncode, 125, done)
        self.assertIn("does not have so much memory", done.stderr)


class Processors(InABox):
    def test_node_counts_as_many_as_were_given(self):
        for given, seen in (("0.5", 1), ("1", 1), ("1.5", 2), ("2", 2)):
            if seen > HOST_PROCESSORS:
                continue
            text = self.told("node", "-p", "JSON.stringify(os.cpus())", flags=("--cpus", given))
            processors = json.loads(text)
            self.assertEqual(len(processors), seen, given)
            for processor in processors:
                self.assertNotIn(processor["model"], ("", "unknown"))
                self.assertGreaterEqual(processor["times"]["idle"], 0)

    def test_cpuinfo_and_stat_agree(self):
        for given, seen in (("1", 1), ("2", 2)):
            if seen > HOST_PROCESSORS:
                continue
            self.assertEqual(self.told("grep", "-c", "^processor", "/proc/cpuinfo", flags=("--cpus", given)), f"{seen}\n")
            self.assertEqual(self.told("grep", "-c", "^cpu[0-9]", "/proc/stat", flags=("--cpus", given)), f"{seen}\n")

    def test_the_flags_are_the_processors_own(self):
        with open("/proc/cpuinfo") as file:
            host = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", file.read().split("\n\n")[0], re.MULTILINE))
        told = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", self.told("cat", "/proc/cpuinfo").split("\n\n")[0], re.MULTILINE))
        for field in ("vendor_id", "cpu family", "model", "stepping", "model name"):
            self.assertEqual(told[field], host[field], field)
        # The kernel hides some of what the processor says; what programs choose their code by is the same.
        chosen_by = {"sse2", "ssse3", "sse4_1", "sse4_2", "avx", "avx2", "avx512f", "fma", "bmi2", "aes", "sha_ni"}
        self.assertEqual(chosen_by & set(told["flags"].split()), chosen_by & set(host["flags"].split()))

    def test_tools_that_count_processors_work(self):
        self.assertGreaterEqual(int(self.told("nproc")), 1)
        self.assertRegex(self.told("lscpu", flags=("--cpus", "1")), r"(?m)^CPU\(s\): +1$")

    def test_python_counts(self):
        # The C library asks the kernel itself for the load, so that is the host's.
        count, load = self.python("import os; print(os.cpu_count(), len(os.getloadavg()))", flags=("--cpus", "1")).split()
        self.assertEqual((count, load), ("1", "3"))

    def test_work_is_seen_in_stat(self):
        code = """
import time
def row():
    with open("/proc/stat") as file:
        return [int(word) for word in file.readline().split()[1:]]
before, deadline = row(), time.monotonic() + 20
last = before
while row()[0] + row()[2] < before[0] + before[2] + 20 and time.monotonic() < deadline:
    now = row()
    assert all(a >= b for a, b in zip(now, last)), (last, now)
    last = now
print(row()[0] + row()[2] - before[0] - before[2])
"""
        self.assertGreaterEqual(int(self.python(code)), 20, "ticks that a busy loop has used")


class Time(InABox):
    def test_uptime_and_start_times_fit_together(self):
        self.assertIn("load average:", self.told("uptime"))
        # As old as the kernel that counts the processes' start times.
        self.assertAlmostEqual(float(self.told("cat", "/proc/uptime").split()[0]), time.clock_gettime(time.CLOCK_BOOTTIME),
                               delta=60)
        # By hand: ps may round the age of what has just begun below zero, and shows that as an age of a hundred years.
        code = """
import os
started = int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
print(float(open("/proc/uptime").read().split()[0]) - started)
"""
        age = float(self.python(code))
        self.assertTrue(-1 < age < 60, age)

    def test_load_average_follows_the_work(self):
        code = """
import time
def load():
    return [float(word) for word in open("/proc/loadavg").read().split()[:3]]
print(*load())
deadline = time.monotonic() + 30
while load()[0] < 0.02 and time.monotonic() < deadline:
    pass
print(*load())
"""
        before, after = ([float(word) for word in line.split()] for line in self.python(code).splitlines())
        self.assertEqual(before, [0, 0, 0])
        self.assertGreaterEqual(after[0], 0.02)
        self.assertEqual(after, sorted(after, reverse=True))


class Tools(InABox):
    def test_top_works(self):
        text = self.told("top", "-b", "-n1", flags=("--memory", "256m"))
        self.assertRegex(text, r"load average: \d")
        self.assertRegex(text, r"MiB Mem : +256\.0 total")
        self.assertRegex(text, r"\d+ running")

    def test_a_guest_cannot_write_them(self):
        for name in ("meminfo", "cpuinfo", "stat", "loadavg"):
            done = box("sh", "-c", f"echo x > /proc/{name}")
            self.assertNotEqual(done.returncode, 0, name)


class Usage(InABox):
    def test_a_short_command_has_used_something(self):
        told = json.loads(self.told("true", flags=("--json",)))
        self.assertGreater(told["usage"]["cpu_ms"], 0, told["usage"])


class SideBySide(InABox):
    def test_boxes_that_begin_and_end_beside_each_other(self):
        """Each has a launcher of its own, and who leaves takes along the control groups of all that nobody is in."""
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            done = list(pool.map(lambda _: box("true"), range(60)))
        self.assertEqual({(one.returncode, one.stderr) for one in done}, {(0, "")})


if __name__ == "__main__":
    unittest.main()
