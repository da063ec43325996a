"""Templates: images and root file systems that a daemon keeps, and sandboxes that are made from them."""

import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tarfile
import tempfile
import unittest

from engines import Engine, lacking
from live import ATOLL, Daemon, wait_until

DRIVER = "native" if os.geteuid() == 0 else "rootless"
TOOLS = "cat echo env id ls pwd sh sleep stat test touch".split()


def make_layer(files, links=()):
    """A layer as tar: contents by path, links, and whiteouts as files without content."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            if content is None:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(entry)
                continue
            entry.size, entry.mode, entry.mtime = len(content), 0o755, 1_600_000_000
            archive.addfile(entry, io.BytesIO(content))
        for path, target in links:
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return out.getvalue()


def make_base():
    """busybox and links to it."""
    busybox = pathlib.Path("/bin/busybox").read_bytes()
    files = {"bin": None, "bin/busybox": busybox, "etc": None, "etc/motto": b"of the base\n", "etc/gone": b"x", "srv": None,
             "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\nworker:x:1234:1234::/srv:/bin/sh\n"}
    return make_layer(files, [(f"bin/{tool}", "busybox") for tool in TOOLS])


def docker_save(path, layers, config):
    """As `docker save` has written images for years, with the manifest at the end."""
    ids = ["sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers]
    text = json.dumps({"architecture": "amd64", "os": "linux", "config": config, "rootfs": {"type": "layers", "diff_ids": ids}}).encode()
    name = hashlib.sha256(text).hexdigest() + ".json"
    paths = [f"{digest[7:]}/layer.tar" for digest in ids]
    manifest = json.dumps([{"Config": name, "RepoTags": ["tiny:1"], "Layers": paths}]).encode()
    with tarfile.open(path, "w") as archive:
        for where, content in [*zip(paths, layers), (name, text), ("manifest.json", manifest)]:
            entry = tarfile.TarInfo(where)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def save_committed(engine, path):
    """`docker commit` of a container that has changed its image, and `docker save` of that."""
    def ask(method, target, body=None):
        status, answer = engine.ask(method, f"/v1.41{target}", json.dumps(body) if body else None, {"Content-Type": "application/json"})
        assert status in (200, 201, 204), (target, status, answer)
        return answer

    command = "printf 'of docker\\n' > /etc/motto; rm /etc/group"
    ask("POST", "/containers/create?name=changed", {"Image": engine.image, "Cmd": ["/bin/sh", "-c", command],
                                                    "HostConfig": {"NetworkMode": "none"}})
    ask("POST", "/containers/changed/start")
    assert json.loads(ask("POST", "/containers/changed/wait"))["StatusCode"] == 0
    ask("POST", "/commit?container=changed&repo=saved&tag=1", {"Env": ["COLOUR=blue", "PATH=/bin"], "WorkingDir": "/home"})
    path.write_bytes(ask("GET", "/images/saved:1/get"))
    ask("DELETE", "/containers/changed?force=1")


class Templates(unittest.TestCase):
    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="atoll-template-"))
        self.addCleanup(shutil.rmtree, self.place)
        self.daemon = Daemon().start()
        self.addCleanup(self.daemon.end)

    def atoll(self, *words, code=0, **more):
        done = subprocess.run([ATOLL, "--state", self.daemon.state, *map(str, words)], capture_output=True, text=True, timeout=120, **more)
        if code is not None:
            self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done

    def run_in(self, name, *command, flags=(), code=0, driver=DRIVER):
        return self.atoll("run", "--driver", driver, "--template", name, *flags, "--", *command, code=code).stdout

    def image(self, motto=b"of the image\n", user="worker"):
        path = self.place / "image.tar"
        top = make_layer({"etc/motto": motto, "etc/.wh.gone": b""})
        config = {"Env": ["PATH=/bin", "COLOUR=blue"], "WorkingDir": "/srv", "User": user, "Cmd": ["sh"]}
        docker_save(path, [make_base(), top], config)
        return path

    def kept(self, name):
        return sorted(os.listdir(os.path.join(self.daemon.state, "templates", name)))

    def test_an_image_runs_with_what_it_says(self):
        added = self.atoll("template", "add", "tiny:1", self.image()).stdout.strip()
        self.assertEqual(self.kept("trees"), [added])
        self.assertEqual(self.run_in("tiny:1", "sh", "-c", "cat /etc/motto; test -e /etc/gone || echo gone; echo $COLOUR; pwd; id -u"),
                         "of the image\ngone\nblue\n/srv\n1234\n")
        # What is asked for goes before what the image says.
        self.assertEqual(self.run_in("tiny:1", "sh", "-c", "echo $COLOUR; pwd; id -u", flags=["-e", "COLOUR=red", "-w", "/", "-u", "root"]),
                         "red\n/\n0\n")
        # Nobody changes the template.
        self.run_in("tiny:1", "sh", "-c", "echo mine > /etc/motto && cat /etc/motto", flags=["-u", "root"])
        self.assertEqual(self.run_in("tiny:1", "cat", "/etc/motto"), "of the image\n")

    def test_chroot_takes_templates_too(self):
        if os.geteuid() != 0:
            self.skipTest("chroot needs root")
        self.atoll("template", "add", "tiny:0", self.image())
        refused = self.atoll("run", "--driver", "chroot", "--template", "tiny:0", "--", "true", code=125)
        self.assertIn("chroot cannot run as user worker, who is 1234 in the template: every command is user 0 there", refused.stderr)
        self.assertIn("native and gvisor can", refused.stderr)
        self.atoll("template", "add", "tiny:1", self.image(user=""))
        told = self.run_in("tiny:1", "sh", "-c", "cat /etc/motto; test -e /etc/gone || echo gone; echo $COLOUR; pwd", driver="chroot")
        self.assertEqual(told, "of the image\ngone\nblue\n/srv\n")
        # Nobody changes the template.
        self.run_in("tiny:1", "sh", "-c", "echo mine > /etc/motto && cat /etc/motto", driver="chroot", code=None)
        self.assertEqual(self.run_in("tiny:1", "cat", "/etc/motto", driver="chroot"), "of the image\n")

    def test_a_file_of_docker_save_runs(self):
        """As a real Docker writes it: layers of its own making, one of which removes a file of another."""
        if missing := lacking("docker"):
            self.assertNotEqual(os.environ.get("ATOLL_MUST_RUN"), "1", missing)
            self.skipTest(f"this host lacks {missing}")
        path = self.place / "saved.tar"
        engine = Engine("docker").start()
        try:
            save_committed(engine, path)
        finally:
            self.assertEqual(engine.stop(), [])
        self.atoll("template", "add", "saved:1", path)
        script = "cat /etc/motto; test -e /etc/group || echo gone; echo $COLOUR; pwd; id -u"
        self.assertEqual(self.run_in("saved:1", "sh", "-c", script), "of docker\ngone\nblue\n/home\n1000\n")
        if os.geteuid() == 0:
            self.assertEqual(self.run_in("saved:1", "sh", "-c", script, driver="chroot").splitlines()[:4],
                             ["of docker", "gone", "blue", "/home"])

    def test_a_sandbox_tells_its_template_and_keeps_it(self):
        self.atoll("template", "add", "tiny", self.image())
        box = self.daemon.create(driver=DRIVER, template="tiny")
        self.assertEqual(self.daemon.call("GET", f"/v1/sandboxes/{box}").json["template"], "tiny:latest")
        self.atoll("template", "rm", "tiny")
        self.assertEqual(json.loads(self.atoll("template", "ls", "--json").stdout), {"templates": []})
        self.assertEqual(len(self.kept("trees")), 1)
        self.assertEqual(self.daemon.exec(box, "cat", "/etc/motto")["stdout"], "of the image\n")
        # Also after the daemon was killed: the next one collects at its start, and must not take this.
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(len(self.kept("trees")), 1)
        self.assertEqual(self.daemon.exec(box, "cat", "/etc/motto")["stdout"], "of the image\n")
        self.assertEqual(self.daemon.call("DELETE", f"/v1/sandboxes/{box}").status, 204)
        self.daemon.terminate()
        self.daemon.start()
        wait_until(lambda: not self.kept("trees") and not self.kept("trash"), "the tree goes")

    def test_names_have_versions(self):
        first = self.atoll("template", "add", "tiny", self.image()).stdout.strip()
        second = self.atoll("template", "add", "tiny", self.image(b"new\n")).stdout.strip()
        self.assertNotEqual(first, second)
        self.assertEqual(self.run_in("tiny", "cat", "/etc/motto"), "new\n")
        shown = json.loads(self.atoll("template", "show", "tiny", "--json").stdout)
        self.assertEqual([version["id"] for version in shown["versions"]], [second, first])
        self.assertEqual(self.atoll("template", "rollback", "tiny").stdout.strip(), first)
        self.assertEqual(self.run_in("tiny", "cat", "/etc/motto"), "of the image\n")
        self.assertIn("no earlier version", self.atoll("template", "rollback", "tiny", code=125).stderr)
        self.assertIn("tiny", self.atoll("template", "ls").stdout)
        self.assertEqual(self.atoll("template", "ls", "-q").stdout, "tiny:latest\n")

    def test_a_root_file_system_comes_as_tar_with_gzip_from_stdin_or_as_a_directory(self):
        base = make_base()
        plain, packed, tree = self.place / "root.tar", self.place / "root.tar.gz", self.place / "tree"
        plain.write_bytes(base)
        packed.write_bytes(gzip.compress(base))
        with tarfile.open(plain) as archive:
            archive.extractall(tree, filter="fully_trusted") if hasattr(tarfile, "fully_trusted_filter") else archive.extractall(tree)
        (tree / "absolute").symlink_to("/etc/motto")
        ids = [self.atoll("template", "add", name, source).stdout for name, source in [("plain", plain), ("packed", packed)]]
        self.assertEqual(ids[0], ids[1])
        self.atoll("template", "add", "tree", tree)
        self.assertEqual(self.run_in("tree", "/bin/cat", "/absolute"), "of the base\n")
        done = subprocess.run([ATOLL, "--state", self.daemon.state, "template", "add", "piped", "-"], input=base, capture_output=True, timeout=60)
        self.assertEqual(done.stdout.decode(), ids[0], done.stderr)
        self.assertEqual(self.run_in("piped", "/bin/cat", "/etc/motto"), "of the base\n")

    def test_what_is_refused_says_why_and_leaves_nothing(self):
        image = self.image()
        damaged = self.place / "damaged.tar"
        damaged.write_bytes(image.read_bytes().replace(b"of the image", b"of somebody!"))
        self.assertIn("damaged", self.atoll("template", "add", "bad", damaged, code=125).stderr)
        cut = self.place / "cut.tar"
        cut.write_bytes(image.read_bytes()[:200_000])
        self.assertIn("ends before its end", self.atoll("template", "add", "bad", cut, code=125).stderr)
        self.assertIn("is no name", self.atoll("template", "add", "../x", image, code=2).stderr)
        self.assertIn("did you mean: atoll template show", self.atoll("template", "shwo", "x", code=2).stderr)
        self.atoll("template", "add", "tiny", image)
        missing = self.atoll("run", "--template", "tinny", "--", "true", code=125).stderr
        self.assertIn("did you mean tiny:latest", missing)
        wait_until(lambda: not self.kept("incoming"), "uploads are removed")
        self.assertEqual(len(self.kept("trees")), 1)

    def test_killed_while_adding_leaves_nothing(self):
        fifo = self.place / "endless"
        os.mkfifo(fifo)
        adding = subprocess.Popen([ATOLL, "--state", self.daemon.state, "template", "add", "half", str(fifo)],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(adding.wait)
        with open(fifo, "wb", buffering=0) as end:
            end.write(make_base()[:1_000_000])
            wait_until(lambda: self.kept("incoming"), "the upload begins")
            self.daemon.process.send_signal(signal.SIGKILL)
            self.daemon.process.wait()
        self.assertNotEqual(adding.wait(timeout=60), 0)
        self.assertTrue(self.kept("incoming"))
        self.daemon.start()
        self.assertEqual((self.kept("incoming"), self.kept("trees"), self.kept("trash")), ([], [], []))
        self.assertEqual(json.loads(self.atoll("template", "ls", "--json").stdout), {"templates": []})

    def test_killed_at_any_moment_of_an_unpacking_has_all_or_nothing(self):
        """Many files, so that the unpacking takes a while; killed at moments that differ."""
        path = self.place / "many.tar"
        path.write_bytes(make_layer({f"d{i % 50}/f{i}": b"content %d" % i for i in range(4_000)}))
        for share in (0.1, 0.4, 0.8):
            adding = subprocess.Popen([ATOLL, "--state", self.daemon.state, "template", "add", "many", str(path)],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            made = os.path.join(self.daemon.state, "templates", "incoming")

            def unpacked():
                return sum(len(files) for _, _, files in os.walk(made)) > share * 4_000 or adding.poll() is not None

            wait_until(unpacked, "the unpacking is under way")
            self.daemon.kill()
            adding.wait(timeout=60)
            self.daemon.start()
            listed = json.loads(self.atoll("template", "ls", "--json").stdout)["templates"]
            self.assertEqual((self.kept("incoming"), len(self.kept("trees"))), ([], len(listed)))
            for one in listed:
                self.assertEqual(one["files"], 4_050)
                self.atoll("template", "rm", "many")
                wait_until(lambda: not self.kept("trees"), "the tree goes")

    def test_members_use_templates_and_administrators_change_them(self):
        self.atoll("template", "add", "tiny", self.image())
        key = self.daemon.call("POST", "/v1/keys", {"role": "member", "tenant": "acme"}).json["key"]
        bearer = {"Authorization": f"Bearer {key}"}
        answer = self.daemon.call("PUT", "/v1/templates/tiny", make_base(), bearer)
        self.assertEqual((answer.status, answer.json["code"]), (403, "permission_denied"))
        self.assertEqual(self.daemon.call("GET", "/v1/templates/tiny", headers=bearer).status, 200)
        request = {"sandbox": {"driver": DRIVER, "template": "tiny"}, "exec": {"argv": ["cat", "/etc/motto"]}}
        ran = self.daemon.call("POST", "/v1/runs", request, bearer)
        self.assertEqual((ran.status, ran.json["stdout"]), (200, "of the image\n"), ran)

    def test_changes_of_a_template_are_not_applied(self):
        self.atoll("template", "add", "tiny", self.image())
        here = self.place / "here"
        here.mkdir()
        self.atoll("run", "--driver", DRIVER, "--template", "tiny", "--here=cow", "--apply", "-u", "root", "--",
                   "sh", "-c", "echo x > /etc/motto; echo y > /workspace/made", cwd=here)
        self.assertEqual((here / "made").read_text(), "y\n")
        self.assertEqual(self.run_in("tiny", "cat", "/etc/motto"), "of the image\n")

    def test_without_a_daemon_it_says_what_to_do(self):
        empty = self.place / "none"
        empty.mkdir()
        environment = {"PATH": os.environ["PATH"], "HOME": str(empty), "XDG_RUNTIME_DIR": str(empty)}
        done = subprocess.run([ATOLL, "run", "--template", "tiny", "--", "true"], capture_output=True, text=True, timeout=60,
                              env=environment, cwd=empty)
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("atoll serve", done.stderr)


if __name__ == "__main__":
    unittest.main()
