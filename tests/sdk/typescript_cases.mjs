// What the TypeScript client does against a real daemon; typescript_test.py runs it from a project that has it installed.
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as atoll from "@atoll/sdk";
import { Client, Sandbox } from "@atoll/sdk";

import { assert, daemon, fails, runAll, test, until } from "./cases.mjs";

const client = new Client({ state: daemon.state });
const MANY = 100_000_000;
const SERVER = `
import socket
listener = socket.create_server(("127.0.0.1", 3000))
print("listening", flush=True)
while True:
    visitor = listener.accept()[0]
    while piece := visitor.recv(65536):
        visitor.sendall(piece.upper())
    visitor.sendall(b"the end")
    visitor.close()
`;

async function withBox(body, options = {}) {
  const box = await Sandbox.create(options, { client });
  try {
    return await body(box);
  } finally {
    await box.delete();
  }
}

async function all(iterable) {
  const found = [];
  for await (const one of iterable) found.push(one);
  return found;
}

const left = async () => (await all(client.sandboxes())).length;

test("code is run", async () => {
  assert.equal((await client.run("print(6 * 7)")).stdout, "42\n");
  assert.equal((await client.run("console.log(6 * 7)", { language: "javascript" })).stdout, "42\n");
  const done = await client.run("print(open('a').read(), open('b', 'rb').read())", {
    files: { a: "text", b: new Uint8Array([255]) },
  });
  assert.equal(done.stdout, "text b'\\xff'\n");
  assert.ok((await client.run("raise ValueError(1)")).stderr.includes("line 1"));
});

test("a command is run", async () => {
  const done = await client.run(undefined, {
    command: "cat; echo $A; pwd; exit 3",
    env: { A: "b" },
    cwd: "/tmp",
    stdin: new Uint8Array([255, 10]),
    sandbox: { resources: { memory_mb: 64 } },
  });
  assert.deepEqual([...done.stdoutBytes], [...Buffer.from([255, 10]), ...Buffer.from("b\n/tmp\n")]);
  assert.deepEqual([done.exitCode, done.reason, done.ok, done.driver], [3, "exited", false, "native"]);
  const error = await fails((async () => done.check())(), atoll.CommandFailedError);
  assert.equal(error.result, done);
});

test("a run is code or a command", async () => {
  await fails(client.run(undefined), TypeError);
  await fails(client.run("1", { command: "true" }), TypeError);
});

test("an option that nobody knows is not passed over", async () => {
  const { message } = await fails(client.run("1", { timeout: 5 }), TypeError);
  assert.match(message, /no option timeout .*timeoutMs/);
  await fails(client.stream("1", { memory_mb: 5 }), TypeError);
  await fails(client.runMany(["true"], { retry: 5 }), TypeError);
  assert.equal((await client.run("print(1)", { memory: undefined })).stdout, "1\n");
});

test("a sandbox without a name is not asked for", async () => {
  const error = await fails(Sandbox.connect("", { client }), atoll.InvalidArgumentError);
  assert.deepEqual([error.message, error.code], ["the sandbox's id or name is empty", "invalid_argument"]);
});

test("output of a run comes as it is written", async () => {
  const stream = await client.stream(undefined, { command: "echo one; cat", stdinOpen: true });
  const first = (await stream.next()).value;
  await stream.write("two", { eof: true });
  const rest = await all(stream);
  assert.deepEqual([first.text, rest[0].text, rest[0].offset], ["one\n", "two", 4]);
  assert.ok(stream.result.ok);
});

test("many runs", async () => {
  const commands = Array.from({ length: 20 }, (_, n) => ["echo", String(n)]);
  const batch = await client.runMany([...commands, "exit 5"], { concurrency: 4 });
  const results = await batch.all();
  assert.deepEqual(
    results.slice(0, 20).map((one) => one.result.stdout),
    commands.map(([, n]) => `${n}\n`),
  );
  assert.equal(results[20].result.exitCode, 5);
  const [bad] = await all(await client.runMany(["true"], { sandbox: { driver: "nobody" } }));
  assert.ok(bad.error instanceof atoll.AtollError && bad.result === undefined);
});

test("many runs at once on one client", async () => {
  const done = await Promise.all(Array.from({ length: 30 }, (_, n) => client.run(undefined, { command: ["echo", String(n)] })));
  assert.deepEqual(
    done.map((one) => one.stdout),
    done.map((_, n) => `${n}\n`),
  );
});

test("an abort ends the run on the server", async () => {
  const controller = new AbortController();
  const run = client.run(undefined, { command: "sleep 1000", signal: controller.signal });
  run.catch(() => undefined);
  await until("it runs", async () => (await left()) === 1);
  controller.abort(new Error("enough"));
  assert.equal((await fails(run)).message, "enough");
  await until("nothing is left", async () => (await left()) === 0);
});

test("an abort ends a stream, a batch and a terminal", async () => {
  const starts = [
    async (signal) => all(await client.stream(undefined, { command: "echo go; sleep 1000", signal })),
    async (signal) => all(await client.runMany(["sleep 1000", "sleep 1000"], { signal })),
  ];
  for (const start of starts) {
    const controller = new AbortController();
    const work = start(controller.signal);
    work.catch(() => undefined);
    await until("it runs", async () => (await left()) > 0);
    controller.abort();
    assert.equal((await fails(work)).name, "AbortError");
    await until("nothing is left", async () => (await left()) === 0);
  }
  await withBox(async (box) => {
    const controller = new AbortController();
    const terminal = await box.pty(["sleep", "1000"], { signal: controller.signal });
    const ended = terminal.wait();
    ended.catch(() => undefined);
    controller.abort();
    assert.equal((await fails(ended)).name, "AbortError");
    await until("the command is killed", async () => !(await box.processes.list())[0].running);
  });
});

test("an abort ends a command of a sandbox that stays", async () => {
  await withBox(async (box) => {
    const controller = new AbortController();
    const work = box.exec("sleep 1000", { signal: controller.signal });
    work.catch(() => undefined);
    const running = async () => (await box.processes.list()).map((process) => process.running);
    await until("it runs", async () => (await running())[0]);
    controller.abort();
    await fails(work);
    await until("it is killed", async () => !(await running())[0]);
    assert.equal((await box.exec("echo on")).stdout, "on\n");
  });
  const aborted = AbortSignal.abort();
  assert.equal((await fails(client.version({ signal: aborted }))).name, "AbortError");
});

test("who leaves a loop ends the run", async () => {
  const stream = await client.stream(undefined, { command: "echo go; sleep 1000" });
  for await (const piece of stream) {
    assert.equal(piece.text, "go\n");
    break;
  }
  await until("nothing is left", async () => (await left()) === 0);
});

test("a sandbox and its life", async () => {
  await withBox(
    async (box) => {
      assert.deepEqual([box.name, box.state], ["dev", "running"]);
      assert.equal((await Sandbox.connect("dev", { client })).id, box.id);
      assert.deepEqual(
        (await all(client.sandboxes({ labels: { team: "search" } }))).map((one) => one.id),
        [box.id],
      );
      await box.files.write("kept", "yes");
      await box.stop();
      assert.equal(box.state, "stopped");
      await box.start();
      assert.equal(await box.files.readText("kept"), "yes");
      await box.pause();
      await box.resume();
      const ends = box.info.expires_at;
      await box.renew(36000);
      assert.ok(box.info.expires_at > ends);
      await box.resize({ memory_mb: 128 });
      assert.equal(box.info.resources.memory_mb, 128);
      await box.recreate();
      assert.equal((await box.refresh()).state, "running");
      assert.ok((await box.stats()).age_ms >= 0);
    },
    { name: "dev", labels: { team: "search" } },
  );
  const box = await Sandbox.create({ files: { "a/b": "there" } }, { client });
  assert.equal(await box.files.readText("a/b"), "there");
  await box[Symbol.asyncDispose]();
  await fails(box.refresh(), atoll.NotFoundError);
  await box.delete();
});

test("commands and how they end", async () => {
  await withBox(async (box) => {
    assert.equal((await box.exec("echo $((6 * 7))")).stdout, "42\n");
    assert.equal((await box.exec(["printf", "%s", "a b"])).stdout, "a b");
    const late = await box.exec("sleep 100", { timeoutMs: 200 });
    assert.deepEqual([late.reason, late.limit, late.exitCode], ["timeout", "wall_time", 124]);
    const loud = await box.exec("yes", { outputLimit: 100_000, maxOutputBytes: 10 });
    assert.deepEqual([loud.stdout.length, loud.truncated, loud.limit], [10, true, "output"]);
    assert.equal((await box.exec("while :; do :; done", { cpuTimeMs: 200 })).limit, "cpu_time");
    assert.equal((await box.exec("kill -9 $$")).signal, 9);
    assert.ok((await box.exec("true", { timeoutMs: Infinity })).ok);
    await fails(box.exec("true", { timeoutMs: 0 }), RangeError);
  });
});

test("processes", async () => {
  await withBox(async (box) => {
    const process = await box.spawn("cat; echo done >&2", { stdinOpen: true });
    assert.deepEqual((await box.processes.list()).map((one) => one.running), [true]);
    await process.write("one ");
    await process.write("two", { eof: true });
    const done = await box.processes.get(process.process).wait();
    assert.deepEqual([done.stdout, done.stderr], ["one two", "done\n"]);
    const pieces = (await all(await process.output({ stdoutOffset: 4 }))).filter((piece) => piece.stream === "stdout");
    assert.deepEqual([pieces[0].offset, pieces[0].text], [4, "two"]);
    assert.equal(await (await box.processes.logs({ process: process.process, stream: "stdout" })).text(), "one two");
    const sleeper = await box.spawn(["sleep", "1000"]);
    await fails(sleeper.wait({ timeoutMs: 100 }), atoll.DeadlineExceededError);
    await sleeper.signal("TERM");
    assert.equal((await sleeper.wait()).signal, 15);
  });
});

test("a stream waits for its reader", async () => {
  await withBox(async (box) => {
    const stream = await box.stream(`head -c ${MANY} /dev/zero; touch written`);
    let size = (await stream.next()).value.data.length;
    assert.equal(await box.files.exists("written"), false);
    for await (const piece of stream) size += piece.data.length;
    assert.deepEqual([size, stream.result.ok], [MANY, true]);
    assert.equal(await box.files.exists("written"), true);
  });
});

test("characters are not torn apart", async () => {
  await withBox(async (box) => {
    const pieces = await all(await box.stream("printf 'a\\303'; sleep 0.1; printf '\\244b'"));
    assert.equal(pieces.map((piece) => piece.text).join(""), "aäb");
  });
});

test("a terminal and back to it", async () => {
  await withBox(async (box) => {
    const terminal = await box.pty("stty size; read line; stty size; exit 7", { rows: 30, cols: 90 });
    let seen = "";
    for await (const piece of terminal) {
      seen += Buffer.from(piece);
      if (seen.includes("30 90")) break;
    }
    await terminal.resize(31, 91);
    await terminal.write("hello\n");
    for await (const piece of terminal) seen += Buffer.from(piece);
    assert.ok(seen.includes("31 91"), seen);
    assert.equal(terminal.result.exitCode, 7);

    const first = await box.pty(["cat"], { onDisconnect: "keep" });
    await first.write("one\n");
    let size = 0;
    for await (const piece of first) if ((size += piece.length) >= 10) break;
    first.close();
    const process = box.processes.get(first.process);
    await process.resize(40, 100);
    const again = await process.attach({ stdoutOffset: size });
    await again.write("two\n");
    assert.ok(Buffer.from((await again.next()).value).toString().startsWith("two"));
    await again.signal("KILL");
    assert.equal((await again.wait()).signal, 9);
    await fails(box.processes.get(99).attach(), atoll.NotFoundError);
  });
});

test("files", async () => {
  await withBox(async ({ files }) => {
    const info = await files.write("a/b.txt", "häl", { mode: 0o600 });
    assert.deepEqual([info.size, info.mode], [4, "0600"]);
    assert.equal(await files.readText("a/b.txt"), "häl");
    assert.equal(Buffer.from(await files.read("a/b.txt", { offset: 1, length: 2 })).toString(), "ä");
    assert.deepEqual((await files.list("a")).entries.map((entry) => entry.name), ["b.txt"]);
    await files.move("a/b.txt", "c.txt");
    assert.deepEqual([await files.exists("a/b.txt"), await files.exists("c.txt")], [false, true]);
    await files.remove("c.txt");
    await files.mkdir("x/y/z");
    await fails(files.remove("x"), atoll.AtollError);
    await files.remove("x", { recursive: true });
    await files.write(new Uint8Array([255]), "x");
    assert.equal(Buffer.from(await files.read(new Uint8Array([255]))).toString(), "x");
    const written = await files.writeMany({ "src/a.py": "print(1)\n", "src/b.bin": new Uint8Array([255]) });
    assert.deepEqual([written.written, written.failed], [2, 0]);
    assert.deepEqual((await files.find("src", { name: "*.py" })).entries.map((entry) => entry.path), ["src/a.py"]);
    assert.equal((await files.grep("PRINT", "src", { ignoreCase: true })).matches[0].line, 1);
    const archive = await (await files.readArchive("src")).bytes();
    await files.writeArchive(archive, "copy");
    assert.equal(await files.readText("copy/a.py"), "print(1)\n");
    await files.write("big", Buffer.alloc(1_000_001));
    await fails(files.read("big", { most: 1_000_000 }), atoll.TooLargeError);
    const watch = await files.watch("", { recursive: true });
    await files.mkdir("seen");
    assert.deepEqual((await watch.next()).value, { type: "created", kind: "directory", path: "seen" });
    watch.close();
  });
});

test("who was faster", async () => {
  await withBox(async ({ files }) => {
    const first = await files.write("n", "1");
    await files.write("n", "2", { ifMatch: first.etag });
    async function* pieces() {
      for (let n = 0; n < 20; n++) yield Buffer.alloc(1_000_000);
    }
    for (const data of ["3", Buffer.alloc(20_000_000), pieces()]) {
      const error = await fails(files.write("n", data, { ifMatch: first.etag }), atoll.ConflictError);
      assert.equal(error.code, "precondition_failed");
    }
    assert.equal(await files.readText("n"), "2");
  });
});

test("files of this machine", async () => {
  const directory = await mkdtemp(join(tmpdir(), "atoll-sdk-"));
  try {
    await withBox(async ({ files }) => {
      const data = randomBytes(5_000_000);
      await writeFile(join(directory, "local"), data);
      await files.upload(join(directory, "local"), "up/big", { mode: 0o755, partBytes: 2_000_000 });
      assert.equal((await files.stat("up/big")).mode, "0755");
      await files.download("up/big", join(directory, "back"));
      const digest = (bytes) => createHash("sha256").update(bytes).digest("hex");
      assert.equal(digest(await readFile(join(directory, "back"))), digest(data));
      await fails(files.download("nobody", join(directory, "back")), atoll.NotFoundError);
      assert.deepEqual((await readdir(directory)).sort(), ["back", "local"]);
      await writeFile(join(directory, "empty"), "");
      await files.upload(join(directory, "empty"), "up/empty");
      assert.equal(await files.readText("up/empty"), "");
    });
  } finally {
    await rm(directory, { recursive: true });
  }
});

test("ports", async () => {
  await withBox(async (box) => {
    const server = await box.spawn(["python3", "-c", SERVER]);
    const output = await server.output();
    assert.equal((await output.next()).value.text, "listening\n");
    output.close();
    const port = await box.ports.dial(3000);
    port.end("hello ");
    assert.equal(Buffer.concat(await all(port)).toString(), "HELLO the end");
    await fails(box.ports.dial(3999), atoll.UnavailableError);

    const forward = await box.ports.forward(3000);
    for (const sent of [Buffer.from("a"), Buffer.alloc(3_000_000, "x")]) {
      const visitor = net.connect({ port: forward.port, host: "127.0.0.1", allowHalfOpen: true });
      visitor.end(sent);
      const got = Buffer.concat(await all(visitor)).toString();
      assert.ok(got === `${sent.toString().toUpperCase()}the end`, `${got.length} bytes`);
    }
    const used = forward.port;
    await forward.close();
    const refused = await new Promise((resolve) => net.connect(used, "127.0.0.1").once("error", resolve));
    assert.equal(refused.code, "ECONNREFUSED");

    const nowhere = await box.ports.forward(3999);
    const visitor = net.connect(nowhere.port, "127.0.0.1").on("error", () => undefined);
    await new Promise((resolve) => visitor.once("close", resolve));
    assert.equal((await until("the error is told", () => nowhere.error)).code, "unavailable");
    await nowhere.close();
  });
});

test("who and what", async () => {
  assert.equal((await client.version()).api, "v1");
  assert.equal((await client.whoami()).subject, "socket");
  assert.ok((await client.limits()).ttl_s > 0);
  assert.ok((await client.drivers()).some((driver) => driver.name === "native"));
  assert.ok(Buffer.from(await client.call("metrics")).toString().includes("atoll_"));
  await fails(client.call("dialPort", { path: { id: "x", port: 1 } }), TypeError);
  assert.deepEqual((await client.call("listTraces", { query: { limit: 1 } })).traces.length, 1);
});

test("keys and tokens", async () => {
  const made = await client.keys.create({ role: "viewer", tenant: "team", ttl_s: 600 });
  assert.ok((await client.keys.list()).some((key) => key.id === made.id));
  const viewer = new Client({ url: daemon.url, apiKey: made.key });
  assert.equal((await viewer.whoami()).role, "viewer");
  await fails(Sandbox.create({}, { client: viewer }), atoll.PermissionDeniedError);
  await client.keys.revoke(made.id);
  await fails(viewer.whoami(), atoll.UnauthenticatedError);
  viewer.close();
  await withBox(async (box) => {
    const holder = new Client({ url: daemon.url, apiKey: (await box.token(600)).token });
    assert.equal((await (await Sandbox.connect(box.id, { client: holder })).exec("echo hi")).stdout, "hi\n");
    await fails(Sandbox.create({}, { client: holder }), atoll.PermissionDeniedError);
    holder.close();
  });
});

test("events and where to go on", async () => {
  const events = await client.events({ runs: false });
  const id = await withBox(async (box) => box.id);
  const seen = [(await events.next()).value, (await events.next()).value];
  assert.deepEqual(seen.map((event) => event.state), ["starting", "running"]);
  events.close();
  const again = await client.events({ after: seen[0].id, sandbox: id });
  const states = [];
  for await (const event of again) {
    states.push(event.state);
    if (states.length === 3) break;
  }
  assert.deepEqual(states, ["running", "stopping", "destroyed"]);
});

test("errors have a class for each family", async () => {
  const error = await fails(Sandbox.connect("nobody", { client }), atoll.NotFoundError);
  assert.deepEqual([error.name, error.code, error.status], ["NotFoundError", "not_found", 404]);
  assert.ok(error.requestId.startsWith("req") && error.message.includes(error.hint));
  await fails(Sandbox.create({ ttl_s: 0 }, { client }), atoll.InvalidArgumentError);
  await withBox(
    async (box) => {
      await fails(Sandbox.create({ name: "twice", ttl_s: 9 }, { client }), atoll.ConflictError);
      await fails(box.snapshot(), atoll.UnsupportedError);
    },
    { name: "twice", driver: "subprocess" },
  );
  const bad = await fails(new Client({ url: daemon.url, apiKey: "atk_wrong" }).version(), atoll.UnauthenticatedError);
  assert.equal(bad.status, 401);
});

test("no daemon, and one that is silent", async () => {
  const nobody = await fails(new Client({ state: "/nowhere", retries: 0 }).version(), atoll.UnavailableError);
  assert.deepEqual([nobody.stage, nobody.hint.includes("atoll serve")], ["connect", true]);
  const silent = net.createServer(() => undefined);
  await new Promise((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const waiting = new Client({ url: `http://127.0.0.1:${silent.address().port}`, timeoutMs: 200 });
  const late = await fails(waiting.version(), atoll.DeadlineExceededError);
  assert.equal(late.stage, "client");
  waiting.close();
  silent.close();
});

test("bad addresses and bad times", async () => {
  for (const url of ["ftp://x", "example.org", "http://"]) {
    await fails((async () => new Client({ url }))(), atoll.InvalidArgumentError);
  }
  await fails(client.version({ timeoutMs: -1 }), RangeError);
});

await runAll();
client.close();
