"""The Python client over asyncio, installed, against a real daemon: what differs from its twin without it."""

import asyncio
import os
import pathlib
import socket
import tempfile
import unittest

import installed
from live import Daemon, wait_until
from meddler import Meddler, cut_in_half, problem, with_new_fields
from python_test import MANY, SERVER

installed.use_python_package()
import atoll  # noqa: E402
from atoll import aio  # noqa: E402


class Live(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.end)

    async def asyncSetUp(self):
        self.client = aio.Client(state=self.daemon.state)
        self.addAsyncCleanup(self.client.aclose)

    async def box(self, **options):
        box = await aio.Sandbox.create(client=self.client, **options)
        self.daemon.made.add(box.id)
        self.addAsyncCleanup(box.delete)
        return box

    def sandboxes(self):
        return self.daemon.call("GET", "/v1/sandboxes").json["sandboxes"]

    async def nothing_is_left(self):
        await asyncio.to_thread(wait_until, lambda: self.sandboxes() == [], "nothing is left")


class Everything(Live):
    async def test_runs(self):
        self.assertEqual((await self.client.run("print(6 * 7)")).stdout, "42\n")
        done = await self.client.run(command="cat; exit 3", stdin=b"\xff")
        self.assertEqual((done.stdout_bytes, done.exit_code), (b"\xff", 3))
        async with await self.client.run_many([["echo", str(n)] for n in range(10)], concurrency=4) as batch:
            results = await batch.all()
        self.assertEqual([one.result.stdout for one in results], [f"{n}\n" for n in range(10)])

    async def test_many_at_once_on_one_client(self):
        done = await asyncio.gather(*[self.client.run(command=["echo", str(n)]) for n in range(30)])
        self.assertEqual([one.stdout for one in done], [f"{n}\n" for n in range(30)])

    async def test_a_life(self):
        async with await aio.Sandbox.create(client=self.client, name="dev") as box:
            self.daemon.made.add(box.id)
            self.assertEqual((await aio.Sandbox.connect("dev", client=self.client)).id, box.id)
            self.assertEqual([one.id async for one in self.client.sandboxes(name="dev")], [box.id])
            await box.pause()
            await box.resume()
            self.assertEqual((await box.refresh()).state, "running")
        await self.nothing_is_left()

    async def test_streams_and_processes(self):
        box = await self.box()
        async with await box.stream("echo one; cat", stdin_open=True) as stream:
            pieces = [(await stream.__anext__()).text]
            await stream.write("two", eof=True)
            pieces += [piece.text async for piece in stream]
        self.assertEqual((pieces, stream.result.ok), (["one\n", "two"], True))
        process = await box.spawn(["sleep", "1000"])
        await process.signal("TERM")
        self.assertEqual((await process.wait()).signal, 15)
        self.assertEqual(len(await box.processes.list()), 2)
        async with await box.processes.logs(1) as logs:
            self.assertEqual(await logs.read(), b"one\ntwo")

    async def test_a_stream_waits_for_its_reader(self):
        box = await self.box()
        async with await box.stream(f"head -c {MANY} /dev/zero; touch written") as stream:
            size = len((await stream.__anext__()).data)
            self.assertFalse(await box.files.exists("written"))
            async for piece in stream:
                size += len(piece.data)
        self.assertEqual((size, stream.result.ok), (MANY, True))

    async def test_a_terminal(self):
        box = await self.box()
        async with await box.pty("stty size; read line; stty size; exit 7", rows=30, cols=90) as terminal:
            seen = await terminal.__anext__()
            await terminal.resize(31, 91)
            await terminal.write("hello\n")
            async for piece in terminal:
                seen += piece
        self.assertIn(b"30 90", seen)
        self.assertIn(b"31 91", seen)
        self.assertEqual(terminal.result.exit_code, 7)

    async def test_files(self):
        files = (await self.box()).files
        await files.write("a/b", "text")
        self.assertEqual(await files.read_text("a/b"), "text")

        async def pieces():
            for _ in range(10):
                yield b"x" * 100_000

        self.assertEqual((await files.write("big", pieces()))["size"], 1_000_000)
        async with await files.open("big") as answer:
            self.assertEqual(sum([len(piece) async for piece in answer]), 1_000_000)
        async with await files.watch() as watch:
            await files.mkdir("new")
            self.assertEqual((await watch.__anext__())["path"], "new")
        with tempfile.TemporaryDirectory() as directory:
            local = pathlib.Path(directory, "local")
            local.write_bytes(os.urandom(3_000_000))
            await files.upload(str(local), "up", part=1_000_000)
            await files.download("up", str(local) + ".back")
            self.assertTrue(local.read_bytes() == pathlib.Path(str(local) + ".back").read_bytes())
        async with await files.read_archive("a") as archive:
            packed = await archive.read()
        await files.write_archive(packed, "copy")
        self.assertEqual(await files.read_text("copy/b"), "text")

    async def test_ports(self):
        box = await self.box()
        server = await box.spawn(["python3", "-c", SERVER])
        async with await server.output() as output:
            self.assertEqual((await output.__anext__()).text, "listening\n")
        async with await box.ports.dial(3000) as port:
            await port.write(b"hello ")
            await port.write_end()
            got = b""
            while piece := await port.read():
                got += piece
        self.assertEqual(got, b"HELLO the end")
        async with await box.ports.forward(3000) as forward:
            reader, writer = await asyncio.open_connection(forward.host, forward.port)
            writer.write(b"x" * 1_000_000)
            writer.write_eof()
            self.assertEqual(await reader.read(-1), b"X" * 1_000_000 + b"the end")
            writer.close()
        with self.assertRaises(ConnectionRefusedError):
            await asyncio.open_connection(forward.host, forward.port)

    async def test_events(self):
        async with await self.client.events(runs=False) as events:
            box = await self.box()
            self.assertEqual([(await events.__anext__())["state"] for _ in range(2)], ["starting", "running"])
        async with await self.client.events(after=events.last, sandbox=box.id) as again:
            await box.delete()
            self.assertEqual((await again.__anext__())["state"], "stopping")


class Cancellation(Live):
    async def cancel(self, work, begun):
        task = asyncio.ensure_future(work)
        await asyncio.to_thread(wait_until, begun, "it has begun")
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task

    async def test_a_run(self):
        await self.cancel(self.client.run(command="sleep 1000"), lambda: len(self.sandboxes()) == 1)
        await self.nothing_is_left()

    async def test_a_batch(self):
        async def all_of_them():
            async with await self.client.run_many(["sleep 1000"] * 20, concurrency=3) as batch:
                await batch.all()
        await self.cancel(all_of_them(), lambda: len(self.sandboxes()) == 3)
        await self.nothing_is_left()

    async def test_a_command_of_a_sandbox_that_stays(self):
        box = await self.box()

        def running():
            processes = self.daemon.call("GET", f"/v1/sandboxes/{box.id}/processes").json["processes"]
            return [process["running"] for process in processes]

        await self.cancel(box.exec("sleep 1000"), lambda: running() == [True])
        await asyncio.to_thread(wait_until, lambda: running() == [False], "the command is killed")
        self.assertEqual((await box.exec("echo on")).stdout, "on\n")

    async def test_a_time_limit_of_asyncio(self):
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(self.client.run(command="sleep 1000"), 0.3)
        await self.nothing_is_left()

    async def test_the_client_is_as_good_as_before(self):
        for _ in range(20):
            task = asyncio.ensure_future(self.client.run(command="sleep 1000"))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        self.assertEqual((await self.client.run(command="echo on")).stdout, "on\n")
        await self.nothing_is_left()


class Faults(Live):
    def meddle(self, *plan):
        meddler = Meddler(self.daemon, plan)
        self.addCleanup(meddler.end)
        client = aio.Client(meddler.url, api_key=self.daemon.key)
        self.addAsyncCleanup(client.aclose)
        return meddler, client

    async def test_errors(self):
        with self.assertRaises(atoll.NotFoundError) as raised:
            await aio.Sandbox.connect("nobody", client=self.client)
        self.assertEqual((raised.exception.code, raised.exception.status), ("not_found", 404))
        with self.assertRaises(atoll.UnavailableError):
            await aio.Client("http://127.0.0.1:1", api_key="k", retries=0).version()

    async def test_a_silent_daemon(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            client = aio.Client(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2)
            with self.assertRaises(atoll.DeadlineExceededError):
                await client.version()
            await client.aclose()

    async def test_what_is_new_or_lost(self):
        meddler, client = self.meddle(with_new_fields, problem(429, "resource_exhausted", Retry_After=0), None, cut_in_half)
        self.assertEqual((await client.run(command="echo hi")).stdout, "hi\n")
        self.assertEqual((await client.run(command="echo again")).stdout, "again\n")
        box = await aio.Sandbox.create(client=client)
        self.daemon.made.add(box.id)
        self.assertEqual([one["id"] for one in self.sandboxes()], [box.id])
        await box.delete()
        self.assertEqual(len(meddler.seen), 6)


class Loops(unittest.TestCase):
    def test_a_client_outlives_a_loop_and_a_daemon(self):
        daemon = Daemon().start()
        self.addCleanup(daemon.end)
        client = aio.Client(state=daemon.state)
        for _ in range(2):
            self.assertEqual(asyncio.run(client.version())["api"], "v1")

        async def over_a_restart():
            box = await aio.Sandbox.create(client=client)
            daemon.made.add(box.id)
            daemon.kill()
            daemon.start()
            self.assertEqual((await box.exec("echo on")).stdout, "on\n")
            await box.delete()
            await client.aclose()

        asyncio.run(over_a_restart())


if __name__ == "__main__":
    unittest.main()
