"""Configuration as a person uses it: files, variables and flags take effect, and a found file cannot weaken anything."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from live import ATOLL, NOTHING, Daemon, census, wait_until

RUNTIME = tempfile.mkdtemp(prefix="atoll-e2e-")  # where embedded runs live
STRONGEST = "native" if os.geteuid() == 0 else "rootless"


def tearDownModule():
    shutil.rmtree(RUNTIME)


class World(unittest.TestCase):
    """A work tree, a home and an environment of its own for each case."""

    def setUp(self):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="atoll-config-"))
        os.chmod(self.base, 0o755)
        self.tree, self.home = self.base / "tree", self.base / "home"
        for directory in (self.tree / ".git", self.tree / "deep", self.home / ".config" / "atoll"):
            directory.mkdir(parents=True)

    def tearDown(self):
        self.assertEqual(census(RUNTIME), NOTHING)
        shutil.rmtree(self.base)

    def project(self, text, name="atoll.yaml"):
        (self.tree / name).write_text(text)

    def user(self, text):
        (self.home / ".config" / "atoll" / "atoll.yaml").write_text(text)

    def environment(self, **more):
        kept = {k: v for k, v in os.environ.items()
                if k not in ("XDG_CONFIG_HOME", "SUDO_UID") and (not k.startswith("ATOLL_") or k == "ATOLL_LIBEXEC")}
        given = {"HOME": str(self.home), "ATOLL_STATE": "/nonexistent/atoll", "XDG_RUNTIME_DIR": RUNTIME, **more}
        return {k: v for k, v in {**kept, **given}.items() if v is not None}

    def atoll(self, *arguments, cwd=None, **environment):
        done = subprocess.run([ATOLL, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                              cwd=cwd or self.tree, env=self.environment(**environment))
        return done

    def shape(self, *flags, **environment):
        """What `create --explain` says would be made."""
        done = self.atoll("run", *flags, "--explain", **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def pids(self, *flags, **environment):
        return int(re.search(r"processes +([\d,]+)", self.shape(*flags, **environment)).group(1).replace(",", ""))


class TakesEffect(World):
    def test_the_order_is_flag_variable_project_user_default(self):
        usual = self.pids()
        self.user("sandbox: {pids: 101}\n")
        self.assertEqual(self.pids(), 101)
        self.project("sandbox: {pidsLimit: 102}\n")
        self.assertEqual(self.pids(), 102)
        self.assertEqual(self.pids(ATOLL_PIDS="103"), 103)
        self.assertEqual(self.pids("--pids", "104", ATOLL_PIDS="103"), 104)
        self.assertEqual(self.pids("--config", "none"), usual)
        (self.base / "named.yaml").write_text("sandbox: {pids: 105}\n")
        self.assertEqual(self.pids("--config", str(self.base / "named.yaml")), 105)
        self.assertEqual(self.pids(ATOLL_CONFIG=str(self.base / "named.yaml")), 105)

    def test_the_limits_hold_inside(self):
        self.project("sandbox: {memory: 64m, timeout: 300ms}\n")
        eaten = self.atoll("run", "--timeout", "30s", "--", "python3", "-c", "bytearray(200 << 20)")
        self.assertNotEqual(eaten.returncode, 0)
        self.assertEqual(self.atoll("run", "--", "sleep", "60").returncode, 124)
        self.assertEqual(self.atoll("run", "-m", "400m", "--timeout", "30s", "--", "python3", "-c", "bytearray(200 << 20)").returncode, 0)

    def test_variables_users_and_directories_reach_the_command(self):
        self.user("sandbox: {env: {A: user, B: user}}\n")
        self.project("sandbox:\n  env: {B: project, C: project}\n  workdir: /tmp\n")
        done = self.atoll("run", "-e", "C=flag", "--", "sh", "-c", "echo $A $B $C $PWD")
        self.assertEqual(done.stdout, "user project flag /tmp\n", done.stderr)

    def test_the_driver_and_directories_of_the_host(self):
        (self.tree / "data.txt").write_text("mine\n")
        self.project(f"run_mode: {STRONGEST}\nsandbox:\n  volumes: ['.:/data:cow']\n")
        done = self.atoll("run", "--json", "--", "sh", "-c", "cat /data/data.txt; echo other > /data/data.txt", cwd=self.tree / "deep")
        told = json.loads(done.stdout)
        self.assertEqual((told["driver"], told["stdout"], told["exit_code"]), (STRONGEST, "mine\n", 0))
        self.assertEqual((self.tree / "data.txt").read_text(), "mine\n")

    def test_a_file_is_found_from_below_and_not_from_beside(self):
        self.project("sandbox: {env: {FOUND: yes}}\n")
        self.assertEqual(self.atoll("run", "--", "sh", "-c", "echo $FOUND", cwd=self.tree / "deep").stdout, "yes\n")
        self.assertEqual(self.atoll("run", "--", "sh", "-c", "echo $FOUND", cwd=self.base).stdout, "\n")

    def test_a_file_with_an_error_is_used_for_nothing(self):
        self.project("sandbox:\n  memory: 64m\n  pidz: 5\n")
        done = self.atoll("run", "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("atoll.yaml:3:3: sandbox.pidz: no such setting", done.stderr)
        self.assertIn("did you mean pids?", done.stderr)
        self.assertEqual(self.atoll("version").returncode, 0)

    def test_a_wrong_variable_is_an_error_unless_a_flag_stands_before_it(self):
        done = self.atoll("run", "--", "true", ATOLL_MEMORY="plenty")
        self.assertEqual(done.returncode, 125)
        self.assertIn("ATOLL_MEMORY", done.stderr)
        self.assertEqual(self.atoll("run", "-m", "64m", "--", "true", ATOLL_MEMORY="plenty").returncode, 0)

    def test_a_driver_that_is_not_built_is_named_with_its_line(self):
        self.project("# mode\nrun_mode: firecracker\n")
        done = self.atoll("run", "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("atoll.yaml:2:1: run_mode: the driver firecracker is not built yet", done.stderr)
        self.assertEqual(self.atoll("run", "--driver", STRONGEST, "--", "true").returncode, 0)


class FoundFiles(World):
    def refused(self, text, words, *flags):
        self.project(text)
        done = self.atoll("run", *flags, "--", "true", MY_TOKEN="hidden-value")
        self.assertEqual(done.returncode, 126, (text, done.stderr))
        self.assertIn(words, done.stderr)
        self.assertNotIn("hidden-value", done.stderr)
        self.assertIn("hint", done.stderr)
        self.assertEqual(self.atoll("config", "check", MY_TOKEN="hidden-value").returncode, 1)

    def test_cannot_take_isolation_away(self):
        self.refused("run_mode: local\n", "isolates less")
        self.refused("sandbox: {type: native}\n", "isolates less")
        self.refused("sandbox: {driver: subprocess}\n", "isolates less")

    def test_cannot_reach_beyond_its_directory(self):
        self.refused("sandbox: {volumes: ['/etc:/data:ro']}\n", "outside of its own")
        self.refused("sandbox: {volumes: ['.:/data']}\n", "write to the host's files")
        self.refused("sandbox: {here: rw}\n", "write to the host's files")
        self.refused("sandbox: {rootfs: /}\n", "may not set this")

    def test_cannot_hand_over_secrets(self):
        self.refused("sandbox: {env: {X: '${MY_TOKEN}'}}\n", "hand over ${MY_TOKEN}")

    def test_is_believed_once_it_is_named_or_the_user_says_the_same(self):
        self.project("run_mode: local\n")
        for flags in (("--config", "atoll.yaml"), ("--driver", "local")):
            done = self.atoll("run", *flags, "--json", "--", "true")
            self.assertEqual(json.loads(done.stdout)["driver"], "local", done.stderr)

    def test_cannot_lower_the_floor_of_the_users_file(self):
        self.user("sandbox: {min_isolation: vm}\n")
        self.project("sandbox: {min_isolation: none}\n")
        done = self.atoll("run", "--", "true")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("vm was asked", done.stderr)

    def test_cannot_choose_a_daemon(self):
        self.project("url: http://127.0.0.1:1\nserve: {listen: '0.0.0.0:7', state: /nonexistent/other}\n")
        done = self.atoll("run", "--", "true", ATOLL_STATE=None)
        self.assertEqual(done.returncode, 126, done.stderr)
        self.assertIn("may not set this", done.stderr)
        for verb in ("ps", "drivers"):  # do not read it at all
            self.assertNotIn("127.0.0.1:1", self.atoll(verb).stderr)

    def test_of_another_user_is_refused(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give a file away")
        self.project("sandbox: {pids: 5}\n")
        os.chown(self.tree / "atoll.yaml", 4242, 4242)
        done = self.atoll("run", "--", "true")
        self.assertEqual(done.returncode, 126)
        self.assertIn("belongs to another user", done.stderr)
        self.assertEqual(self.atoll("run", "--config", "none", "--", "true").returncode, 0)

    def test_no_file_shows_the_socket_of_docker(self):
        text = f"run_mode: {STRONGEST}\nsandbox:\n  volumes:\n    - .:/workspace\n    - /var/run/docker.sock:/var/run/docker.sock\n"
        self.project(text)
        checked = self.atoll("config", "check", "atoll.yaml")
        self.assertEqual(checked.returncode, 0, checked.stdout)
        self.assertRegex(checked.stdout, r"atoll.yaml:3:3: warning: sandbox.volumes: /var/run/docker.sock rules the host")
        for command in (("run", "--config", "atoll.yaml", "--", "true"), ("create", "--config", "atoll.yaml")):
            done = self.atoll(*command)
            self.assertEqual(done.returncode, 126, done.stderr)
            self.assertIn("/var/run/docker.sock rules the host", done.stderr)

    def test_a_network_that_is_to_be_cut_off_is_not_given_to_local(self):
        self.project("sandbox: {network: none}\n")
        self.assertEqual(self.atoll("run", "--", "true").returncode, 0)
        done = self.atoll("run", "--driver", "local", "--", "true")
        self.assertEqual(done.returncode, 126)
        self.assertIn("atoll.yaml:1", done.stderr)


class Verbs(World):
    def test_check_tells_everything_and_how_bad_it_is(self):
        self.project("sandbox:\n  memory: lots\n  cpuz: 1\n  image: x\n  user: ${NOT_SET}\n")
        done = self.atoll("config", "check", "--json")
        told = json.loads(done.stdout)
        self.assertEqual((done.returncode, told["ok"]), (1, False))
        self.assertEqual([(f["severity"], f["problem"], f["line"]) for f in told["findings"]],
                         [("error", "bad_value", 2), ("error", "unknown_key", 3), ("warning", "no_effect", 4),
                          ("error", "variable", 5)])
        self.assertIn("the variable NOT_SET is not set", self.atoll("config", "check").stdout)
        self.project("sandbox: {memory: 1g}\n")
        self.assertEqual(self.atoll("config", "check").returncode, 0)

    def test_check_tells_what_run_refuses_to_take_from_a_file_that_nobody_named(self):
        self.project("sandbox: {driver: local}\n")
        found = self.atoll("config", "check")
        self.assertEqual(found.returncode, 1, found.stdout)
        self.assertIn("error: sandbox.driver: a project file that nobody named may not choose local", found.stdout)
        self.assertEqual(self.atoll("run", "--", "true").returncode, 126)
        named = self.atoll("config", "check", "atoll.yaml")
        self.assertEqual(named.returncode, 0, named.stdout)
        self.assertIn("note: sandbox.driver: a project file that nobody named may not choose local", named.stdout)
        self.assertEqual(self.atoll("run", "--config", "atoll.yaml", "--", "true").returncode, 0)

    def test_check_of_a_file_for_another_host(self):
        self.project("run_mode: lambda\nsandbox: {memory: 10240}\n")
        refused = self.atoll("config", "check", "atoll.yaml")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("the driver lambda is not built yet", refused.stdout)
        portable = self.atoll("config", "check", "--portable", "atoll.yaml")
        self.assertEqual((portable.returncode, portable.stdout), (0, "atoll.yaml: understood\n"))
        self.project("run_mode: lambda\nsandbox: {memory: 10241}\n")
        over = self.atoll("config", "check", "--portable", "atoll.yaml")
        self.assertEqual(over.returncode, 1)
        self.assertIn("lambda offers at most 10240 MiB of memory, 10241 is asked", over.stdout)

    def test_explain_tells_where_each_value_comes_from_and_no_secret(self):
        self.user("e2b: {api_key: '${E2B_API_KEY}'}\nsandbox: {env: {DB_PASSWORD: hunter2secret, URL: 'http://u:pw1234567@h/'}, cpus: 2}\n")
        self.project("# limits\nsandbox:\n  memory: 256m\n")
        environment = {"E2B_API_KEY": "e2b_very_hidden", "ATOLL_PIDS": "77"}
        for form in ((), ("--json",)):
            done = self.atoll("config", "explain", "--ttl", "2h", *form, **environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            for secret in ("e2b_very_hidden", "hunter2secret"):
                self.assertNotIn(secret, done.stdout)
        entries = {e["setting"]: e for e in json.loads(done.stdout)}
        self.assertEqual((entries["sandbox.memory"]["value"], entries["sandbox.memory"]["from"]), ("256m", "project file"))
        self.assertTrue(entries["sandbox.memory"]["where"].endswith("tree/atoll.yaml:3"))
        self.assertEqual((entries["sandbox.cpus"]["value"], entries["sandbox.cpus"]["from"]), (2, "user file"))
        self.assertEqual((entries["sandbox.pids"]["value"], entries["sandbox.pids"]["where"]), (77, "ATOLL_PIDS"))
        self.assertEqual((entries["sandbox.ttl"]["value"], entries["sandbox.ttl"]["where"]), ("2h", "--ttl"))
        self.assertEqual(entries["sandbox.disk"]["from"], "default")
        self.assertTrue(entries["e2b.api_key"]["secret"])
        text = self.atoll("config", "explain", **environment).stdout
        self.assertNotIn("pw1234567", text)
        self.assertRegex(text, r"sandbox.memory +256m +project file .*/atoll.yaml:3")
        self.assertRegex(text, r"e2b.api_key +\(secret\)")
        one = self.atoll("config", "explain", "sandbox.memory", **environment)
        self.assertEqual(len(one.stdout.splitlines()), 2)
        self.assertEqual(self.atoll("config", "explain", "sandbox.memroy", **environment).returncode, 2)

    def test_explain_tells_what_is_refused(self):
        self.project("run_mode: local\n")
        done = self.atoll("config", "explain", "sandbox.driver")
        self.assertIn("refused: run_mode: a project file that nobody named may not choose local", done.stdout)

    def test_show_prints_a_file_that_says_the_same(self):
        self.user("sandbox: {pidsLimit: 100, env: {A: one, 'B.C': two}}\n")
        self.project("defaults: {timeout: 30_000, resources: {memory: 256m, cpus: 0.5}}\n")
        shown = self.atoll("config", "show", ATOLL_STATE=None).stdout
        self.assertEqual(shown, 'sandbox:\n  memory: 256m\n  cpus: 0.5\n  pids: 100\n  timeout: 30s\n  env:\n    A: one\n    B.C: two\n')
        self.assertEqual(json.loads(self.atoll("config", "show", "--json").stdout)["sandbox"]["memory"], "256m")

    def test_cognition_yaml_is_read_and_migrated(self):
        self.project("# ours\ndefaults:\n  timeout: 30_000\n  resources: { memory: '256m', pidsLimit: 100 }\n", "cognition.yaml")
        self.assertEqual(self.pids(), 100)
        checked = self.atoll("config", "check")
        self.assertEqual(checked.returncode, 0)
        self.assertIn("note: it is read as atoll.yaml", checked.stdout)
        before = json.loads(self.atoll("config", "show", "--json").stdout)
        printed = self.atoll("config", "migrate").stdout
        self.assertEqual(printed, "sandbox:\n  # ours\n  timeout: 30s\n  memory: 256m\n  pids: 100\n")
        self.assertFalse((self.tree / "atoll.yaml").exists())
        os.chmod(self.tree / "cognition.yaml", 0o600)
        written = self.atoll("config", "migrate", "--write")
        self.assertEqual(written.returncode, 0, written.stderr)
        self.assertEqual((self.tree / "atoll.yaml").read_text(), printed)
        self.assertEqual((self.tree / "atoll.yaml").stat().st_mode & 0o777, 0o600)
        self.assertEqual(json.loads(self.atoll("config", "show", "--json").stdout), before)
        again = self.atoll("config", "migrate", "--write", "cognition.yaml")
        self.assertEqual(again.returncode, 125)
        self.assertIn("there is an atoll.yaml already", again.stderr)

    def test_usage(self):
        self.assertEqual(self.atoll("config").returncode, 2)
        self.assertIn("did you mean check?", self.atoll("config", "chek").stderr)
        self.assertEqual(self.atoll("config", "check", "/nonexistent.yaml").returncode, 125)
        self.assertEqual(self.atoll("run", "--config", "/nonexistent.yaml", "--", "true").returncode, 125)


class OfTheDaemon(World):
    def serve(self, *arguments, **environment):
        log = open(self.base / "daemon.log", "ab")
        with log:
            process = subprocess.Popen([ATOLL, "serve", *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       cwd=self.tree, env=self.environment(ATOLL_STATE=None, **environment))
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)

    def daemon(self, process):
        """The daemon that was started above, as the tests ask any other."""
        daemon = Daemon(state=str(self.base / "state"))
        self.addCleanup(shutil.rmtree, daemon.directory, True)
        daemon.process, daemon.log_path = process, str(self.base / "daemon.log")
        wait_until(daemon.is_ready, "the daemon is ready")
        return daemon

    def test_serves_as_the_users_file_says_and_clients_find_it(self):
        os.chmod(self.base, 0o711)
        self.user(f"serve:\n  listen: none\n  state: {self.base}/state\n  parked: 0\n  default_ttl: 5m\n  longest_ttl: 10m\n  most_sandboxes: 2\n"
                  "sandbox: {memory: 96m}\n")
        self.project("serve: {listen: '0.0.0.0:1', parked: 3}\n")  # which serve does not look at
        daemon = self.daemon(self.serve())
        self.assertIn("none", [line for line in daemon.log().splitlines() if "ready" in line][0])
        made = self.atoll("create", "--driver", "subprocess", "--name", "one", "--config", "none",
                          ATOLL_STATE=str(self.base / "state"))
        self.assertEqual(made.returncode, 0, made.stderr)
        listed = self.atoll("ps", "-q", ATOLL_STATE=None, cwd=self.base)
        self.assertEqual(listed.stdout.strip(), made.stdout.strip(), listed.stderr)
        daemon.made.add(made.stdout.strip())
        facts = daemon.call("GET", "/v1/sandboxes/one").json
        asked = daemon.call("POST", "/v1/sandboxes", {"driver": "subprocess", "ttl_s": 601})
        self.assertEqual(asked.status, 400, asked)
        self.assertIn("10 minutes", asked.json["detail"])
        shaped = self.atoll("create", "--name", "two", ATOLL_STATE=None, cwd=self.base)
        self.assertEqual(shaped.returncode, 0, shaped.stderr)
        self.assertEqual(daemon.call("GET", "/v1/sandboxes/two").json["resources"]["memory_mb"], 96)
        full = daemon.call("POST", "/v1/sandboxes", {"driver": "subprocess"})
        self.assertEqual(full.status, 429, full)
        self.assertIsNotNone(facts["expires_at"])
        ended = self.atoll("down", ATOLL_STATE=None, cwd=self.base)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        daemon.process.wait(timeout=30)
        wait_until(lambda: not daemon.launchers(), "the launcher leaves")

    def test_flags_win_over_its_file(self):
        os.chmod(self.base, 0o711)
        (self.base / "d.yaml").write_text("serve: {listen: '127.0.0.1:1', state: state, longest_ttl: 10m}\n")
        daemon = self.daemon(self.serve("--config", str(self.base / "d.yaml"), "--listen", "none", "--longest-ttl", "20m",
                                        ATOLL_SERVE_PARKED="0"))
        made = daemon.call("POST", "/v1/sandboxes", {"driver": "subprocess", "ttl_s": 1200})
        self.assertEqual(made.status, 201, made)
        daemon.made.add(made.json["id"])
        daemon.process.send_signal(signal.SIGINT)
        daemon.process.wait(timeout=30)
        wait_until(lambda: not daemon.launchers(), "the launcher leaves")

    def test_nonsense_is_refused_before_anything_is_made(self):
        self.user("serve: {parked: 65}\n")
        done = self.atoll("serve", "--state", str(self.base / "state"))
        self.assertEqual(done.returncode, 125)
        self.assertIn("serve.parked: it is between 0 and 64", done.stderr)
        self.assertFalse((self.base / "state").exists())
        self.user("")
        for flags in (("--longest-ttl", "8d"), ("--most-sandboxes", "0"), ("--default-ttl", "2h", "--longest-ttl", "1h")):
            self.assertEqual(self.atoll("serve", "--state", str(self.base / "state"), *flags).returncode, 2, flags)


if __name__ == "__main__":
    unittest.main()
