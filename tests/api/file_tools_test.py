"""Many files at once, over a real daemon: search, watch, archives, batches, uploads in parts."""

import base64
import contextlib
import hashlib
import io
import json
import os
import tarfile
import unittest
import urllib.parse

from live import Daemon, wait_until

DRIVERS = ("native", "subprocess", "local")


def archive_of(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


class Watch:
    """The events of a watch, one by one."""

    def __init__(self, daemon, box, query="", accept="application/x-ndjson"):
        self.connection = daemon.connection(timeout=20)
        self.connection.request("GET", f"/v1/sandboxes/{box}/files/watch?{query}", headers={"Accept": accept})
        self.answer = self.connection.getresponse()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.answer.close()
        self.connection.close()

    def next(self):
        return json.loads(self.answer.readline())

    def until(self, **wanted):
        seen = []
        while True:
            seen.append(self.next())
            if all(seen[-1].get(key) == value for key, value in wanted.items()):
                return seen
            if seen[-1]["type"] in ("end", "error"):
                raise AssertionError(f"{wanted} did not come: {seen}")


class FileTools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.boxes = {driver: cls.daemon.create(driver=driver) for driver in DRIVERS}
        cls.box = cls.boxes["native"]

    @classmethod
    def tearDownClass(cls):
        cls.daemon.end()

    def url(self, what, box=None, **query):
        return f"/v1/sandboxes/{box or self.box}/files{what}?{urllib.parse.urlencode(query)}"

    def get(self, what, box=None, **query):
        return self.daemon.call("GET", self.url(what, box, **query))

    def put(self, path, data, box=None):
        answer = self.daemon.call("PUT", self.url("", box, path=path), data)
        self.assertEqual(answer.status, 200, answer)
        return answer

    # Search.

    def test_find_by_name_and_kind(self):
        for driver, box in self.boxes.items():
            with self.subTest(driver):
                for name in ("find/a.py", "find/deep/er/b.py", "find/c.txt"):
                    self.put(name, b"x", box)
                found = self.get("/find", box, path="find", name="*.py").json
                self.assertEqual([e["path"] for e in found["entries"]], ["find/a.py", "find/deep/er/b.py"])
                self.assertFalse(found["truncated"])
                self.assertEqual(found["entries"][0]["size"], 1)
                found = self.get("/find", box, path="find", kind="directory").json
                self.assertEqual([e["path"] for e in found["entries"]], ["find/deep", "find/deep/er"])
                found = self.get("/find", box, path="find", depth=1).json
                self.assertEqual([e["name"] for e in found["entries"]], ["a.py", "c.txt", "deep"])
                found = self.get("/find", box, path="/workspace/find", limit=1).json
                self.assertEqual(found["entries"][0]["path"], "/workspace/find/a.py")
                self.assertTrue(found["truncated"])

    def test_what_is_missing_is_not_found(self):
        for what in ("/find", "/watch", "/tar"):
            self.assertEqual(self.get(what, path="no/such").status, 404, what)
        self.assertEqual(self.get("/grep", path="no/such", pattern="x").status, 404)

    def test_grep(self):
        for driver, box in self.boxes.items():
            with self.subTest(driver):
                self.put("grep/one.txt", b"alpha\nbeta 42\nGamma\n", box)
                self.put("grep/two.log", b"no newline at the end: alpha", box)
                self.put("grep/binary", b"alpha\0", box)
                found = self.get("/grep", box, path="grep", pattern="alpha").json
                self.assertEqual([(m["path"], m["line"]) for m in found["matches"]], [("grep/one.txt", 1), ("grep/two.log", 1)])
                self.assertEqual(found["skipped"], 1)
                found = self.get("/grep", box, path="grep", pattern=r"^\w+ \d+$").json
                self.assertEqual([(m["line"], m["text"]) for m in found["matches"]], [(2, "beta 42")])
                found = self.get("/grep", box, path="grep", pattern="gamma", ignore_case="true").json
                self.assertEqual([m["line"] for m in found["matches"]], [3])
                found = self.get("/grep", box, path="grep", pattern="a.*", fixed="true").json
                self.assertEqual(found["matches"], [])
                found = self.get("/grep", box, path="grep", pattern="alpha", include="*.log").json
                self.assertEqual([m["path"] for m in found["matches"]], ["grep/two.log"])
                found = self.get("/grep", box, path="grep/one.txt", pattern="a", limit=1).json
                self.assertTrue(found["truncated"])
                self.assertEqual([m["path"] for m in found["matches"]], ["grep/one.txt"])

    def test_a_pattern_that_is_none_is_refused(self):
        for pattern in ("(", "[a", r"(a)\1"):
            answer = self.get("/grep", path=".", pattern=pattern)
            self.assertEqual(answer.status, 400, answer)
            self.assertIn("pattern", answer.json["detail"])
        self.assertEqual(self.get("/grep", path=".").status, 400)

    def test_a_search_that_takes_too_long_ends(self):
        self.daemon.exec(self.box, "sh", "-c", "mkdir -p slow && truncate -s 20G slow/hole && printf x | dd of=slow/hole conv=notrunc 2>&1")
        self.daemon.exec(self.box, "python3", "-c", "f = open('slow/hole', 'r+b'); f.write(b'x' * 10000)")
        answer = self.get("/grep", path="slow", pattern="nothing", timeout_ms=300)
        self.assertEqual(answer.status, 504, answer)
        self.assertIn("timeout_ms", answer.json["hint"])
        self.daemon.exec(self.box, "rm", "-rf", "slow")

    def test_tools_are_in_no_list_of_processes(self):
        box = self.daemon.create(driver="native")
        self.daemon.exec(box, "echo", "mine")
        self.get("/find", box)
        rows = self.daemon.call("GET", f"/v1/sandboxes/{box}/processes").json["processes"]
        self.assertEqual([row["argv"] for row in rows], [["echo", "mine"]])
        self.assertEqual(self.daemon.call("GET", f"/v1/sandboxes/{box}/logs").body, b"mine\n")

    # Archives.

    def test_an_archive_in_and_out(self):
        for driver, box in self.boxes.items():
            with self.subTest(driver):
                files = {"a/b/c.txt": b"text", "large.bin": os.urandom(3_000_000), "n" * 150: b"long name"}
                answer = self.daemon.call("PUT", self.url("/tar", box, path="tree"), archive_of(files))
                self.assertEqual(answer.status, 200, answer)
                self.assertEqual(answer.json["entries"], 3)
                answer = self.get("/tar", box, path="tree")
                self.assertEqual(answer.headers["Content-Type"], "application/x-tar")
                with tarfile.open(fileobj=io.BytesIO(answer.body)) as tar:
                    got = {m.name: tar.extractfile(m).read() for m in tar if m.isfile()}
                self.assertEqual(got, files)

    def test_files_of_an_archive_belong_to_the_user_of_the_sandbox(self):
        self.daemon.call("PUT", self.url("/tar", path="owned"), archive_of({"f": b""}))
        self.assertEqual(self.daemon.exec(self.box, "stat", "-c", "%u:%g", "owned/f")["stdout"], "1000:1000\n")

    def test_one_file_as_an_archive(self):
        self.put("single.txt", b"one")
        with tarfile.open(fileobj=io.BytesIO(self.get("/tar", path="single.txt").body)) as tar:
            self.assertEqual(tar.getnames(), ["single.txt"])

    def test_an_archive_that_is_cut_off_leaves_no_half_file(self):
        body = archive_of({"cut/whole": b"w" * 1000, "cut/half": b"h" * 2_000_000})[:1_000_000]
        answer = self.daemon.call("PUT", self.url("/tar"), body)
        self.assertEqual(answer.status, 400, answer)
        names = self.daemon.exec(self.box, "ls", "-A", "cut")["stdout"].split()
        self.assertEqual(names, ["whole"])

    def test_a_client_that_leaves_in_the_middle_leaves_no_half_file(self):
        body = archive_of({"left/half": b"h" * 2_000_000})
        connection = self.daemon.connection()
        connection.putrequest("PUT", self.url("/tar"))
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        connection.send(body[:1_000_000])
        wait_until(lambda: self.daemon.exec(self.box, "sh", "-c", "ls -A left 2>&1")["stdout"].startswith(".atoll"), "it began")
        connection.close()
        wait_until(lambda: self.daemon.exec(self.box, "ls", "-A", "left")["stdout"] == "", "nothing is left")

    # Batches.

    def test_a_batch_tells_the_result_of_each_file(self):
        self.daemon.exec(self.box, "mkdir", "-p", "batch/taken")
        answer = self.daemon.call("POST", f"/v1/sandboxes/{self.box}/files/batch", {
            "files": {"batch/a.txt": "text", "batch/taken": "a directory is there"},
            "entries": [{"path": "batch/b.bin", "b64": base64.b64encode(b"\0\xff").decode(), "mode": "0755"}]})
        self.assertEqual(answer.status, 200, answer)
        results = {r["path"]: r for r in answer.json["results"]}
        self.assertTrue(results["batch/a.txt"]["ok"])
        self.assertFalse(results["batch/taken"]["ok"])
        self.assertEqual(results["batch/taken"]["code"], "invalid_argument")
        self.assertEqual((answer.json["written"], answer.json["failed"]), (2, 1))
        self.assertEqual(self.get("", path="batch/b.bin").body, b"\0\xff")
        self.assertEqual(self.get("/stat", path="batch/b.bin").json["mode"], "0755")

    def test_a_batch_may_be_an_archive(self):
        answer = self.daemon.call("POST", self.url("/batch", path="batched"), archive_of({"x": b"1", "y/z": b"22"}),
                                  {"Content-Type": "application/x-tar"})
        self.assertEqual([(r["path"], r["size"]) for r in answer.json["results"]], [("batched/x", 1), ("batched/y/z", 2)])

    def test_a_batch_that_makes_no_sense_is_refused(self):
        for body in ({}, {"files": {}}, {"entries": [{"path": "a"}]}, {"entries": [{"path": "a", "b64": "?"}]},
                     {"entries": [{"path": "a", "text": "", "mode": "9"}]}, {"files": {"": "x"}}):
            answer = self.daemon.call("POST", f"/v1/sandboxes/{self.box}/files/batch", body)
            self.assertEqual(answer.status, 400, (body, answer))

    # Watching.

    def test_changes_are_told_as_they_happen(self):
        # The policy of `subprocess` has no inotify.
        self.assertEqual(self.get("/watch", self.boxes["subprocess"]).json["code"], "unsupported")
        for driver in ("native", "local"):
            box = self.boxes[driver]
            with self.subTest(driver):
                self.daemon.exec(box, "mkdir", "-p", "watched/sub")
                with Watch(self.daemon, box, "path=watched&recursive=true") as watch:
                    self.assertEqual(watch.next(), {"type": "ready"})
                    self.daemon.exec(box, "sh", "-c", "echo x > watched/sub/f")
                    watch.until(type="created", path="watched/sub/f", kind="file")
                    watch.until(type="modified", path="watched/sub/f")
                    self.daemon.exec(box, "mv", "watched/sub/f", "watched/g")
                    watch.until(type="moved", **{"path": "watched/g", "from": "watched/sub/f"})
                    self.daemon.exec(box, "rm", "watched/g")
                    watch.until(type="deleted", path="watched/g")
                    # What is in a new directory is not missed, however soon it comes.
                    self.daemon.exec(box, "sh", "-c", "mkdir -p watched/new/er && echo > watched/new/er/file")
                    watch.until(type="created", path="watched/new/er/file")
                    self.daemon.exec(box, "sh", "-c", "echo >> watched/new/er/file")
                    watch.until(type="modified", path="watched/new/er/file")
                    self.daemon.exec(box, "rm", "-r", "watched")
                    watch.until(type="end")

    def test_a_watch_that_is_not_recursive_sees_one_directory(self):
        self.daemon.exec(self.box, "mkdir", "-p", "flat/sub")
        with Watch(self.daemon, self.box, "path=flat") as watch:
            watch.until(type="ready")
            self.daemon.exec(self.box, "sh", "-c", "echo > flat/sub/unseen; echo > flat/seen")
            seen = watch.until(type="created", path="flat/seen")
            self.assertNotIn("flat/sub/unseen", [event.get("path") for event in seen])

    def test_events_as_browsers_read_them(self):
        self.daemon.exec(self.box, "mkdir", "-p", "sse")
        with Watch(self.daemon, self.box, "path=sse", accept="text/event-stream") as watch:
            self.assertEqual(watch.answer.getheader("Content-Type"), "text/event-stream")
            self.assertEqual([watch.answer.readline() for _ in range(3)], [b"event: ready\n", b'data: {"type":"ready"}\n', b"\n"])
            self.daemon.exec(self.box, "touch", "sse/f")
            self.assertEqual(watch.answer.readline(), b"event: created\n")

    def test_a_watch_ends_with_its_client(self):
        box = self.daemon.create(driver="native")
        tools = lambda: self.daemon.call("GET", f"/v1/sandboxes/{box}/stats").json["processes"]
        before = tools()
        with contextlib.ExitStack() as stack:
            for _ in range(16):
                stack.enter_context(Watch(self.daemon, box)).until(type="ready")
            self.assertEqual(tools(), before + 16)
            answer = self.get("/find", box)
            self.assertEqual(answer.status, 429, answer)
        wait_until(lambda: tools() == before, "they have ended")
        self.assertEqual(self.get("/find", box).status, 200)

    def test_a_file_cannot_be_watched(self):
        self.put("lonely", b"x")
        self.assertEqual(self.get("/watch", path="lonely").status, 400)

    # Versions.

    def test_etags(self):
        tag = self.put("tagged", b"one").headers["ETag"]
        answer = self.get("", path="tagged")
        self.assertEqual(answer.headers["ETag"], tag)
        self.assertEqual(self.get("/stat", path="tagged").json["etag"], tag)
        ask = lambda **headers: self.daemon.call("GET", self.url("", path="tagged"), None, {k.replace("_", "-"): v for k, v in headers.items()})
        unchanged = ask(If_None_Match=f'"other", {tag}')
        self.assertEqual((unchanged.status, unchanged.body, unchanged.headers["ETag"]), (304, b"", tag))
        self.assertEqual(ask(Range="bytes=1-", If_Range=tag).body, b"ne")
        self.assertEqual(ask(Range="bytes=1-", If_Range='"other"').body, b"one")
        write = lambda tag, path="tagged": self.daemon.call("PUT", self.url("", path=path), b"two", {"If-Match": tag})
        self.assertEqual(write('"other"').status, 412)
        self.assertEqual(write("*", "not/there").status, 412)
        self.assertEqual(write(tag).status, 200)
        self.assertEqual(write(tag).status, 412)
        self.daemon.exec(self.box, "sh", "-c", "printf 999 > tagged")
        self.assertEqual(ask(If_None_Match=tag).status, 200)

    # Uploads in parts.

    def part(self, data, offset, size, upload="up1", **query):
        return self.daemon.call("PUT", self.url("", path="parts/file", upload=upload, offset=offset, size=size, **query), data)

    def test_an_upload_in_parts(self):
        for driver, box in self.boxes.items():
            with self.subTest(driver):
                url = lambda **q: self.url("", box, path="parts/file", upload="up1", **q)
                data = os.urandom(700_000)
                first = self.daemon.call("PUT", url(offset=0, size=len(data), mode="0600"), data[:300_000])
                self.assertEqual((first.status, first.json["offset"]), (202, 300_000))
                self.assertEqual(self.get("", box, path="parts/file").status, 404)
                told = self.get("/uploads", box, path="parts/file", upload="up1")
                self.assertEqual(told.json["offset"], 300_000)
                beyond = self.daemon.call("PUT", url(offset=300_001, size=len(data)), data[300_001:])
                self.assertEqual(beyond.status, 409, beyond)
                self.assertIn("offset=300000", beyond.json["hint"])
                # A part may be sent again.
                last = self.daemon.call("PUT", url(offset=200_000, size=len(data), mode="0600"), data[200_000:])
                self.assertEqual(last.status, 200, last)
                self.assertEqual(self.get("", box, path="parts/file").body, data)
                self.assertEqual(last.json["mode"], "0600")
                self.assertEqual(self.get("/uploads", box, path="parts/file", upload="up1").json["offset"], 0)
                self.assertEqual([e["name"] for e in self.get("/list", box, path="parts").json["entries"]], ["file"])
                self.daemon.call("DELETE", self.url("", box, path="parts", recursive="true"))

    def test_an_upload_survives_a_broken_connection(self):
        data = os.urandom(3_000_000)
        connection = self.daemon.connection()
        connection.putrequest("PUT", self.url("", path="parts/broken", upload="b2", offset=0, size=len(data)))
        connection.putheader("Content-Length", str(len(data)))
        connection.endheaders()
        connection.send(data[:2_000_000])
        there = lambda: self.get("/uploads", path="parts/broken", upload="b2").json["offset"]
        wait_until(lambda: there() >= 1_900_000, "most of it is there")
        connection.close()
        wait_until(lambda: self.daemon.call("PUT", self.url("", path="parts/broken", upload="b2", offset=there(), size=len(data)),
                                            data[there():]).status == 200, "the rest is taken")
        self.assertEqual(hashlib.sha256(self.get("", path="parts/broken").body).digest(), hashlib.sha256(data).digest())

    def test_parts_that_make_no_sense_are_refused(self):
        self.assertEqual(self.part(b"12345", 0, 4).status, 400)
        self.assertEqual(self.part(b"1", 5, 4).status, 400)
        self.assertEqual(self.part(b"1", 0, 4, upload="../x").status, 400)
        self.assertEqual(self.part(b"1", 0, 4, upload="").status, 400)
        self.assertEqual(self.daemon.call("PUT", self.url("", path="x", offset=0, size=1), b"1").status, 400)
        self.assertEqual(self.daemon.call("PUT", self.url("", path="x", upload="u", offset=0), b"1").status, 400)


class UploadsAndTheDaemon(unittest.TestCase):
    def test_an_upload_survives_the_death_of_the_daemon(self):
        daemon = Daemon().start()
        try:
            box = daemon.create(driver="native")
            data = os.urandom(1_000_000)
            url = lambda offset: f"/v1/sandboxes/{box}/files?path=big&upload=k9&offset={offset}&size={len(data)}"
            self.assertEqual(daemon.call("PUT", url(0), data[:600_000]).status, 202)
            daemon.kill()
            daemon.start()
            status = lambda: daemon.call("GET", f"/v1/sandboxes/{box}/files/uploads?path=big&upload=k9")
            wait_until(lambda: status().status == 200, "the sandbox is found again")
            self.assertEqual(status().json["offset"], 600_000)
            self.assertEqual(daemon.call("PUT", url(600_000), data[600_000:]).status, 200)
            self.assertEqual(daemon.call("GET", f"/v1/sandboxes/{box}/files?path=big").body, data)
        finally:
            daemon.end()


if __name__ == "__main__":
    unittest.main()
