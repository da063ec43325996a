// A sandbox that stays: commands, files, processes, ports, and its life.
import { randomBytes } from "node:crypto";

import { Client, defaultClient } from "./client.js";
import { CommandStream, FRAMES, Process, Processes } from "./commands.js";
import { NotFoundError } from "./errors.js";
import { Files } from "./files.js";
import type {
  CreateSandbox,
  DiffSandboxAnswer,
  MakeTokenAnswer,
  Resources,
  SandboxStatsAnswer,
  Sandbox as SandboxInfo,
} from "./models.js";
import type { Operations } from "./operations.js";
import type { Waiting } from "./patience.js";
import { Ports } from "./ports.js";
import { Result, execOf, waitFor, type Command, type CommandOptions } from "./results.js";
import { Terminal, openTerminal } from "./terminal.js";

export interface ExecOptions extends CommandOptions {
  /** Whether the command goes on when its caller leaves. */
  onDisconnect?: "keep" | "kill";
}

export interface StreamOptions extends ExecOptions {
  /** Leave stdin open, to be written to. */
  stdinOpen?: boolean;
}

export interface TerminalOptions extends ExecOptions {
  rows?: number;
  cols?: number;
}

const EXEC_OPTIONS = ["onDisconnect"];
const STREAM_OPTIONS = [...EXEC_OPTIONS, "stdinOpen"];
const TERMINAL_OPTIONS = [...EXEC_OPTIONS, "rows", "cols"];

/** Made with Sandbox.create(), found again with Sandbox.connect(). With `await using` it is destroyed at the end. */
export class Sandbox {
  readonly files: Files;
  readonly processes: Processes;
  readonly ports: Ports;

  constructor(
    readonly client: Client,
    public info: SandboxInfo,
  ) {
    this.files = new Files(client.transport, info.id);
    this.processes = new Processes(client.transport, info.id);
    this.ports = new Ports(client.transport, info.id);
  }

  /**
   * A new one; with a `name`, the one that has it already, if it was made by the same request. A request whose answer is
   * lost is sent again and makes no second sandbox.
   */
  static async create(options: CreateSandbox = {}, more: { client?: Client } & Waiting = {}): Promise<Sandbox> {
    const { client = defaultClient(), ...waiting } = more;
    const header = { "Idempotency-Key": randomBytes(16).toString("hex") };
    return new Sandbox(client, await client.transport.call("createSandbox", { body: options, header, ...waiting }));
  }

  /** One that is there. */
  static async connect(idOrName: string, more: { client?: Client } & Waiting = {}): Promise<Sandbox> {
    const { client = defaultClient(), ...waiting } = more;
    return new Sandbox(client, await client.transport.call("getSandbox", { path: { id: idOrName }, ...waiting }));
  }

  get id(): string {
    return this.info.id;
  }

  get name(): string {
    return this.info.name;
  }

  /** As it was when it was last asked for; refresh() asks. */
  get state(): string {
    return this.info.state;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.delete();
  }

  private call<Name extends keyof Operations>(
    name: Name,
    waiting: Waiting,
    body?: unknown,
    query?: Record<string, unknown>,
  ): Promise<Operations[Name]["answer"]> {
    return this.client.transport.call(name, { path: { id: this.id }, body, query, ...waiting });
  }

  // Commands.

  /**
   * Runs a command and waits for its end. A string goes to /bin/sh, a list is a program with its arguments. After
   * `timeoutMs` everything that it started is killed. Who aborts ends it, unless `onDisconnect` is keep.
   */
  async exec(command: Command, options: ExecOptions = {}): Promise<Result> {
    const query = { on_disconnect: options.onDisconnect ?? "kill" };
    return new Result(await this.call("exec", waitFor(options), execOf(command, options, EXEC_OPTIONS), query));
  }

  /** The same, with its output as it comes. A command that writes faster than you read waits for you. */
  async stream(command: Command, options: StreamOptions = {}): Promise<CommandStream> {
    const answer = await this.client.transport.open("exec", {
      path: { id: this.id },
      query: { on_disconnect: options.onDisconnect ?? "kill" },
      header: { Accept: FRAMES },
      body: { ...execOf(command, options, STREAM_OPTIONS), ...(options.stdinOpen ? { stdin_open: true } : {}) },
      ...waitFor(options),
    });
    return CommandStream.begin(this.client.transport, answer);
  }

  /** Starts a command and leaves it running; its output is kept in a bounded ring. */
  async spawn(command: Command, options: Omit<StreamOptions, "onDisconnect"> = {}): Promise<Process> {
    const stream = await this.stream(command, { timeoutMs: Infinity, ...options, onDisconnect: "keep" });
    stream.close();
    return new Process(this.client.transport, this.id, stream.process, stream.pid);
  }

  /** A command at a terminal. */
  pty(command: Command = ["/bin/sh"], options: TerminalOptions = {}): Promise<Terminal> {
    const { rows = 24, cols = 80, onDisconnect = "kill", signal } = options;
    const exec = { ...execOf(command, { timeoutMs: Infinity, ...options }, TERMINAL_OPTIONS), tty: { rows, cols } };
    const question = { path: { id: this.id }, query: { on_disconnect: onDisconnect }, signal };
    return openTerminal(this.client.transport, "execSocket", question, exec);
  }

  // Its life.

  async refresh(waiting: Waiting = {}): Promise<this> {
    this.info = await this.call("getSandbox", waiting);
    return this;
  }

  /** Nothing of it is left then. One that is gone already is fine. */
  async delete(waiting: Waiting = {}): Promise<void> {
    try {
      await this.call("deleteSandbox", waiting);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
  }

  /** Ends every process and keeps the workspace. */
  async stop(waiting: Waiting = {}): Promise<void> {
    this.info = await this.call("stopSandbox", waiting);
  }

  async start(waiting: Waiting = {}): Promise<void> {
    this.info = await this.call("startSandbox", waiting);
  }

  /** Same id, same workspace, fresh processes. */
  async recreate(waiting: Waiting = {}): Promise<void> {
    this.info = await this.call("recreateSandbox", waiting);
  }

  /** Made anew for its next user, under the same id. */
  async reset(env?: Record<string, string>, waiting: Waiting = {}): Promise<void> {
    this.info = await this.call("resetSandbox", waiting, env === undefined ? {} : { env });
  }

  async pause(waiting: Waiting = {}): Promise<void> {
    this.info = await this.call("pauseSandbox", waiting);
  }

  async resume(waiting: Waiting = {}): Promise<void> {
    this.info = await this.call("resumeSandbox", waiting);
  }

  /** Its time to live counts from now. */
  async renew(ttlSeconds?: number, waiting: Waiting = {}): Promise<void> {
    this.info = await this.call("renewSandbox", waiting, ttlSeconds === undefined ? {} : { ttl_s: ttlSeconds });
  }

  /** Other limits; what is not named stays. */
  async resize(resources: Resources, waiting: Waiting = {}): Promise<void> {
    this.info = await this.call("patchSandbox", waiting, { resources });
  }

  /** The id of what is kept of it; `create({ snapshot })` makes another sandbox from it. */
  async snapshot(name?: string, waiting: Waiting = {}): Promise<string> {
    return (await this.call("snapshotSandbox", waiting, name === undefined ? {} : { name })).snapshot;
  }

  /** Copies that go their own way. */
  async fork(count = 1, waiting: Waiting = {}): Promise<Sandbox[]> {
    const answer = await this.call("forkSandbox", waiting, { count });
    return answer.sandboxes.map((info) => new Sandbox(this.client, info));
  }

  stats(waiting: Waiting = {}): Promise<SandboxStatsAnswer> {
    return this.call("sandboxStats", waiting);
  }

  /** What it changed in its copies of host directories. */
  diff(path?: string, waiting: Waiting = {}): Promise<DiffSandboxAnswer> {
    return this.call("diffSandbox", waiting, undefined, { path });
  }

  /** A token that is good for this sandbox alone, to be shown as a key. */
  token(ttlSeconds?: number, waiting: Waiting = {}): Promise<MakeTokenAnswer> {
    return this.call("makeToken", waiting, ttlSeconds === undefined ? {} : { ttl_s: ttlSeconds });
  }
}
