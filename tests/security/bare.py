"""Attacks with nothing in their way: on the host itself, as its root or its user 1000.

Not a driver: the crudest control. An attack that does not even reach its canary here is blunt, and would be denied by a
sandbox that stops nothing. What can only be tried in a sandbox (its agent, launcher, file API) does not apply.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile

from engine import Engine, Verdict, verdict_of_output
from host import VICTIM_ID

# These would take the host's own mounts away: they get a copy.
OWN_MOUNTS = {"umount_root", "umount_masks", "remount_writable"}


class Bare(Engine):
    def __init__(self, host):  # no daemon  # pylint: disable=super-init-not-called
        self.host, self.driver, self.parks = host, "bare", False
        self.leak = os.open(host.directory, os.O_RDONLY | os.O_DIRECTORY)

    def end(self):
        os.close(self.leak)

    @staticmethod
    def needs_sandbox(attack):
        """It is about an agent, a launcher, a file API, a cgroup or a storage pool of ours."""
        return (attack["setting"] in ("daemon", "file_api", "workdir", "script")
                or attack["name"] in ("cgroup_path", "pool_subvolume") or attack["name"].startswith("sudo_"))

    def play(self, attack):
        if self.needs_sandbox(attack):
            return Verdict("not_applicable", "only in a sandbox")
        return super().play(attack)

    @contextlib.contextmanager
    def sandbox(self, resources=None):
        directory = tempfile.mkdtemp(prefix="atoll-bare-")
        os.chmod(directory, 0o777)
        try:
            yield directory
        finally:
            shutil.rmtree(directory)

    def process(self, directory, request):
        command = request["argv"]
        name = command[1]
        if name in OWN_MOUNTS:
            command = ["unshare", "--mount", "--propagation", "private", *command]
        as_user = {} if "user" in request else {"user": VICTIM_ID, "group": VICTIM_ID, "extra_groups": []}
        if name in ("leaked_descriptors", "leaked_directory"):
            as_user["pass_fds"] = [self.leak]
        return {"args": command, "env": {**request["env"], "PATH": os.environ["PATH"]}, "cwd": directory, **as_user}

    def exec(self, box, request):
        done = subprocess.run(**self.process(box, request), stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        return verdict_of_output(done.stdout.decode())

    @contextlib.contextmanager
    def running(self, box, attack, **told):
        with subprocess.Popen(**self.process(box, self.request(attack, **told)), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            yield process

    def on_terminal(self, request):
        return request["argv"], request["env"]
