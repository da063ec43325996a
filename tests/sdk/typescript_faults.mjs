// What goes wrong between a client and a daemon; typescript_test.py stands between them.
import { readFile } from "node:fs/promises";

import * as atoll from "@atoll/sdk";
import { Client, Sandbox } from "@atoll/sdk";

import { assert, daemon, fails, runAll, test } from "./cases.mjs";

const direct = new Client({ state: daemon.state });

/** A client behind somebody who does what the plan says. */
async function behind(...plan) {
  const answer = await fetch(`${process.env.TEST_CONTROL}/${plan.join(",")}`);
  const { url, ca } = await answer.json();
  const tls = ca ? { ca: await readFile(ca) } : undefined;
  return {
    client: new Client({ url, apiKey: daemon.key, ...(tls ? { tls } : {}) }),
    url,
    seen: async () => Number(await (await fetch(`${process.env.TEST_CONTROL}/seen?${url}`)).text()),
  };
}

test("a code of next year", async () => {
  const { client } = await behind("unknown");
  const error = await fails(client.version(), atoll.AtollError);
  assert.deepEqual(
    [error.name, error.code, error.status, error.hint, error.stage, error.requestId],
    ["AtollError", "of_next_year", 418, "do otherwise", "request", "reqmeddled"],
  );
});

test("fields of next year are ignored", async () => {
  const { client } = await behind("grow", "grow", "grow", "grow", "grow");
  assert.equal((await client.run(undefined, { command: "echo hi" })).stdout, "hi\n");
  const box = await Sandbox.create({}, { client });
  assert.equal((await box.exec("exit 3")).exitCode, 3);
  await box.files.write("a", "b");
  assert.equal((await box.files.list()).entries[0].name, "a");
  await box.delete();
});

test("asking again, and its end", async () => {
  const patient = await behind("busy", "busy");
  assert.equal((await patient.client.run(undefined, { command: "echo once" })).stdout, "once\n");
  assert.equal(await patient.seen(), 3);
  const endless = await behind(...Array(9).fill("busy"));
  await fails(endless.client.version(), atoll.ResourceExhaustedError);
  assert.equal(await endless.seen(), 4);
});

test("a lost answer makes no second sandbox", async () => {
  const { client, seen } = await behind("cut");
  const box = await Sandbox.create({ labels: { lost: "yes" } }, { client });
  const found = [];
  for await (const one of direct.sandboxes({ labels: { lost: "yes" } })) found.push(one.id);
  assert.deepEqual([found, await seen()], [[box.id], 2]);
  await box.delete();
});

test("a lost answer to a command is an error", async () => {
  const box = await Sandbox.create({}, { client: direct });
  const { client, seen } = await behind("cut");
  await fails(new Sandbox(client, box.info).exec("echo x >> count"), atoll.ConnectionLostError);
  assert.equal(await box.files.readText("count"), "x\n");
  assert.equal(await seen(), 1);
  await box.delete();
});

test("somebody who is no daemon", async () => {
  const { client } = await behind("garbage");
  await fails(client.version(), atoll.AtollError);
  const proxy = await fails((await behind("proxy", "proxy", "proxy", "proxy")).client.version(), atoll.UnavailableError);
  assert.ok(proxy.hint.includes("proxy"));
});

test("tls", async () => {
  const { client, url } = await behind("tls");
  assert.ok(url.startsWith("https://"));
  const long = "x".repeat(1_000_000);
  assert.equal((await client.run(undefined, { command: ["cat"], stdin: long })).stdout, long);
  const error = await fails(new Client({ url, retries: 0 }).version(), atoll.AtollError);
  assert.match(error.message, /certificate/i);
});

test("a daemon that comes back", async () => {
  const client = new Client({ state: daemon.state });
  const box = await Sandbox.create({}, { client });
  const events = await client.events({ sandbox: box.id });
  await box.pause();
  assert.equal((await events.next()).value.state, "paused");
  await fetch(`${process.env.TEST_CONTROL}/restart`);
  await box.resume();
  assert.equal((await events.next()).value.type, "reset");
  for await (const event of events) if (event.state === "running") break;
  assert.equal((await box.exec("echo on")).stdout, "on\n");
  await box.delete();
  client.close();
});

await runAll();
direct.close();
process.exit(0); // clients of broken connections need no farewell
