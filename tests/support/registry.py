"""A real image registry for a test, in the network namespace of an engine: on its loopback, with or without a password, or one that hangs."""

import base64
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from live import wait_until

USER, PASSWORD = "somebody", "s3cret-of-the-registry"


def in_network_of(engine, *command, **more):
    """A process on the engine's loopback, which is up."""
    return subprocess.Popen(["nsenter", "--net", "--target", str(engine.process.pid), *command], stdin=subprocess.DEVNULL,
                            start_new_session=True, **more)


def raise_loopback(engine):
    subprocess.run(["nsenter", "--net", "--target", str(engine.process.pid), "ip", "link", "set", "lo", "up"], check=True)


class Registry:
    """docker-registry on 127.0.0.1:`port`."""

    def __init__(self, engine, port, with_password=False):
        self.address = f"127.0.0.1:{port}"
        self.engine = engine
        self.root = tempfile.mkdtemp(prefix="atoll-registry-")
        config = f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {self.root}/data}}}}\nhttp: {{addr: '{self.address}'}}\n"
        if with_password:
            # bcrypt of the password, which the registry alone accepts.
            line = subprocess.run(["htpasswd", "-Bbn", USER, PASSWORD], capture_output=True, text=True, check=True).stdout
            pathlib.Path(f"{self.root}/htpasswd").write_text(line)
            config += f"auth: {{htpasswd: {{realm: here, path: {self.root}/htpasswd}}}}\n"
        pathlib.Path(f"{self.root}/config.yml").write_text(config)
        raise_loopback(engine)
        with open(f"{self.root}/log", "wb") as log:
            self.process = in_network_of(engine, "docker-registry", "serve", f"{self.root}/config.yml", stdout=log, stderr=log)
        wait_until(self.is_ready, "the registry answers")

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(pathlib.Path(f"{self.root}/log").read_text())
        seen = pathlib.Path(f"/proc/{self.engine.process.pid}/net/tcp").read_text()
        return f":{int(self.address.rsplit(':', 1)[1]):04X} 00000000:0000 0A" in seen

    def push(self, image, name):
        """The engine's image under this name here; its full name and its digest."""
        full = f"{self.address}/{name}"
        repository, tag = full.rsplit(":", 1)
        status, text = self.engine.ask("POST", f"/v1.41/images/{image}/tag?repo={repository}&tag={tag}")
        assert status == 201, text
        login = base64.urlsafe_b64encode(json.dumps({"username": USER, "password": PASSWORD, "serveraddress": self.address}).encode())
        status, text = self.engine.ask("POST", f"/v1.41/images/{repository}/push?tag={tag}&tlsVerify=false", None,
                                       {"X-Registry-Auth": login.decode()})
        assert status == 200 and b"error" not in text.lower(), text
        found = json.loads(self.engine.ask("GET", f"/v1.41/images/{full}/json")[1])
        digest = [one for one in found["RepoDigests"] if one.startswith(repository)][0].split("@")[1]
        self.engine.ask("DELETE", f"/v1.41/images/{full}")
        return full, digest

    def login_file(self, directory):
        """What `docker login` would have written."""
        pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        pathlib.Path(directory, "config.json").write_text(json.dumps({"auths": {self.address: {"auth": pair}}}))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
        shutil.rmtree(self.root)


class HungRegistry:
    """Takes connections on 127.0.0.1:`port` and says nothing."""

    def __init__(self, engine, port):
        self.address = f"127.0.0.1:{port}"
        raise_loopback(engine)
        program = (f"import socket, signal; s = socket.create_server(('127.0.0.1', {port})); print('up', flush=True); signal.pause()")
        self.process = in_network_of(engine, sys.executable, "-c", program, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"up\n"

    def stop(self):
        self.process.kill()
        self.process.wait(20)
        self.process.stdout.close()
