"""A daemon of one strength, its sandboxes, and how each attack is played in them."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import urllib.parse

import host as host_side
from live import Daemon, all_pids, census, cgroups_of_boxes, has_members, wait_until

# Drivers without users of their own: everything runs as who started the daemon.
WITHOUT_USERS = {"local", "subprocess", "rootless", "docker", "podman"}
# Which limit an attack runs against. Small, so that twice of it hurts nobody.
LIMITS = {
    "fork_bomb": {"pids": 64},
    "sudo_fork_bomb": {"pids": 64},
    "memory_bomb": {"memory_mb": 64},
    "tmpfs_bomb": {"memory_mb": 64},
    "disk_fill": {"disk_mb": 16},
    "inode_fill": {"disk_mb": 16},  # and an inode for every 4 KiB
    # A disk of more than half the memory is in the storage pool.
    "pool_fill": {"memory_mb": 64, "disk_mb": 40},
    "pool_files": {"memory_mb": 8, "disk_mb": 5},
    "pool_subvolume": {"memory_mb": 64, "disk_mb": 40},
    "cpu_spin": {"cpu": 0.1},
}
FILE_CALL_SECONDS = 1.5
# The first sandbox of a kind shares its root with nobody, and after a minute a new one is shared.
TRIES_TO_SHARE = 4
LOOKS = 80  # more than are ever parked of a kind


class Verdict:
    """reached, denied, not_applicable, not_covered (the driver refuses the limit), not_started or broken."""

    def __init__(self, outcome, detail="", error=""):
        self.outcome, self.detail, self.error = outcome, detail, error

    def __repr__(self):
        return ": ".join(part for part in (self.outcome, self.detail, self.error) if part)


class Refused(Exception):
    """The driver does not offer what the attack needs."""


class Failed(Exception):
    """There is not even a sandbox to attack."""


def verdict_of_output(text):
    for line in reversed(text.splitlines()):
        with contextlib.suppress(ValueError):
            told = json.loads(line)
            if "outcome" in told:
                return Verdict(told["outcome"], told["detail"], told["error"])
    return Verdict("broken", f"it said nothing: {text[-200:]!r}")


def verdict_of_result(result):
    if result["exit_code"] in (0, 10):
        return verdict_of_output(result.get("stdout", ""))
    if result["reason"] == "oom":
        return Verdict("denied", "killed for its memory")
    if result["exit_code"] == 128 + signal.SIGSYS:
        return Verdict("denied", "killed by the filter")
    said = result.get("stderr", "")[-300:]
    return Verdict("broken", f"exit code {result['exit_code']}, {result['reason']}: {said}")


def weakened(host, libexec, without):
    """A libexec directory whose launcher leaves layers out. A daemon starts it without any environment, and well so."""
    directory = host.path("weak-" + "-".join(sorted(without)))
    if not os.path.exists(directory):
        os.mkdir(directory, 0o755)
        real = os.path.abspath(libexec)
        for name in ("atoll-agent", "atoll-pool"):
            os.symlink(os.path.join(real, name), os.path.join(directory, name))
        launcher = pathlib.Path(directory, "atoll-launcher")
        names = ",".join(sorted(without))
        launcher.write_text(f'#!/bin/sh\nATOLL_TEST_WITHOUT={names} exec "{real}/atoll-launcher" "$@"\n')
        launcher.chmod(0o755)
    return directory


class Engine:
    """`without`: the layers that the test build of launcher and agent leaves out."""

    popen = {}  # as whom the daemon and `atoll run` are started

    @property
    def shows_directories(self):
        return self.driver != "local"  # which sees the host's directories as they are

    def __init__(self, host, driver, atoll, libexec, without=(), user=None):
        self.host, self.driver, self.atoll = host, driver, atoll
        self.place = f"atoll-swap-{host.token}"  # what the file API is asked for is in there
        self.environment = {"ATOLL_LIBEXEC": weakened(host, libexec, without) if without else os.path.abspath(libexec), **self.more()}
        self.boxes = []
        self.is_whole = driver == "native" and not without  # nothing is left out, so it is as people get it
        self.parks = False  # whether sandboxes are as people get them: parked before, with a root that others share
        # Sandboxes without a network namespace share names that each has for itself, so only one may be there at a time.
        self.daemon = Daemon(atoll=atoll, arguments=("--parked", "0") if without else ())
        if user is not None:
            os.chown(self.daemon.directory, user, user)
            self.popen = {"user": user, "group": user, "extra_groups": []}
        self.daemon.start(env=self.environment, **self.popen)

    def more(self):
        """What the daemon is told beside where its programs are."""
        return {}

    def end(self):
        """Nothing of ours is left. Cgroups of others' sandboxes, which may run beside us, are not ours."""
        try:
            self.daemon.end()
        except AssertionError as left:
            now = census(self.daemon.directory)
            if now["processes"] or now["mounts"] or any(box in now["cgroups"] for box in self.boxes):
                raise AssertionError(f"{left}; ours were {self.boxes}") from left
            shutil.rmtree(self.daemon.directory)

    # The parts of an attack.

    @contextlib.contextmanager
    def sandbox(self, resources=None):
        if self.parks:
            with self.parked_sandbox(resources) as box:
                yield box
            return
        request = {"driver": self.driver, "ttl_s": 300}
        if self.shows_directories:
            request["host_dirs"] = [{"path": self.host.shared, "access": "ro"}]
        if resources:
            request["resources"] = resources
        answer = self.daemon.call("POST", "/v1/sandboxes", request)
        if answer.status != 201:
            code = answer.json.get("code", "")
            if code == "unsupported" and resources:
                raise Refused(answer.json.get("detail", code))
            raise Failed(f"create: {answer}")
        box = answer.json["id"]
        self.boxes.append(box)
        try:
            yield box
        finally:
            self.daemon.call("DELETE", f"/v1/sandboxes/{box}")

    @property
    def shown(self):
        """Where in a sandbox the programs of the attacks are."""
        return "/workspace" if self.parks else self.host.shared

    def request(self, attack, **told):
        environment = self.host.environment()
        environment.update({f"ATOLL_ATTACK_{name}": str(value) for name, value in {"SHARED": self.shown, **told}.items()})
        request = {"argv": [os.path.join(self.shown, "atoll-attack"), attack["name"]], "env": environment, "timeout_ms": 60_000}
        if attack["user"] == "root" and self.driver not in WITHOUT_USERS:
            request["user"] = "root"
        return request

    def exec(self, box, request):
        answer = self.daemon.call("POST", f"/v1/sandboxes/{box}/exec", request, timeout=90)
        if answer.status != 200:
            return Verdict("broken", f"exec: {answer}")
        return verdict_of_result(answer.json)

    @contextlib.contextmanager
    def running(self, box, attack, **told):
        """The attack in the background, holding; its stdin ends with the context."""
        request = self.request(attack, **told)
        flags = ["-i", *(["-u", request["user"]] if "user" in request else [])]
        for name, value in request["env"].items():
            flags += ["-e", f"{name}={value}"]
        with subprocess.Popen([self.atoll, "exec", "--state", self.daemon.state, *flags, box, "--", *request["argv"]],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            try:
                yield process
            finally:
                with contextlib.suppress(OSError):
                    process.stdin.close()
                try:
                    process.wait(timeout=30)
                except subprocess.TimeoutExpired:
                    process.kill()

    # One attack.

    def play(self, attack):
        verdict = self.play_with(attack, f"play_{attack['setting']}")
        if verdict.outcome != "denied" or not self.is_whole or not self.can_be_parked(attack):
            return verdict
        again = self.play_with(attack, "play_parked")
        if again.outcome == "denied":
            return verdict
        return Verdict(again.outcome, f"in a parked sandbox: {again.detail}", again.error)

    def play_with(self, attack, how):
        self.host.forget()
        try:
            verdict = getattr(self, how)(attack)
        except Refused as refused:
            return Verdict("not_covered", str(refused))
        except Failed as failed:
            return Verdict("not_started", str(failed))
        seen = self.host.evidence(attack["name"], verdict.outcome == "reached")
        if seen:
            return Verdict("reached", seen)
        if verdict.outcome == "reached" and attack["name"] in host_side.NEEDS_EVIDENCE:
            return Verdict("broken", f"it says {verdict.detail!r}, but the host sees nothing of it")
        return verdict

    def play_plain(self, attack):
        with self.sandbox() as box:
            return self.exec(box, self.request(attack))

    # The same in sandboxes as people get them: parked before anybody asked, with a root that others share.

    def play_parked(self, attack):
        self.parks = True
        try:
            return getattr(self, f"play_{attack['setting']}")(attack)
        finally:
            self.parks = False

    def can_be_parked(self, attack):
        # A disk in the storage pool is made when it is asked for; a terminal belongs to a run without a daemon.
        return attack["setting"] != "terminal" and not attack["name"].startswith("pool_")

    @contextlib.contextmanager
    def parked_sandbox(self, resources=None):
        box = wait_until(lambda: self.take_parked(resources), "a sandbox was parked before it was asked for", 60)
        try:
            for name in ("atoll-attack", "atoll-agent-script", "alive"):
                put = self.daemon.call("PUT", f"/v1/sandboxes/{box}/files?mode=0755&path={name}",
                                       pathlib.Path(self.host.shared, name).read_bytes())
                if put.status != 200:
                    raise Failed(f"putting {name} in: {put}")
            yield box
        finally:
            self.daemon.call("DELETE", f"/v1/sandboxes/{box}")

    def take_parked(self, resources=None):
        """A sandbox that had been made when it was asked for; "" when the one that came was made for us."""
        request = {"driver": self.driver, "ttl_s": 300, **({"resources": resources} if resources else {})}
        answer = self.daemon.call("POST", "/v1/sandboxes", request)
        if answer.status != 201:
            raise Failed(f"create: {answer}")
        box = answer.json["id"]
        self.boxes.append(box)
        if "hand_over" in [stage["name"] for stage in answer.json["stages"]]:
            return box
        self.daemon.call("DELETE", f"/v1/sandboxes/{box}")
        return ""

    def root_of(self, box):
        """Which file system its root is: sandboxes that share their root have the same."""
        return self.daemon.exec(box, "stat", "-c", "%d", "/")["stdout"]

    def born(self, box):
        """When its socket was made, which is before anything else of it, and never touched again."""
        return os.stat(os.path.join(self.daemon.state, "run", "box", box, "agent.sock")).st_mtime_ns

    def limit(self, attack):
        return LIMITS.get(attack["name"], {})

    def play_limited(self, attack):
        limit = self.limit(attack)
        told = {f"LIMIT_{ours}": limit[name] for name, ours in
                (("pids", "PIDS"), ("memory_mb", "MEMORY_MIB"), ("disk_mb", "DISK_MIB")) if name in limit}
        if "cpu" in limit:
            told["LIMIT_CPU_PERCENT"] = round(limit["cpu"] * 100)
        if "disk_mb" in limit:
            told["LIMIT_INODES"] = limit["disk_mb"] * 256
        with self.sandbox(limit) as box:
            return self.run_against_limit(box, attack, told)

    def run_against_limit(self, box, attack, told):
        return self.exec(box, self.request(attack, **told))

    def play_held(self, attack):
        if not self.host.probe(attack["name"]):
            return Verdict("not_applicable", "the host's user has none left already")
        with self.sandbox() as box, self.running(box, attack) as process:
            line = process.stdout.readline()
            if b"holding" not in line:
                return verdict_of_output(line.decode() + process.stdout.read().decode())
            # What processes that ended held is given back a little later, and taken by the attack again.
            # Root, too: it may be who has made the user namespace, and pays for what is used in it.
            harmed = not all(self.host.probe(attack["name"], uid) for _ in range(3)
                             for uid in (host_side.VICTIM_ID, os.geteuid()))
            process.stdin.close()
            verdict = verdict_of_output(process.stdout.read().decode())
        return Verdict("reached", f"the host's user has none left; {verdict.detail}") if harmed else verdict

    def play_outlive(self, attack):
        with self.sandbox() as box:
            with self.running(box, attack) as process:
                if b"holding" not in process.stdout.readline():
                    return Verdict("broken", process.stderr.read().decode()[-300:])
                survivor_lives = self.survivor_of(box)
                if not survivor_lives():
                    return Verdict("broken", "the survivor does not even run")
        # A kill is on its way when the sandbox is gone; the survivor would live for half a minute.
        try:
            wait_until(lambda: not survivor_lives(), "it dies", 2)
            return Verdict("denied", "nothing lives on")
        except AssertionError:
            pass
        self.host.end_survivor()
        return Verdict("reached", "it lives on")

    def survivor_of(self, box):
        """Tells whether the survivor of a sandbox lives. In one that is shown no lock of the host's, anybody in its cgroups."""
        if not self.parks:
            return self.host.survivor_lives
        groups = [pathlib.Path(path) for path in cgroups_of_boxes() if path.endswith(f"/{box}")]
        return lambda: any(has_members(group) for group in groups)

    def master_pid(self):
        """Of the process with power over the sandboxes."""
        return self.daemon.launcher() or ""

    def play_daemon(self, attack):
        told = {"LAUNCHER_PID": self.master_pid()}
        with contextlib.ExitStack() as stack:
            if attack["name"] == "neighbour_files":
                told.update(self.neighbour(stack))
            box = stack.enter_context(self.sandbox())
            verdict = self.exec(box, self.request(attack, **told))
            if attack["name"] == "kill_agent":
                state = self.daemon.call("GET", f"/v1/sandboxes/{box}")
                if state.status != 200 or state.json["state"] != "running":
                    return Verdict("reached", f"the sandbox is {state.json.get('state', 'gone')}")
                if verdict.outcome == "broken":
                    # The agent's death may be noticed later than the answer is lost.
                    again = self.daemon.call("POST", f"/v1/sandboxes/{box}/exec", {"argv": ["true"]})
                    return Verdict("denied", "the agent lives") if again.status == 200 else \
                        Verdict("reached", "the agent no longer answers")
            return verdict

    def neighbour(self, stack):
        """A second sandbox with a secret file."""
        box = stack.enter_context(self.sandbox())
        mark = f"neighbour-{self.host.token}"
        self.daemon.start_process(box, "sh", "-c", f"printf {self.host.canary} > neighbour; exec sleep 60 # {mark}")

        pid = wait_until(lambda: self.find_in(box), "the neighbour runs")
        return {"NEIGHBOUR_PID": pid, "NEIGHBOUR_FILE": os.readlink(f"/proc/{pid}/cwd") + "/neighbour"}

    def find_in(self, box):
        """The pid on the host of the sleeper in a sandbox."""
        for pid in all_pids():
            with contextlib.suppress(OSError):
                if pathlib.Path(f"/proc/{pid}/comm").read_text(errors="replace") == "sleep\n" and \
                        box.encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes():
                    return pid
        return None

    def play_twice(self, attack):
        for _ in range(TRIES_TO_SHARE):
            with self.sandbox() as box:
                left = self.leave(box, attack)
                root = self.root_of(box) if self.parks else ""
            if left:
                return left
            verdict, is_proved = self.look_in_the_next(attack, root, time.time_ns())
            if verdict.outcome != "denied" or is_proved:
                return verdict
        return Verdict("broken", "they do not share their root")

    def look_in_the_next(self, attack, root, ended):
        """In parked ones, what is looked at are all until three came that share the root and were made after the former's end."""
        later = 0
        for _ in range(LOOKS):
            with self.sandbox() as box:
                verdict = self.exec(box, self.request(attack, PHASE="look"))
                if not self.parks or verdict.outcome != "denied":
                    return verdict, True
                later += self.root_of(box) == root and self.born(box) > ended
            if later == 3:
                return verdict, True
        return verdict, False

    def play_beside(self, attack):
        for _ in range(TRIES_TO_SHARE):
            with self.sandbox() as box, self.sandbox() as other:
                if self.parks and self.root_of(box) != self.root_of(other):
                    continue
                return self.leave(box, attack) or self.exec(other, self.request(attack, PHASE="look"))
        return Verdict("broken", "they do not share their root")

    def leave(self, box, attack):
        """Why it could not leave what the other is to look for; None if it did, and finds it itself."""
        left = self.exec(box, self.request(attack, PHASE="leave"))
        if left.outcome != "not_applicable":
            return Verdict("broken", repr(left))
        if self.parks:
            # The control here: what is looked for is there to be found.
            own = self.exec(box, self.request(attack, PHASE="look"))
            if own.outcome != "reached":
                return Verdict("broken", f"whoever left it does not find it: {own}")
        return None

    def play_workdir(self, attack):
        last = Verdict("denied", "refused")
        with self.sandbox() as box:
            # The agent's own, and where the test build leaves one open.
            for number in (*range(3, 40), *range(198, 210)):
                request = {**self.request(attack), "cwd": f"/proc/self/fd/{number}"}
                answer = self.daemon.call("POST", f"/v1/sandboxes/{box}/exec", request)
                if answer.status != 200:
                    continue
                last = verdict_of_result(answer.json)
                if last.outcome == "reached":
                    return last
                if last.outcome == "broken":
                    last = Verdict("denied", last.detail)
        return last

    def play_script(self, attack):
        script = os.path.join(self.shown, "atoll-agent-script")
        with self.sandbox() as box, self.running(box, attack) as process:
            while process.poll() is None:
                request = {"argv": [script], "timeout_ms": 5_000}
                if attack["user"] == "root" and self.driver not in WITHOUT_USERS:
                    request["user"] = "root"
                self.daemon.call("POST", f"/v1/sandboxes/{box}/exec", request)
            return verdict_of_output(process.stdout.read().decode())

    def on_terminal(self, request):
        """The command line for a request on the caller's own terminal: `atoll run` without a daemon hands it on."""
        flags = ["-i", *(["-u", request["user"]] if "user" in request else [])]
        if self.shows_directories:
            flags += ["-v", f"{self.host.shared}:ro"]
        for name, value in request["env"].items():
            flags += ["-e", f"{name}={value}"]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ATOLL_")}
        environment.update(self.environment, ATOLL_STATE="/nonexistent/atoll", XDG_RUNTIME_DIR=self.daemon.directory)
        return [self.atoll, "run", "--driver", self.driver, *flags, "--", *request["argv"]], environment

    def play_terminal(self, attack):
        command, environment = self.on_terminal(self.request(attack))
        master, slave = os.openpty()
        try:
            done = subprocess.run(["setsid", "--ctty", "--wait", *command], stdin=slave, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=environment, timeout=60, **self.popen)
            typed = host_side.typed_into(slave)
        finally:
            os.close(master)
            os.close(slave)
        if typed:
            return Verdict("reached", f"the terminal has {typed!r}")
        verdict = verdict_of_output(done.stdout.decode())
        if verdict.outcome == "broken":
            verdict.detail += done.stderr.decode()[-300:]
        return verdict

    # The file API, while the guest swaps links.

    def play_file_api(self, attack):
        call = attack["name"].removeprefix("swap_")
        self.host.reset_outside()
        self.host.remove_leftovers()
        with self.sandbox() as box, self.running(box, attack) as process:
            line = process.stdout.readline()
            if b"holding" not in line:
                return verdict_of_output(line.decode() + process.stdout.read().decode())
            files = f"/v1/sandboxes/{box}/files"
            end = time.monotonic() + FILE_CALL_SECONDS
            calls = 0
            while time.monotonic() < end:
                calls += 1
                seen = getattr(self, f"file_{call}")(files)
                if seen:
                    return Verdict("reached", f"{seen}, after {calls} calls")
        return Verdict("denied", f"{calls} calls")

    def get(self, path, name):
        return self.daemon.call("GET", f"{path}?path={urllib.parse.quote(name)}")

    def file_link_read(self, files):
        answer = self.get(files, f"{self.place}/link")
        return "the secret was read" if answer.body == self.host.canary.encode() else ""

    def file_read(self, files):
        answer = self.get(files, f"{self.place}/turn/file")
        return "the file outside was read" if answer.body == self.host.canary.encode() else ""

    def file_write(self, files):
        self.daemon.call("PUT", f"{files}?path={self.place}/turn/written&parents=false", b"x")
        return "a file was written outside" if self.host.in_outside("written") else ""

    def file_stat(self, files):
        answer = self.get(f"{files}/stat", f"{self.place}/turn/only_outside")
        return "a file outside was seen" if answer.status == 200 else ""

    def file_list(self, files):
        answer = self.get(f"{files}/list", f"{self.place}/turn")
        return "a directory outside was listed" if b"only_outside" in answer.body else ""

    def file_mkdir(self, files):
        self.daemon.call("POST", f"{files}/mkdir", {"path": f"{self.place}/turn/made", "parents": False})
        return "a directory was made outside" if self.host.in_outside("made") else ""

    def file_move(self, files):
        wish = {"from": f"{self.place}/turn/only_outside", "to": f"{self.place}/stolen"}
        self.daemon.call("POST", f"{files}/move", wish)
        if not self.host.in_outside("only_outside"):
            return "a file was moved from outside"
        self.daemon.call("PUT", f"{files}?path={self.place}/mine", b"x")
        self.daemon.call("POST", f"{files}/move", {"from": f"{self.place}/mine", "to": f"{self.place}/turn/moved"})
        return "a file was moved outside" if self.host.in_outside("moved") else ""

    def file_remove(self, files):
        self.daemon.call("DELETE", f"{files}?path={self.place}/turn/removable")
        return "" if self.host.in_outside("removable") else "a file outside was removed"
