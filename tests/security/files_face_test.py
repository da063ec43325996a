"""The file tools as a way in: what a sandbox, or whoever sends an archive to one, can do with search, watch and archives."""

import concurrent.futures
import io
import json
import os
import subprocess
import tarfile
import tempfile
import unittest
import urllib.parse

from live import ATOLL, Daemon, wait_until

DRIVERS = ("native", "subprocess", "local")

# Swaps a directory with a link that leads out, as fast as it can.
SWAP = ("import os, sys, time\n"
        "os.makedirs('race/dir/in', exist_ok=True)\n"
        "open('race/dir/in/file', 'w').write('INSIDE\\n')\n"
        "if not os.path.islink('race/link'): os.symlink(sys.argv[1], 'race/link')\n"
        "print('swapping', flush=True)\n"
        "end = time.monotonic() + 60\n"
        "while time.monotonic() < end and not os.path.exists('stop'):\n"
        "    os.rename('race/dir', 'race/tmp'); os.rename('race/link', 'race/dir')\n"
        "    os.rename('race/dir', 'race/link'); os.rename('race/tmp', 'race/dir')\n")


def member(name, kind=tarfile.REGTYPE, data=b"", link="", **more):
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, len(data), link
    for key, value in more.items():
        setattr(info, key, value)
    return info, data


def archive(*members, format=tarfile.GNU_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def sparse_bomb():
    info = tarfile.TarInfo("bomb")
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(1 << 50)}
    return archive((info, b""), format=tarfile.PAX_FORMAT)


def with_size(size_field):
    body = bytearray(archive(member("x")))
    body[124:136] = size_field
    body[148:156] = b" " * 8
    body[148:156] = b"%06o\0 " % sum(body[:512])
    return bytes(body)


HOSTILE = {
    "an absolute path": archive(member("/workspace/evil", data=b"x")),
    "a path that climbs": archive(member("../evil", data=b"x")),
    "a path that climbs later": archive(member("a/../../evil", data=b"x")),
    "a link to the root": archive(member("l", tarfile.SYMTYPE, link="/"), member("l/evil", data=b"x")),
    "a link upwards": archive(member("l", tarfile.SYMTYPE, link="../.."), member("l/evil", data=b"x")),
    "a link through a link": archive(member("a/b/c/l", tarfile.SYMTYPE, link="../../.."),
                                     member("m", tarfile.SYMTYPE, link="a/b/c/l/../..")),
    "a file through its own link": archive(member("d/", tarfile.DIRTYPE), member("l", tarfile.SYMTYPE, link="d"),
                                           member("l/evil", data=b"x")),
    "a hard link outside": archive(member("h", tarfile.LNKTYPE, link="../outside")),
    "a hard link to an absolute path": archive(member("h", tarfile.LNKTYPE, link="/etc/passwd")),
    "a device": archive(member("dev", tarfile.CHRTYPE, devmajor=1, devminor=5)),
    "a pipe": archive(member("pipe", tarfile.FIFOTYPE)),
    "a sparse bomb": sparse_bomb(),
    "a size of 2^62": with_size(b"\x80\0\0\0" + (1 << 62).to_bytes(8, "big")),
    "a negative size": with_size(b"\xff" * 12),
    "no archive at all": b"x" * 5000,
    "nothing": b"",
    "the half of one": archive(member("half", data=b"x" * 100_000))[:50_000],
    "a long name that climbs": archive(member("x" * 120 + "/../../../evil", data=b"x")),
}


class FilesFace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.outside = tempfile.mkdtemp(prefix="atoll-outside-")
        with open(os.path.join(cls.outside, "secret"), "w") as file:
            file.write("SECRET-OF-THE-HOST\n")
        os.chmod(cls.outside, 0o755)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.end()
        assert sorted(os.listdir(cls.outside)) == ["secret"], os.listdir(cls.outside)
        os.unlink(os.path.join(cls.outside, "secret"))
        os.rmdir(cls.outside)

    def url(self, box, what, **query):
        return f"/v1/sandboxes/{box}/files{what}?{urllib.parse.urlencode(query)}"

    def get(self, box, what, **query):
        return self.daemon.call("GET", self.url(box, what, **query), timeout=120)

    def answers(self, box):
        self.assertEqual(self.daemon.exec(box, "echo", "on")["stdout"], "on\n")

    def test_hostile_archives_are_refused(self):
        for driver in DRIVERS:
            box = self.daemon.create(driver=driver)
            for what, body in HOSTILE.items():
                with self.subTest(driver=driver, what=what):
                    answer = self.daemon.call("PUT", self.url(box, "/tar", path="in/to"), body)
                    self.assertIn(answer.status, (400, 403), answer)
            found = self.get(box, "/find", path=".", kind="file").json
            self.assertEqual([e["path"] for e in found["entries"]], [], found)
            found = self.get(box, "/find", path=".", kind="other").json
            self.assertEqual(found["entries"], [])
            self.answers(box)

    def test_an_archive_cannot_be_unpacked_through_a_link_of_the_sandbox(self):
        box = self.daemon.create(driver="local")
        self.daemon.exec(box, "ln", "-s", self.outside, "out")
        answer = self.daemon.call("PUT", self.url(box, "/tar"), archive(member("out/evil", data=b"x")))
        self.assertEqual(answer.status, 403, answer)
        answer = self.daemon.call("PUT", self.url(box, "/tar", path="out"), archive(member("evil", data=b"x")))
        self.assertNotEqual(answer.status, 200, answer)
        self.assertEqual(os.listdir(self.outside), ["secret"])

    def test_no_tool_follows_a_link_out(self):
        for driver in ("subprocess", "local"):
            with self.subTest(driver):
                box = self.daemon.create(driver=driver)
                self.daemon.exec(box, "ln", "-s", self.outside, "out")
                self.daemon.exec(box, "ln", "-s", os.path.join(self.outside, "secret"), "file")
                self.assertEqual(self.get(box, "/grep", path=".", pattern="SECRET").json["matches"], [])
                self.assertNotIn(b"SECRET", self.get(box, "/tar", path=".").body)
                self.assertEqual([e["path"] for e in self.get(box, "/find", path=".").json["entries"]], ["file", "out"])
                for what in ("/find", "/tar", "/watch"):
                    self.assertEqual(self.get(box, what, path="out").status, 403, what)
                self.assertEqual(self.get(box, "/grep", path="file", pattern="S").status, 403)

    def test_a_directory_swapped_for_a_link_leads_nowhere(self):
        # Where nothing but the tools themselves keeps them inside.
        box = self.daemon.create(driver="local")
        process = self.daemon.start_process(box, "python3", "-c", SWAP, self.outside)
        wait_until(lambda: b"swapping" in self.daemon.call("GET", f"/v1/sandboxes/{box}/logs?process={process['process']}").body, "it swaps")
        seen = 0
        for _ in range(60):
            grep = self.get(box, "/grep", path="race", pattern="SECRET|INSIDE").json
            seen += len(grep["matches"])
            self.assertNotIn("SECRET", json.dumps(grep))
            self.assertNotIn(b"SECRET", self.get(box, "/tar", path="race").body)
            found = self.get(box, "/find", path="race").json
            self.assertNotIn("secret", [e["name"] for e in found["entries"]])
            self.daemon.call("PUT", self.url(box, "/tar", path="race"), archive(member("dir/planted", data=b"x")))
        self.assertGreater(seen, 0, "the control: what is inside is found now and then")
        self.assertEqual(os.listdir(self.outside), ["secret"])
        self.daemon.exec(box, "touch", "stop")

    def test_a_watch_of_a_directory_swapped_for_a_link_sees_nothing_of_the_host(self):
        box = self.daemon.create(driver="local")
        self.daemon.exec(box, "mkdir", "-p", "race")
        connection = self.daemon.connection(timeout=60)
        connection.request("GET", self.url(box, "/watch", path="race", recursive="true"))
        answer = connection.getresponse()
        self.assertEqual(json.loads(answer.readline())["type"], "ready")
        self.daemon.start_process(box, "python3", "-c", SWAP, self.outside)
        for i in range(300):
            # Somebody changes what lies outside all the time.
            path = os.path.join(self.outside, f"host-{i}")
            os.close(os.open(path, os.O_CREAT))
            os.unlink(path)
            line = answer.readline()
            self.assertNotIn(b"host-", line)
        self.daemon.exec(box, "touch", "stop")
        answer.close()
        connection.close()

    def test_special_files_hold_nobody_up(self):
        box = self.daemon.create(driver="native")
        self.daemon.exec(box, "sh", "-c", "mkdir s && mkfifo s/pipe && ln -s /dev/zero s/zero && ln -s loop s/loop && "
                         "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s/socket\")'; echo x > s/file")
        self.assertEqual([m["path"] for m in self.get(box, "/grep", path="s", pattern=".").json["matches"]], ["s/file"])
        with tarfile.open(fileobj=io.BytesIO(self.get(box, "/tar", path="s").body)) as tar:
            self.assertEqual(sorted(tar.getnames()), [".", "file", "loop"])
        kinds = {e["name"]: e["kind"] for e in self.get(box, "/find", path="s").json["entries"]}
        self.assertEqual(kinds, {"pipe": "other", "zero": "symlink", "loop": "symlink", "socket": "other", "file": "file"})
        self.assertEqual(self.get(box, "/grep", path="s/pipe", pattern="x").json["matches"], [])

    def test_the_devices_and_the_kernels_files_are_not_read_to_their_end(self):
        box = self.daemon.create(driver="native")
        for path in ("/dev", "/proc", "/"):
            answer = self.get(box, "/grep", path=path, pattern="surely nowhere", timeout_ms=20000)
            self.assertIn(answer.status, (200, 504), (path, answer))
        self.answers(box)

    def test_a_hundred_thousand_files_and_a_deep_tree(self):
        box = self.daemon.create(driver="native")
        self.daemon.exec(box, "python3", "-c",
                         "import os\nos.mkdir('many'); os.chdir('many')\n"
                         "for i in range(100_000): os.close(os.open(f'f{i}', os.O_CREAT))\n"
                         "os.chdir('..'); os.mkdir('deep'); os.chdir('deep')\n"
                         "for _ in range(3000): os.mkdir('d'); os.chdir('d')\n")
        found = self.get(box, "/find", path="many", limit=10).json
        self.assertEqual((len(found["entries"]), found["truncated"]), (10, True))
        found = self.get(box, "/find", path="many", name="f99999").json
        self.assertEqual((len(found["entries"]), found["seen"]), (1, 100_001))
        found = self.get(box, "/find", path="deep").json
        self.assertEqual(found["skipped"], 1)
        self.assertGreater(len(found["entries"]), 200)
        self.assertEqual(self.get(box, "/grep", path="deep", pattern="x").json["skipped"], 1)
        self.answers(box)

    def test_names_are_bytes(self):
        box = self.daemon.create(driver="native")
        self.daemon.exec(box, "python3", "-c",
                         "import os\nos.mkdir(b'n')\n"
                         "for name in (b'new\\nline', b'bad\\xff', b'-rf', b'\"quoted\\\\'): open(b'n/' + name, 'w').write('x\\n')")
        entries = self.get(box, "/find", path="n").json["entries"]
        self.assertEqual(len(entries), 4)
        self.assertIn("n/new\nline", [e.get("path") for e in entries])
        self.assertEqual(len([e for e in entries if "path_b64" in e]), 1)
        self.assertEqual(len(self.get(box, "/grep", path="n", pattern="x").json["matches"]), 4)
        with tarfile.open(fileobj=io.BytesIO(self.get(box, "/tar", path="n").body)) as tar:
            self.assertEqual(len(tar.getnames()), 5)

    def test_a_pattern_made_to_take_for_ever_takes_no_more_than_its_time(self):
        box = self.daemon.create(driver="native")
        self.daemon.exec(box, "python3", "-c", "open('a', 'w').write('a' * 100_000 + '!\\n')")
        for pattern in ("(a+)+$", "(a|aa)*b", "(a*)*(a*)*b", "((a{1,100}){1,100}){1,100}b"):
            answer = self.get(box, "/grep", path="a", pattern=pattern, timeout_ms=2000)
            self.assertIn(answer.status, (200, 400, 429, 503, 504), (pattern, answer))
        self.answers(box)

    def test_an_upload_goes_through_nothing_that_the_sandbox_planted(self):
        box = self.daemon.create(driver="local")
        plants = {"link": f"ln -s {self.outside}/secret .atoll-partial-planted",
                  "hard link": "echo mine > other && ln other .atoll-partial-planted",
                  "pipe": "mkfifo .atoll-partial-planted"}
        for what, plant in plants.items():
            with self.subTest(what):
                self.daemon.exec(box, "sh", "-c", f"rm -f .atoll-partial-planted; {plant}")
                answer = self.daemon.call("PUT", self.url(box, "", path="f", upload="planted", offset=0, size=9), b"x", timeout=20)
                self.assertNotIn(answer.status, (200, 202), answer)
        with open(os.path.join(self.outside, "secret")) as file:
            self.assertEqual(file.read(), "SECRET-OF-THE-HOST\n")
        self.assertEqual(self.daemon.exec(box, "cat", "other")["stdout"], "mine\n")

    def test_a_tool_cannot_be_spoken_for(self):
        # Whoever is the same user reads nothing of it, writes nothing in its place, and finds no file of the host behind it.
        box = self.daemon.create(driver="native")
        self.daemon.exec(box, "mkdir", "w")
        connection = self.daemon.connection(timeout=30)
        connection.request("GET", self.url(box, "/watch", path="w"))
        answer = connection.getresponse()
        self.assertEqual(json.loads(answer.readline())["type"], "ready")
        probe = ("import os\nfor pid in filter(str.isdigit, os.listdir('/proc')):\n"
                 "  if pid == str(os.getpid()): continue\n"
                 "  for what in ('fd/1', 'mem', 'exe'):\n"
                 "    try: os.close(os.open(f'/proc/{pid}/{what}', os.O_RDWR)); print(pid, what)\n"
                 "    except OSError: pass\n")
        self.assertEqual(self.daemon.exec(box, "python3", "-c", probe)["stdout"], "")
        answer.close()
        connection.close()

    def test_tools_share_the_limits_of_the_sandbox(self):
        box, other = self.daemon.create(driver="native"), self.daemon.create(driver="native")
        # Text at first, so that it is searched, and then a hole that takes longer than anybody waits.
        self.daemon.exec(box, "python3", "-c", "import os; os.mkdir('big'); f = open('big/f', 'wb'); f.write(b'x' * 10000); f.truncate(20 << 30)")
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            results = list(pool.map(lambda _: self.get(box, "/grep", path="big", pattern="x+y", timeout_ms=3000).status, range(32)))
        self.assertTrue(set(results) <= {200, 429, 504}, results)
        self.assertIn(429, results)
        self.answers(other)
        self.answers(box)

    def test_a_copy_out_of_a_hostile_sandbox_stays_where_it_belongs(self):
        box = self.daemon.create(driver="native")
        self.daemon.exec(box, "sh", "-c", f"mkdir -p t/d && echo x > t/d/f && ln -s {self.outside} t/out && ln -s ../../.. t/up && "
                         "ln -s d t/inside && mkfifo t/pipe")
        with tempfile.TemporaryDirectory() as here:
            environment = {**os.environ, "ATOLL_URL": f"unix:{self.daemon.socket_path}"}
            done = subprocess.run([ATOLL, "cp", f"{box}:t", os.path.join(here, "copy")], env=environment, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            copied = sorted(os.listdir(os.path.join(here, "copy")))
            self.assertEqual(copied, ["d", "inside", "out", "up"])
            self.assertEqual(os.readlink(os.path.join(here, "copy", "out")), self.outside)
            # What is there already and is a link is not gone through.
            os.rename(os.path.join(here, "copy", "d"), os.path.join(here, "real"))
            os.symlink(self.outside, os.path.join(here, "copy", "d"))
            done = subprocess.run([ATOLL, "cp", f"{box}:t/.", os.path.join(here, "copy")], env=environment, capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertEqual(os.listdir(self.outside), ["secret"])


if __name__ == "__main__":
    unittest.main()
