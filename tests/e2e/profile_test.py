"""Profiles and plans as a person uses them: with and without a daemon, from a directory, a configuration and a found project."""

import base64
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest
import zipfile

from live import ATOLL, NOTHING, Daemon, all_pids, census, wait_until

RUNTIME = tempfile.mkdtemp(prefix="atoll-e2e-")  # where embedded runs live
STRONGEST = "native" if os.geteuid() == 0 else "rootless"

OWN = """
profiles:
  greeter: {min_isolation: container, timeout: 20s, env: {GREETING: hello}, labels: {team: search}, resources: {pids: 77}}
  greeter@2: {inherits: greeter@1, env: {GREETING: good day}}
  once: {scope: run, min_isolation: container}
  closed: {workspace: isolated}
  quick: {timeout: 300ms}
  housed: {home: /home/agent}
"""


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
    except OSError:
        return []


def tearDownModule():
    shutil.rmtree(RUNTIME)


class World(unittest.TestCase):
    """A work tree and a home of its own for each case; no daemon unless one is started."""

    def setUp(self):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="atoll-profile-"))
        self.addCleanup(shutil.rmtree, self.base)
        os.chmod(self.base, 0o755)
        self.tree, self.home, self.own = self.base / "tree", self.base / "home", self.base / "own"
        for directory in (self.tree / ".git", self.home / ".config" / "atoll", self.own):
            directory.mkdir(parents=True)
        (self.own / "mine.yaml").write_text(OWN)
        self.state = "/nonexistent/atoll"

    def tearDown(self):
        self.assertEqual(census(RUNTIME), NOTHING)

    def environment(self):
        kept = {k: v for k, v in os.environ.items()
                if k not in ("XDG_CONFIG_HOME", "SUDO_UID") and (not k.startswith("ATOLL_") or k == "ATOLL_LIBEXEC")}
        return {**kept, "HOME": str(self.home), "ATOLL_STATE": self.state, "XDG_RUNTIME_DIR": RUNTIME}

    def atoll(self, *words, code=0):
        done = subprocess.run([ATOLL, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                              cwd=self.tree, env=self.environment())
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done

    def told(self, *words, code=0):
        return json.loads(self.atoll(*words, "--json", code=code).stdout)


class WithoutDaemon(World):
    def mine(self, *words, code=0):
        return self.atoll(words[0], "--profiles", self.own, *words[1:], code=code)

    def test_what_is_built_in_is_listed_and_explained(self):
        names = self.atoll("profile", "ls", "-q").stdout.split()
        for name in ("default", "trusted", "team", "untrusted", "max", "agent", "python", "node", "ci"):
            self.assertIn(name, names)
        explained = self.atoll("profile", "explain", "python").stdout
        self.assertRegex(explained, r"python@1 ← default@1")
        self.assertRegex(explained, r"resources\.memory +512m +python@1")
        self.assertRegex(explained, r"min_isolation +container +default@1")
        shown = self.told("profile", "show", "max@1")
        self.assertEqual(shown["settings"]["min_isolation"], "vm")
        self.assertEqual(shown["from"]["min_isolation"], "untrusted@1")

    def test_a_run_gets_what_its_profile_says_and_what_it_says_itself(self):
        command = ("--", "sh", "-c", "echo $GREETING $OWN")
        self.assertEqual(self.mine("run", "--profile", "greeter", *command).stdout, "good day\n")
        self.assertEqual(self.mine("run", "--profile", "greeter@1", *command).stdout, "hello\n")
        done = self.mine("run", "--profile", "greeter", "-e", "GREETING=mine", "-e", "OWN=too", *command)
        self.assertEqual(done.stdout, "mine too\n")
        self.assertRegex(self.mine("run", "--profile", "greeter", "--explain").stdout, r"processes +77")

    def test_the_time_of_a_command_is_the_profiles_unless_it_has_its_own(self):
        self.mine("run", "--profile", "quick", "--", "sleep", "30", code=124)
        self.mine("run", "--profile", "quick", "--timeout", "20s", "--", "sleep", "0.5")

    def test_map_takes_profiles(self):
        done = subprocess.run([ATOLL, "map", "--profiles", str(self.own), "--profile", "greeter", "--", "sh", "-c", "echo $GREETING {}"],
                              input="1\n2\n", capture_output=True, text=True, timeout=60, cwd=self.tree, env=self.environment())
        self.assertEqual(sorted(done.stdout.splitlines()), ["good day 1", "good day 2"], done.stderr)

    def test_no_flag_goes_below_a_profile(self):
        refused = self.atoll("run", "--profile", "team", "--driver", "subprocess", "--", "true", code=125)
        self.assertIn("subprocess offers process, container was asked", refused.stderr)
        self.assertIn("profile team@1", refused.stderr)
        done = self.told("plan", "--profile", "team", "--min-isolation", "process")
        self.assertEqual(done["min_isolation"], "container")
        self.mine("run", "--profile", "closed", "--here", "--", "true", code=125)

    def test_an_agent_lives_and_works_in_a_home_of_its_own(self):
        done = self.atoll("run", "--profile", "agent", "--", "sh", "-c", 'echo "$HOME"; pwd; touch it && ls')
        self.assertEqual(done.stdout, "/home/agent\n/home/agent\nit\n")
        done = self.atoll("run", "--profile", "agent", "--here", "--", "sh", "-c", 'echo "$HOME"; pwd')
        self.assertEqual(done.stdout, "/home/agent\n/workspace\n")
        refused = self.mine("run", "--profile", "housed", "--driver", "subprocess", "--", "true", code=125)
        self.assertIn("subprocess cannot make a home at /home/agent", refused.stderr)

    def test_a_machine_that_is_not_there_is_not_replaced_by_less(self):
        refused = self.atoll("run", "--profile", "untrusted", "--", "true", code=125)
        self.assertIn("vm was asked", refused.stderr)

    def test_the_host_itself_takes_the_profile_that_says_so(self):
        plan = self.told("plan", "--profile", "trusted")
        self.assertEqual((plan["driver"], plan["isolation"]), ("local", "none"))
        raised = self.told("plan", "--profile", "trusted", "--min-isolation", "container", code=1)
        self.assertFalse(raised["served"])

    def test_a_plan_has_a_reason_for_every_driver_and_makes_nothing(self):
        plan = self.told("plan", "--profile", "default", "--as", "subprocess")
        self.assertTrue(plan["served"])
        self.assertEqual(plan["profile"], "default@1")
        drivers = {one["driver"]: one for one in plan["drivers"]}
        self.assertEqual(drivers[STRONGEST]["verdict"], "chosen")
        self.assertEqual(drivers["local"]["verdict"], "refused")
        self.assertTrue(all(one["reason"] for one in plan["drivers"]))
        self.assertIn("isolation", [change["what"] for change in plan["changes"]])
        text = self.atoll("plan", "--profile", "default", "--as", "subprocess").stdout
        self.assertIn("subprocess offers process, container was asked", text)
        self.assertIn("AS subprocess", text)

    def test_unknown_names_get_help(self):
        self.assertIn("did you mean python?", self.atoll("run", "--profile", "pyton", "--", "true", code=125).stderr)
        self.assertIn("its versions: 1, 2", self.mine("run", "--profile", "greeter@9", "--", "true", code=125).stderr)
        self.assertIn("NAME[@VERSION]", self.atoll("run", "--profile", "No!", "--", "true", code=2).stderr)

    def test_none_is_without_a_profile(self):
        (self.home / ".config" / "atoll" / "atoll.yaml").write_text("sandbox: {profile: untrusted}\n")
        self.atoll("run", "--", "true", code=125)
        self.atoll("run", "--profile", "none", "--", "true")


STARTS = """
profiles:
  made:
    min_isolation: container
    workdir: /workspace
    setup: [mkdir tools, {run: echo ready > tools/mark, timeout: 20s}]
    requires: [sh, "python>=3.5"]
    readiness: {run: grep -q ready tools/mark, timeout: 20s}
  broken: {setup: ['true', 'echo no such thing >&2; exit 3']}
  lacking: {requires: [no-such-program]}
  old: {requires: ["python>=99.1"]}
  serving:
    setup: ["setsid python3 -m http.server 8099 >/dev/null 2>&1 &"]
    readiness: {port: 8099, interval: 50ms, timeout: 20s}
  held: {lifecycle: workspace, resources: {sharing: limited, memory: 256m}}
  single: {lifecycle: ephemeral}
  never: {readiness: {run: "echo not yet; exit 1", interval: 20ms, timeout: 300ms}}
"""


class Starting(World):
    """What a profile has done before anybody gets the sandbox."""

    def setUp(self):
        super().setUp()
        (self.own / "starts.yaml").write_text(STARTS)
        self.daemon = Daemon(arguments=["--profiles", str(self.own)]).start()
        self.addCleanup(self.daemon.end)
        self.state = self.daemon.state

    def refused(self, profile):
        said = self.atoll("create", "--profile", profile, code=125).stderr
        self.assertEqual(self.told("ps"), [])
        return said

    def test_it_is_done_when_the_sandbox_is_handed_out(self):
        made = self.told("create", "--profile", "made", "--name", "box")
        self.assertEqual([s["name"] for s in made["stages"] if s["name"] in ("setup", "requires", "readiness")],
                         ["setup", "requires", "readiness"])
        said = {stage["name"]: stage.get("log") for stage in made["stages"]}
        self.assertIn(STRONGEST, said["route"])
        self.assertRegex(said.get("boot") or said["hand_over"], "^(the agent answers|one that .* had made ahead)")
        self.assertRegex(said["requires"], "^(found |known from)")
        self.assertIn(", question ", said["readiness"])
        self.assertTrue(all(len(log or "") <= 200 for log in said.values()), said)
        self.assertEqual(self.told("inspect", "--start", "box")["stages"], made["stages"])
        self.assertEqual(self.atoll("exec", "box", "--", "cat", "tools/mark").stdout, "ready\n")
        self.atoll("rm", "box")
        self.assertEqual(self.atoll("run", "--profile", "made", "--", "cat", "tools/mark").stdout, "ready\n")

    def test_a_step_that_fails_is_told_with_its_last_words(self):
        self.assertIn("setup: step 2: sh: no such thing", self.refused("broken"))

    def test_the_error_has_the_whole_start_and_so_has_the_record_later(self):
        refused = self.daemon.call("POST", "/v1/sandboxes", {"profile": "broken", "name": "box"}).json
        self.assertEqual(refused["stage"], "setup")
        names = [stage["name"] for stage in refused["stages"]]
        self.assertEqual((names[0], names[-1]), ("route", "setup"), names)
        self.assertTrue({"create", "boot"} <= set(names) or "hand_over" in names, names)
        self.assertIn("no such thing", refused["stages"][-1]["log"])
        self.assertTrue(all(stage["ms"] >= 0 for stage in refused["stages"]))
        told = json.loads(self.atoll("create", "--json", "--profile", "broken", code=125).stdout)["error"]
        self.assertEqual([stage["name"] for stage in told["stages"]][-1], "setup")
        self.assertRegex(self.refused("broken"), "start: sbx[a-z0-9]+: route .*, setup ")
        self.daemon.terminate()
        self.daemon.start()
        record = self.daemon.call("GET", f"/v1/sandboxes/{refused['sandbox']}/start").json
        self.assertEqual((record["state"], record["stages"]), ("failed", refused["stages"]))

    def test_what_is_missing_or_too_old_is_named(self):
        self.assertIn("requires: no-such-program: the sandbox has none", self.refused("lacking"))
        self.assertRegex(self.refused("old"), r"requires: python>=99.1: the sandbox has 3\.\d+")

    def test_what_was_there_a_moment_ago_is_not_looked_for_again(self):
        told = []
        for _ in range(2):
            made = self.told("create", "--profile", "python")
            told += [stage.get("log") for stage in made["stages"] if stage["name"] == "requires"]
            self.atoll("rm", made["id"])
        self.assertEqual(told, ["found python", "known from an earlier start"])

    def test_a_lifecycle_says_who_may_have_it(self):
        self.assertIn("are held by sessions", self.refused("held"))
        self.assertEqual(self.atoll("run", "--profile", "single", "--", "echo", "hi").stdout, "hi\n")
        session = self.told("session", "open", "--profile", "held", "--key", "web")
        made = json.loads(self.atoll("inspect", session["sandbox"], "--json").stdout)
        self.assertEqual((session["scope"], made["lifecycle"], made["resources"]["sharing"]), ("workspace", "workspace", "limited"))
        self.atoll("session", "close", session["id"])

    def test_a_server_listens_when_the_sandbox_is_handed_out(self):
        self.atoll("create", "--profile", "serving", "--name", "box")
        fetched = self.atoll("exec", "box", "--", "python3", "-c",
                             "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8099/').status)")
        self.assertEqual(fetched.stdout, "200\n")
        self.atoll("rm", "box")

    def test_one_that_is_never_ready_is_given_up_in_time(self):
        self.assertIn("readiness: not ready within 300 ms: not yet", self.refused("never"))

    def test_a_daemon_that_dies_meanwhile_leaves_no_half_of_it(self):
        self.daemon.kill()
        (self.own / "slow.yaml").write_text("name: slow\nsetup: [sleep 598.7]\n")
        self.daemon.start()

        def step():
            return [pid for pid in all_pids() if command_of(pid) == ["sleep", "598.7"]]

        creating = subprocess.Popen([ATOLL, "create", "--profile", "slow", "--name", "box"], env=self.environment(),
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(step, "the setup is under way")
        finally:
            creating.kill()  # it would ask the next daemon again
            creating.wait()
        self.assertEqual(len(step()), 1)
        self.daemon.kill()
        self.daemon.start()
        wait_until(lambda: not step(), "nothing is left of it")
        self.assertEqual(self.told("ps"), [])


NEEDS = """
profiles:
  needy: {min_isolation: container, dependencies: {pip: [./answer-1.0-py3-none-any.whl], npm: [./answer-1.0.0.tgz]}}
  unmet: {min_isolation: container, dependencies: {pip: [surely-no-such-package==9]}}
  system: {min_isolation: container, dependencies: {apt: [hello]}}
  installing: {template: tree, min_isolation: container, dependencies: {apt: [atoll-hello]}}
  layered: {drivers: [gvisor], fallback: [], layer: setup, setup: [date +%s%N > stamp; echo mine > ~/.rc; id -un > /tmp/gone]}
"""


def make_npm_package(name, source):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, text in {"package.json": json.dumps({"name": name, "version": "1.0.0"}), "index.js": source}.items():
            member = tarfile.TarInfo(f"package/{path}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return out.getvalue()


def make_wheel(name, source):
    info = f"{name}-1.0.dist-info"
    members = {f"{name}.py": source, f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
               f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    members[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*members, f"{info}/RECORD"])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, text in members.items():
            archive.writestr(path, text)
    return out.getvalue()


TOOLS = ("sh cat ls mkdir rm rmdir mv cp ln env tar find diff sed gzip xz chmod chown touch "
         "dpkg dpkg-deb dpkg-split dpkg-query apt-get apt-config").split()
HELPERS = ["/usr/sbin/ldconfig", "/usr/sbin/start-stop-daemon", "/usr/lib/apt/methods/file", "/usr/lib/apt/methods/store"]


def make_debian(place):
    """A root file system with apt and dpkg of this host, a package that waits in it, and nothing installed."""
    tree = pathlib.Path(place)
    for name in ("etc/apt/apt.conf.d", "etc/apt/preferences.d", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers",
                 "var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/log/apt", "opt/repo", "tmp", "usr/bin"):
        (tree / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (tree / "usr" / name).mkdir(exist_ok=True)
        (tree / name).symlink_to(f"usr/{name}")
    for program in [*(shutil.which(name, path="/bin:/usr/bin") for name in TOOLS), *HELPERS]:
        told = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
        for source in [program, *(word for word in told.split() if word.startswith("/"))]:
            target = tree / source[1:]
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                shutil.copyfile(source, target)
                target.chmod(0o755)
    shutil.copytree("/usr/share/dpkg", tree / "usr/share/dpkg")
    (tree / "var/lib/dpkg/status").touch()
    (tree / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n")
    (tree / "etc/group").write_text("root:x:0:\nuser:x:1000:\n")
    (tree / "etc/apt/sources.list").write_text("deb [trusted=yes] file:/opt/repo ./\n")
    (tree / "etc/apt/apt.conf.d/own").write_text('APT::Sandbox::User "root";\n')
    control = "Package: atoll-hello\nVersion: 1.0\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\nDescription: words\n"
    with tempfile.TemporaryDirectory(prefix="atoll-deb-") as package:
        os.makedirs(f"{package}/DEBIAN")
        os.chmod(package, 0o755)
        os.makedirs(f"{package}/usr/share/atoll-hello")
        pathlib.Path(f"{package}/DEBIAN/control").write_text(control)
        pathlib.Path(f"{package}/usr/share/atoll-hello/words").write_text("hello of a package\n")
        deb = tree / "opt/repo/atoll-hello.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", package, deb], check=True, stdout=subprocess.DEVNULL)
    data = deb.read_bytes()
    (tree / "opt/repo/Packages").write_text(
        f"{control}Filename: ./atoll-hello.deb\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n")
    return tree


class Needing(World):
    """Packages that are there before anybody gets the sandbox, and what is kept of that for the next one."""

    def setUp(self):
        super().setUp()
        (self.own / "needs.yaml").write_text(NEEDS)
        self.daemon = Daemon(arguments=["--profiles", str(self.own)]).start()
        self.addCleanup(self.daemon.end)
        self.state = self.daemon.state

    def create(self, profile, **more):
        answer = self.daemon.call("POST", "/v1/sandboxes", {"profile": profile, "ttl_s": 600, **more})
        self.assertEqual(answer.status, 201, answer)
        return answer.json["id"], {stage["name"]: stage.get("log") for stage in answer.json["stages"]}

    def test_packages_are_installed_each_time_where_nothing_is_kept_and_that_is_told(self):
        files = {"answer-1.0-py3-none-any.whl": make_wheel("answer", "VALUE = 42\n"),
                 "answer-1.0.0.tgz": make_npm_package("answer", "exports.value = 43\n")}
        packed = {name: base64.b64encode(data).decode() for name, data in files.items()}
        for _ in range(2):
            box, stages = self.create("needy", driver=STRONGEST, files_b64=packed)
            self.assertEqual(stages["dependencies"], f"installed each time: {STRONGEST} keeps no layers")
            self.assertNotIn("layer", stages)
            self.assertEqual(self.daemon.exec(box, "python3", "-c", "import answer; print(answer.VALUE)", cwd="/tmp")["stdout"], "42\n")
            self.assertEqual(self.daemon.exec(box, "node", "-e", "console.log(require('answer').value)")["stdout"], "43\n")
            self.atoll("rm", box)

    def test_what_cannot_be_installed_leaves_no_sandbox(self):
        said = self.atoll("create", "--profile", "unmet", code=125).stderr
        self.assertIn("dependencies: pip: python3: ", said)
        self.assertIn("surely-no-such-package", said)
        self.assertEqual(self.told("ps"), [])

    def test_packages_of_the_system_are_refused_where_nobody_can_install_them(self):
        said = self.atoll("create", "--profile", "system", code=125).stderr
        self.assertIn("native installs dependencies.apt in a root file system of the sandbox's own only: name a template"
                      if STRONGEST == "native" else "rootless cannot run as root", said)
        plan = self.told("plan", "--profile", "system", code=1)
        self.assertTrue(all(one["verdict"] == "refused" for one in plan["drivers"]), plan)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("apt-get") and shutil.which("dpkg-deb"), "it needs root and Debian's tools")
    def test_packages_of_the_system_are_installed_by_root_in_a_template(self):
        self.atoll("template", "add", "tree", make_debian(self.base / "debian"))
        box, stages = self.create("installing", driver="native")
        self.assertEqual(stages["dependencies"], "installed each time: native keeps no layers")
        told = self.daemon.exec(box, "cat", "/usr/share/atoll-hello/words")
        self.assertEqual(told["stdout"], "hello of a package\n", told)
        self.atoll("rm", box)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("runsc"), "it needs root and runsc")
    def test_the_first_sets_up_and_the_next_begins_with_the_layer(self):
        first, stages = self.create("layered")
        self.assertRegex(stages["layer"], "^kept as layer snp")
        self.assertIn("setup", stages)
        layer = stages["layer"].removeprefix("kept as layer ")
        stamp = self.daemon.exec(first, "cat", "stamp")["stdout"]
        self.daemon.exec(first, "sh", "-c", "echo spoilt > stamp")
        self.daemon.kill()
        self.daemon.start()
        for memory in (None, 300):
            box, stages = self.create("layered", **({"resources": {"memory_mb": memory}} if memory else {}))
            self.assertEqual(stages["layer"], f"from layer {layer}")
            self.assertNotIn("setup", stages)
            self.assertEqual(self.daemon.exec(box, "sh", "-c", "cat stamp ~/.rc; ls /tmp")["stdout"], f"{stamp}mine\n")
            self.atoll("rm", box)
        _, stages = self.create("layered", env={"OTHER": "1"})
        self.assertRegex(stages["layer"], "^kept as layer snp")
        self.assertEqual(json.loads(self.atoll("snapshot", "ls", "--json").stdout)["snapshots"], [])


HOOKS = """
profiles:
  hooked:
    min_isolation: container
    workdir: /workspace
    setup: [echo 0 > starts]
    hooks:
      after_start: ['n=$(($(cat starts) + 1)); echo $n > starts; echo start $n']
      before_stop: echo stop $(cat starts)
    readiness: grep -q 1 starts
  unready: {hooks: {after_start: ['true', 'echo no database >&2; exit 1']}}
  sulky: {hooks: {before_stop: {run: sleep 597.3, timeout: 300ms}}}
"""


class Hooked(World):
    """What a profile has run whenever a sandbox has started, and before it stops."""

    def setUp(self):
        super().setUp()
        (self.own / "hooks.yaml").write_text(HOOKS)
        self.daemon = Daemon(arguments=["--profiles", str(self.own)]).start()
        self.addCleanup(self.daemon.end)
        self.state = self.daemon.state

    def said(self, box, moment):
        record = json.loads(self.atoll("inspect", "--start", "--json", box).stdout)
        return [stage.get("log") for stage in record["stages"] if stage["name"] == moment]

    def test_every_start_and_every_stop_has_them(self):
        box = self.told("create", "--profile", "hooked")["id"]
        self.assertEqual(self.said(box, "after_start"), ["start 1"])
        self.atoll("stop", box)
        self.assertEqual(self.said(box, "before_stop"), ["stop 1"])
        self.atoll("start", box)
        self.assertEqual(self.said(box, "after_start"), ["start 2"])
        self.atoll("rm", box)
        self.assertEqual(self.said(box, "before_stop"), ["stop 2"])

    def test_one_whose_time_is_up_is_asked_first(self):
        box = self.told("create", "--profile", "hooked", "--ttl", "1s")["id"]
        wait_until(lambda: not self.told("ps"), "its time is up")
        self.assertEqual(self.said(box, "before_stop"), ["stop 1"])

    def test_a_run_has_both(self):
        done = json.loads(self.atoll("run", "--json", "--profile", "hooked", "--", "cat", "starts").stdout)
        self.assertEqual(done["stdout"], "1\n")
        said = {stage["name"]: stage.get("log") for stage in done["stages"]}
        self.assertEqual((said["after_start"], said["before_stop"]), ("start 1", "stop 1"))

    def test_a_start_that_fails_leaves_no_sandbox(self):
        said = self.atoll("create", "--profile", "unready", code=125).stderr
        self.assertIn("after_start: hook 2: sh: no database", said)
        self.assertEqual(self.told("ps"), [])

    def test_no_hook_keeps_a_sandbox_from_ending(self):
        box = self.told("create", "--profile", "sulky")["id"]
        self.atoll("rm", box)
        self.assertEqual(self.told("ps"), [])
        self.assertIn("it did not end within 300 ms", self.said(box, "before_stop")[0])
        self.assertEqual([pid for pid in all_pids() if command_of(pid) == ["sleep", "597.3"]], [])

    def test_they_are_shown(self):
        shown = self.told("profile", "show", "hooked")
        self.assertEqual(shown["settings"]["hooks"]["before_stop"], [{"run": "echo stop $(cat starts)", "timeout_ms": 30000}])
        self.assertRegex(self.atoll("profile", "explain", "hooked").stdout, r"hooks\.after_start .*hooked@1")


class Written(World):
    """Profiles that people write, and what is wrong with them."""

    def test_check_finds_every_problem_with_its_line(self):
        (self.own / "bad.yaml").write_text("profiles:\n  a: {tll: 1m}\n  b:\n    hooks: {start: x}\n  c: {inherits: ghost}\n")
        done = self.atoll("profile", "check", self.own, code=1)
        self.assertIn("bad.yaml:2: profiles.a.tll: unknown field (did you mean ttl?)", done.stdout)
        self.assertIn("bad.yaml:4: profile b: hooks: expected after_start or before_stop", done.stdout)
        self.assertIn("no profile is called ghost", done.stdout)
        self.assertEqual(len(self.told("profile", "check", self.own, code=1)["problems"]), 3)
        # And none of the others is used.
        self.atoll("run", "--profiles", self.own, "--profile", "greeter", "--", "true", code=125)

    def test_check_finds_sizes_that_nobody_may_have(self):
        (self.own / "bad.yaml").write_text("name: huge\nresources: {cpus: 5000}\n")
        self.assertIn("profile huge@1: resources.cpu", self.atoll("profile", "check", self.own, code=1).stdout)

    def test_check_warns_of_a_driver_that_nobody_has(self):
        (self.own / "far.yaml").write_text("name: far\ndrivers: [nosuch]\n")
        self.assertIn("warning: ", self.atoll("profile", "check", self.own).stderr)
        self.assertIn("no driver is called nosuch", self.told("profile", "check", self.own)["warnings"][0])

    def test_what_is_fine_is_fine(self):
        self.assertIn("are fine", self.atoll("profile", "check", self.own).stdout)
        self.assertIn("are fine", self.atoll("profile", "check").stdout)

    def test_diff_tells_what_differs(self):
        done = self.atoll("profile", "diff", "default", "python", code=1).stdout
        self.assertRegex(done, r"resources\.memory +256m +512m")
        self.assertNotIn("min_isolation", done)
        self.atoll("profile", "diff", "team", "team@1")

    def test_they_may_stand_in_the_configuration(self):
        (self.home / ".config" / "atoll" / "atoll.yaml").write_text(
            "sandbox: {profile: mine}\nprofiles:\n  mine: {inherits: default, env: {WHO: me}}\n")
        self.assertEqual(self.atoll("run", "--", "sh", "-c", "echo $WHO").stdout, "me\n")
        self.assertIn("mine", self.atoll("profile", "ls", "-q").stdout.split())
        (self.home / ".config" / "atoll" / "atoll.yaml").write_text(f"profiles: {self.own}\n")
        self.assertIn("greeter@1", self.atoll("profile", "ls", "-q").stdout.split())


class Found(World):
    """A project file that came with a directory adds profiles, and weakens nothing."""

    def project(self, text):
        (self.tree / "atoll.yaml").write_text(text)

    def test_it_adds(self):
        self.project("sandbox: {profile: here}\nprofiles:\n  here: {inherits: python, env: {WHO: project}}\n")
        self.assertEqual(self.atoll("run", "--", "sh", "-c", "echo $WHO").stdout, "project\n")

    def test_it_takes_no_name_over(self):
        self.project("profiles:\n  untrusted@9: {min_isolation: container}\n")
        self.assertIn("may not take over the name", self.atoll("run", "--profile", "untrusted", "--", "true", code=126).stderr)
        self.atoll("run", "--", "true")

    def test_it_does_not_lower(self):
        for text in ("min_isolation: process", "inherits: trusted", "drivers: [local]", "workspace: rw", "placement: third_party"):
            self.project(f"profiles:\n  weak: {{{text}}}\n")
            refused = self.atoll("run", "--profile", "weak", "--", "true", code=126)
            self.assertIn("a project file that nobody named may not", refused.stderr, text)

    def test_its_choice_of_a_profile_takes_nothing_away(self):
        self.project("sandbox: {profile: trusted}\n")
        refused = self.atoll("run", "--", "true", code=125)
        self.assertIn("local offers none, container was asked", refused.stderr)
        # A named file is the user's own word.
        self.atoll("run", "--config", self.tree / "atoll.yaml", "--", "true")


class WithDaemon(World):
    def setUp(self):
        super().setUp()
        self.daemon = Daemon(arguments=["--profiles", str(self.own)]).start()
        self.addCleanup(self.daemon.end)
        self.state = self.daemon.state

    def test_the_daemons_profiles_hold(self):
        self.assertIn("greeter", self.atoll("profile", "ls", "-q").stdout.split())
        self.assertEqual(self.atoll("run", "--profile", "greeter", "--", "sh", "-c", "echo $GREETING").stdout, "good day\n")
        self.assertIn("a daemon has profiles of its own",
                      self.atoll("run", "--profiles", self.own, "--profile", "greeter", "--", "true", code=2).stderr)
        shown = self.told("profile", "show", "greeter")
        self.assertEqual(shown["settings"]["env"], ["GREETING"])
        self.assertNotIn("good day", json.dumps(shown))

    def test_a_sandbox_tells_version_and_level_and_keeps_them(self):
        made = self.told("create", "--profile", "greeter", "--name", "box")
        self.assertEqual((made["profile"], made["isolation"], made["timeout_ms"]), ("greeter@2", "container", 20_000))
        self.assertEqual(made["labels"], {"team": "search"})
        self.assertEqual(made["resources"]["pids"], 77)
        self.assertEqual(self.told("create", "--profile", "greeter@2", "--name", "box")["id"], made["id"])
        self.daemon.kill()
        self.daemon.start()
        again = json.loads(self.atoll("inspect", "box", "--json").stdout)
        self.assertEqual((again["profile"], again["timeout_ms"]), ("greeter@2", 20_000))
        self.assertEqual(self.told("create", "--name", "plain")["profile"], "none")
        self.atoll("rm", "box", "plain")

    def test_what_is_for_single_commands_cannot_stay(self):
        self.atoll("run", "--profile", "once", "--", "true")
        self.assertIn("is for single commands", self.atoll("create", "--profile", "once", code=125).stderr)

    def test_commands_end_when_the_profile_says(self):
        self.atoll("create", "--profile", "quick", "--name", "box")
        self.atoll("exec", "box", "--", "sleep", "30", code=124)
        self.atoll("exec", "--timeout", "20s", "box", "--", "sleep", "0.5")
        self.atoll("rm", "box")

    def test_a_plan_is_the_daemons(self):
        plan = self.told("plan", "--profile", "greeter", "--as", "subprocess")
        self.assertEqual((plan["profile"], plan["min_isolation"]), ("greeter@2", "container"))
        self.assertEqual(self.told("ps"), [])

    def test_a_daemon_with_a_bad_profile_does_not_start(self):
        (self.own / "bad.yaml").write_text("name: bad\nhooks: {start: x}\n")
        done = subprocess.run([ATOLL, "serve", "--listen", "none", "--profiles", str(self.own), "--state", str(self.base / "other")],
                              capture_output=True, text=True, timeout=60, env=self.environment())
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("hooks: expected after_start or before_stop", done.stderr)
        self.assertFalse((self.base / "other").exists())


if __name__ == "__main__":
    unittest.main()
