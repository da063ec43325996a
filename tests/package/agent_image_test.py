"""The image for agents: built by its recipe, and at work on every driver that takes it, browser included.

The first run on a machine builds it, which takes minutes; then it is kept until the recipe changes.
"""

import base64
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tarfile
import tempfile
import unittest
import zlib

from engines import Engine, lacking
from live import ATOLL, LIBEXEC, Daemon, wait_until

RECIPE = pathlib.Path(__file__).resolve().parent.parent.parent / "deploy/images/agent"
PAGE = RECIPE.parent.parent.parent / "docs/browser.md"
NAME = "atoll-agent:latest"
MISSING = [name for name in ("mmdebstrap", "npm") if not shutil.which(name)] + ([] if os.geteuid() == 0 else ["root"])
# What a browser takes: each of its processes has dozens of threads.
LIMITS = ["--memory", "2g", "--pids", "512", "--timeout", "120s"]

# A page whose text is nowhere in it, on the sandbox's own loopback.
SERVE = r"""
import http.server, threading
PAGE = b'''<!doctype html><title>page</title><body style="margin:0;background:white">
<div style="width:100px;height:100px;background:rgb(255,0,0)"></div><p id="answer"></p>
<script>document.getElementById("answer").textContent = "computed " + [2, 3, 7].reduce((a, b) => a * b);</script>'''
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)
    def log_message(self, *arguments):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{server.server_port}/"
"""

BY_HAND = SERVE + r"""
import subprocess
done = subprocess.run(["chromium", "--headless", "--dump-dom", URL], capture_output=True, text=True, timeout=90)
print(done.stdout if done.returncode == 0 else done)
"""

BY_PYTHON = SERVE + r"""
import base64, json
from playwright.sync_api import sync_playwright
with sync_playwright() as p:
    browser = p.chromium.launch()
    page = browser.new_page(viewport={"width": 200, "height": 200})
    page.goto(URL)
    picture = page.screenshot(path="shot.png")
    print(json.dumps({"text": page.inner_text("#answer"), "png": base64.b64encode(open("shot.png", "rb").read()).decode()}))
    browser.close()
"""

BY_NODE = r"""
import { createServer } from 'node:http';
import { chromium } from 'playwright';
const server = createServer((request, response) => {
  response.setHeader('Content-Type', 'text/html');
  response.end('<p id="answer"></p><script>answer.textContent = "computed " + 6 * 7</script>');
}).listen(0, '127.0.0.1', async () => {
  const browser = await chromium.launch();
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  console.log(await page.innerText('#answer'));
  await browser.close();
  server.close();
});
"""

# Each is to end well, and to say what stands beside it.
TOOLS = {
    "python3 --version": r"Python 3\.(1[1-9]|[2-9]\d)", "pip --version": r"pip \d+", "node --version": r"v20\.", "npm --version": r"10\.",
    "bash --version": "GNU bash", "curl --version": "curl", "wget --version": "GNU Wget", "git --version": "git version",
    "jq --version": "jq-", "rg --version": "ripgrep", "fd --version": "fd", "htop --version": "htop", "tmux -V": "tmux",
    "chromium --version": "Chromium", "aws --version": "aws-cli/2",
    "python3 -c 'import playwright, atoll; print(atoll.__name__)'": "^atoll$",
    "node -p 'typeof require(\"playwright\").chromium.launch'": "^function$",
    "id -un": "^agent$", "id -u": "^1000$", "locale charmap": "UTF-8",
}


def setUpModule():
    global IMAGE
    IMAGE = None
    if not MISSING:
        done = subprocess.run([RECIPE / "build"], stdout=subprocess.PIPE, text=True, timeout=1500)
        assert done.returncode == 0, "the image was not built"
        IMAGE = done.stdout.strip()


def pixels(png):
    """Rows of (r, g, b) of a picture as browsers write it: eight bits, not interlaced."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n", png[:16]
    at, packed = 8, b""
    while at < len(png):
        size, kind = struct.unpack_from(">I4s", png, at)
        body = png[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert depth == 8 and colours in (2, 6) and not interlaced, body
            step = 3 if colours == 2 else 4
        elif kind == b"IDAT":
            packed += body
        at += size + 12
    plain, above, rows = zlib.decompress(packed), bytes(width * step), []
    for y in range(height):
        begin = y * (width * step + 1)
        kind, row = plain[begin], bytearray(plain[begin + 1:begin + 1 + width * step])
        for x in range(len(row)):
            left, up, corner = (row[x - step] if x >= step else 0), above[x], (above[x - step] if x >= step else 0)
            guess = left + up - corner
            nearest = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
            row[x] = (row[x] + (0, left, up, (left + up) // 2, nearest)[kind]) & 255
        rows.append([tuple(row[x:x + 3]) for x in range(0, len(row), step)])
        above = row
    return rows


@unittest.skipIf(MISSING, f"the image is not built here, for lack of {', '.join(MISSING)}")
class Recipe(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tarfile.open(IMAGE) as image:
            cls.manifest = json.load(image.extractfile("manifest.json"))[0]
            cls.config = json.load(image.extractfile(cls.manifest["Config"]))
            cls.files, cls.texts, cls.bytes = {}, {}, 0
            with tarfile.open(fileobj=image.extractfile(cls.manifest["Layers"][0])) as layer:
                for entry in layer:
                    name = entry.name.removeprefix("./")
                    cls.files[name] = entry
                    cls.bytes += entry.size
                    if re.match(r"etc/(apt/|pip|npm|environment|dpkg/)", name) and entry.isfile():
                        cls.texts[name] = layer.extractfile(entry).read().decode(errors="replace")

    def test_the_image_says_who_and_where(self):
        said = self.config["config"]
        self.assertEqual((self.manifest["RepoTags"], said["User"], said["WorkingDir"]), ([NAME], "agent", "/home/agent"))
        self.assertEqual(self.files["home/agent"].uid, 1000)

    def test_nothing_of_the_builder_is_in_it(self):
        for line in self.texts["etc/apt/sources.list"].splitlines():
            self.assertRegex(line, r"^deb http://\w+\.debian\.org/debian(-security)? bookworm(-updates|-security)? main$")
        self.assertFalse([name for name in self.files if name.startswith("etc/apt/sources.list.d/")])
        for name, text in self.texts.items():
            self.assertNotRegex(text.lower(), r"proxy|index-url|registry *=|check-valid-until", name)
        for name in ("etc/pip.conf", "etc/npmrc", "usr/local/etc/npmrc", "etc/resolv.conf", "etc/hostname", "root/.npmrc", "root/.config",
                     "root/.cache", "home/agent/.npmrc", "home/agent/.config"):
            self.assertNotIn(name, self.files)
        kept = {name: value for name, _, value in (variable.partition("=") for variable in self.config["config"]["Env"])}
        self.assertEqual(sorted(kept), ["LANG", "PATH", "PIP_BREAK_SYSTEM_PACKAGES", "PLAYWRIGHT_BROWSERS_PATH",
                                        "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD"])

    def test_it_carries_no_papers_and_no_caches(self):
        heavy = [name for name, entry in self.files.items() if entry.isfile() and entry.size and name != "usr/share/info/dir" and (
            name.startswith(("usr/share/man/", "usr/share/info/", "var/lib/apt/lists/", "var/cache/apt/", "var/log/", "tmp/")) or
            name.startswith("usr/share/doc/") and not name.endswith("/copyright") or name.endswith("/LC_MESSAGES/coreutils.mo"))]
        self.assertEqual(heavy, [])
        self.assertLess(self.bytes, 1_300_000_000)
        special = [name for name, entry in self.files.items() if entry.isdev() and not name.startswith("dev/")]
        self.assertEqual(special, [])

    def test_what_it_cannot_do_is_said(self):
        done = subprocess.run([RECIPE / "build", "--name", "No Name"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("'No Name' is no NAME:TAG", done.stderr)


class Cases:
    """What holds wherever the image runs."""

    limits = LIMITS

    def run_in(self, *command, text=None):
        done = self.atoll("run", "--driver", self.driver, *self.flags, *self.limits, "--", *command, input=text or "")
        self.assertEqual(done.returncode, 0, (command, done.stdout[-2000:], done.stderr[-6000:]))
        return done.stdout

    def test_every_tool_runs(self):
        # sed reads to the end: a tool that writes into a closed pipe may fail for that.
        script = "".join(f"echo '=='; {command} 2>&1 | sed -n 1,2p; echo \"[${{PIPESTATUS[0]}}]\"\n" for command in TOOLS)
        told = self.run_in("bash", "-s", text=script).split("==\n")[1:]
        self.assertEqual(len(told), len(TOOLS), told)
        for (command, expected), answer in zip(TOOLS.items(), told):
            text, code = answer.rsplit("[", 1)
            self.assertEqual(code.strip(), "0]", (command, answer))
            self.assertRegex(text.strip(), expected, command)

    def test_the_home_is_the_users(self):
        script = 'cd; pwd; echo $HOME; echo x > file && cat file; python3 -m venv venv && venv/bin/python -c "print(6*7)"; stat -c %U .'
        told = self.run_in("bash", "-c", script).split()
        self.assertEqual(told, [self.home, self.home, "x", "42", "agent"])

    def test_chromium_opens_a_page(self):
        self.assertIn('<p id="answer">computed 42</p>', self.run_in("python3", "-", text=BY_HAND))

    def test_playwright_drives_it_from_python(self):
        told = json.loads(self.run_in("python3", "-c", "import os; os.chdir('/tmp')\n" + BY_PYTHON))
        self.assertEqual(told["text"], "computed 42")
        rows = pixels(base64.b64decode(told["png"]))
        self.assertEqual((len(rows), len(rows[0])), (200, 200))
        self.assertEqual((rows[50][50], rows[50][150], rows[180][180]), ((255, 0, 0), (255, 255, 255), (255, 255, 255)))
        # The text is there as well.
        self.assertGreater(len({pixel for row in rows[101:] for pixel in row}), 3)

    def test_playwright_drives_it_from_node(self):
        self.assertEqual(self.run_in("node", "--input-type=module", "-", text=BY_NODE), "computed 42\n")


class OfTemplate(Cases):
    """With the words of the image, its environment among them."""

    def test_what_people_install_for_themselves_is_found(self):
        script = "mkdir -p ~/.local/bin && printf '#!/bin/sh\\necho found\\n' > ~/.local/bin/mine && chmod 755 ~/.local/bin/mine && mine"
        self.assertEqual(self.run_in("bash", "-c", script), "found\n")


@unittest.skipIf(MISSING, f"the image is not built here, for lack of {', '.join(MISSING)}")
class Native(OfTemplate, unittest.TestCase):
    driver, home, flags = "native", "/home/agent", ["--template", "agent"]

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.end)
        added = cls.atoll("template", "add", "agent", IMAGE)
        assert added.returncode == 0, added.stderr

    @classmethod
    def atoll(cls, *words, **more):
        return subprocess.run([ATOLL, "--state", cls.daemon.state, *words], capture_output=True, text=True, timeout=300, **more)

    def test_the_working_directory_is_the_images(self):
        self.assertEqual(self.run_in("pwd"), "/home/agent\n")

    def test_the_page_about_browsers(self):
        examples = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.S | re.M)
        self.assertEqual(len(examples), 3)
        environment = {**os.environ, "PATH": f"{os.path.dirname(os.path.abspath(ATOLL))}:{os.environ['PATH']}", "ATOLL_STATE": self.daemon.state}
        with tempfile.TemporaryDirectory(prefix="atoll-page-") as directory:
            for example in examples:
                done = subprocess.run(["bash", "-euc", example], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                                      cwd=directory, env=environment)
                self.assertEqual(done.returncode, 0, (example, done.stdout, done.stderr))
                self.assertRegex(done.stdout + done.stderr, r"(^|>)42(<|\n)", example)
            self.assertTrue(pathlib.Path(directory, "page.png").read_bytes().startswith(b"\x89PNG"))

    def test_what_is_in_the_home_is_the_users_too(self):
        told = self.run_in("bash", "-c", "stat -c '%U %n' .bashrc; echo '# mine' >> .bashrc && tail -n 1 .bashrc; stat -c %U / /etc /home")
        self.assertEqual(told.split("\n"), ["agent .bashrc", "# mine", "root", "root", "root", ""])

    def test_people_install_packages_for_themselves(self):
        # As root of the sandbox, where the system is the sandbox's own.
        told = self.run_in("bash", "-c", "npm config get prefix; pip config list; sudo id -u")
        self.assertEqual(told.split("\n"), ["/usr/local", ":env:.break-system-packages='1'", "0", ""])


@unittest.skipIf(MISSING or lacking("docker"), f"needs what builds the image and an engine; lacking: {MISSING} {lacking('docker')}")
class Docker(Cases, unittest.TestCase):
    # The image is read-only there, and its homes with it.
    driver, home, flags = "docker", "/home/user", []

    @classmethod
    def setUpClass(cls):
        cls.engine = Engine("docker").start()
        cls.addClassCleanup(cls.stop)
        with open(IMAGE, "rb") as image:
            status, text = cls.engine.ask("POST", "/v1.41/images/load?quiet=1", image,
                                          {"Content-Type": "application/x-tar", "Content-Length": str(os.path.getsize(IMAGE))})
        assert status == 200 and NAME.encode() in text, (status, text)

    @classmethod
    def stop(cls):
        left = cls.engine.stop()
        assert not left, f"docker has left: {left}"

    def atoll(self, *words, **more):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("ATOLL_", "DOCKER_"))}
        environment.update(self.engine.environment, ATOLL_LIBEXEC=os.path.abspath(LIBEXEC), ATOLL_STATE="/nonexistent/atoll",
                           XDG_RUNTIME_DIR=self.engine.root, ATOLL_DOCKER_IMAGE=NAME)
        return subprocess.run([ATOLL, *words], capture_output=True, text=True, timeout=300, env=environment, **more)


class WithDaemon(OfTemplate):
    """The template, as an image of an engine or as the root of a bundle."""

    flags, home = ["--template", "agent"], "/home/user"
    engine = None

    @classmethod
    def setUpClass(cls):
        environment = {"ATOLL_LIBEXEC": os.path.abspath(LIBEXEC)}
        if cls.driver != "gvisor":
            cls.engine = Engine(cls.driver).start()
            cls.addClassCleanup(cls.stop)
            environment.update(cls.engine.environment)
        cls.daemon = Daemon().start(env=environment)
        cls.addClassCleanup(cls.daemon.end)
        added = cls.atoll("template", "add", "agent", IMAGE)
        assert added.returncode == 0, added.stderr
        cls.addClassCleanup(cls.remove)

    @classmethod
    def atoll(cls, *words, **more):
        return subprocess.run([ATOLL, "--state", cls.daemon.state, *words], capture_output=True, text=True, timeout=300, **more)

    @classmethod
    def remove(cls):
        removed = cls.atoll("template", "rm", "agent")
        assert removed.returncode == 0, removed.stderr
        if cls.engine:
            wait_until(lambda: not cls.engine.own_images(), "the template's image goes", 90)

    @classmethod
    def stop(cls):
        left = cls.engine.stop()
        assert not left, f"{cls.driver} has left: {left}"


@unittest.skipIf(MISSING or lacking("docker"), f"needs what builds the image and an engine; lacking: {MISSING} {lacking('docker')}")
class DockerTemplate(WithDaemon, unittest.TestCase):
    driver = "docker"


@unittest.skipIf(MISSING or lacking("podman"), f"needs what builds the image and an engine; lacking: {MISSING} {lacking('podman')}")
class Podman(WithDaemon, unittest.TestCase):
    driver = "podman"


@unittest.skipIf(MISSING or lacking("runsc"), f"needs what builds the image and runsc; lacking: {MISSING} {lacking('runsc')}")
class Gvisor(WithDaemon, unittest.TestCase):
    driver, home = "gvisor", "/home/agent"
    # Behind its kernel processes cannot be limited, and memory is by each one's address space, of which a browser reserves more than there is.
    limits = ["--timeout", "120s"]


if __name__ == "__main__":
    unittest.main()
