// A daemon: runs, the list of sandboxes, events, keys, and the whole API below them.
import type { AgentOptions } from "node:https";

import { CommandStream, FRAMES } from "./commands.js";
import { ConnectionLostError, DeadlineExceededError, InternalError, UnavailableError } from "./errors.js";
import { Transport, type Answer, type Question } from "./http.js";
import type {
  BatchRun,
  CreateKeyAnswer,
  CreateKeyBody,
  CreateSandbox,
  Driver,
  Event,
  Key,
  Limits,
  State,
  VersionAnswer,
  WhoAmIAnswer,
} from "./models.js";
import type { Operations } from "./operations.js";
import { sleep, type Waiting } from "./patience.js";
import { Result, batchResultOf, execOf, waitFor, type BatchResult, type Command, type CommandOptions } from "./results.js";
import { Sandbox } from "./sandbox.js";
import { findTarget, type TargetOptions } from "./target.js";

const LINES = { Accept: "application/x-ndjson" };
// Events have a sign of life every 15 seconds.
const SILENCE_MS = 60_000;
const LONGEST_PAUSE_MS = 5_000;

export interface ClientOptions extends TargetOptions {
  /** For a call as a whole, and for each silence of one that carries data; a minute unless it is said. */
  timeoutMs?: number;
  /** How often a call is tried again where that does no harm. */
  retries?: number;
  /** Certificates and the like, for https. */
  tls?: AgentOptions;
}

export interface RunOptions extends CommandOptions {
  /** Of the code; python unless it is said. */
  language?: string;
  /** Instead of code. */
  command?: Command;
  /** By path, to be there before it starts. */
  files?: Record<string, string | Uint8Array>;
  /** Packages that the code needs, installed first. */
  requirements?: string[];
  sandbox?: CreateSandbox;
}

const RUN_OPTIONS = ["language", "command", "files", "requirements", "sandbox"];
const BATCH_OPTIONS = ["sandbox", "concurrency", "attempts", "retryFailures"];

/**
 * Finds the daemon as the command line does: by what is named here, by ATOLL_URL and ATOLL_API_KEY, or by the socket in the
 * state directory. Connections are kept and used again, and do not keep the program from ending.
 */
export class Client {
  readonly transport: Transport;
  readonly keys: Keys;

  constructor(options: ClientOptions = {}) {
    const { timeoutMs = 60_000, retries = 3, tls, ...target } = options;
    this.transport = new Transport(findTarget(target), timeoutMs, retries, tls);
    this.keys = new Keys(this);
  }

  /** Any operation of the API, by its name in openapi.yaml. */
  call<Name extends keyof Operations>(
    name: Name,
    question: {
      path?: Operations[Name]["path"];
      query?: Operations[Name]["query"];
      header?: Operations[Name]["header"];
      body?: Operations[Name]["body"];
    } & Waiting = {},
  ): Promise<Operations[Name]["answer"]> {
    return this.transport.call(name, question as Question);
  }

  /** Gives the connections up. Sandboxes stay. */
  close(): void {
    this.transport.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  // Runs: a sandbox for one command, gone afterwards.

  /** Code, or a command, in a sandbox of its own. Who aborts ends it. */
  async run(code: string | undefined, options: RunOptions = {}): Promise<Result> {
    return new Result(await this.transport.call("run", { body: runBody(code, options), ...waitFor(options) }));
  }

  /** The same, with its output as it comes. */
  async stream(code: string | undefined, options: RunOptions & { stdinOpen?: boolean } = {}): Promise<CommandStream> {
    const body = runBody(code, options, [...RUN_OPTIONS, "stdinOpen"]);
    if (options.stdinOpen) body.exec.stdin_open = true;
    const answer = await this.transport.open("run", { body, header: { Accept: FRAMES }, ...waitFor(options) });
    return CommandStream.begin(this.transport, answer);
  }

  /** Each in a sandbox of its own, `concurrency` at a time; results come as they end. `timeoutMs` holds for each. */
  async runMany(
    commands: readonly Command[],
    options: {
      sandbox?: CreateSandbox;
      concurrency?: number;
      attempts?: number;
      retryFailures?: boolean;
    } & CommandOptions = {},
  ): Promise<Batch> {
    const { sandbox, concurrency, attempts, retryFailures: retry_failures, signal } = options;
    const runs = commands.map((command) => execOf(command, options, BATCH_OPTIONS));
    const body = { runs, sandbox, concurrency, attempts, retry_failures };
    return new Batch(await this.transport.open("runBatch", { body, header: LINES, signal, timeoutMs: Infinity }));
  }

  // What there is.

  /** Those that fit, page by page as they are asked for. */
  async *sandboxes(
    options: {
      state?: State;
      driver?: string;
      name?: string;
      userId?: string;
      labels?: Record<string, string>;
      tenant?: string;
    } & Waiting = {},
  ): AsyncGenerator<Sandbox, void, undefined> {
    const { state, driver, name, userId: user_id, labels = {}, tenant, ...waiting } = options;
    const label = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
    let cursor: string | null | undefined;
    do {
      const query = { state, driver, name, user_id, label, tenant, cursor };
      const page = await this.transport.call("listSandboxes", { query, ...waiting });
      for (const info of page.sandboxes) yield new Sandbox(this, info);
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  /**
   * Every change of a sandbox's state from now on, or behind the event `after`. A connection that breaks is made anew, and
   * nothing is missed and nothing comes twice unless an event of the type `reset` says so.
   */
  async events(
    options: { after?: string; sandbox?: string; state?: State; runs?: boolean; signal?: AbortSignal } = {},
  ): Promise<Events> {
    const events = new Events(this.transport, options);
    await events.begin();
    return events;
  }

  async drivers(waiting: Waiting = {}): Promise<Driver[]> {
    return (await this.transport.call("listDrivers", waiting)).drivers;
  }

  version(waiting: Waiting = {}): Promise<VersionAnswer> {
    return this.transport.call("version", waiting);
  }

  whoami(waiting: Waiting = {}): Promise<WhoAmIAnswer> {
    return this.transport.call("whoAmI", waiting);
  }

  limits(waiting: Waiting = {}): Promise<Limits> {
    return this.transport.call("limits", waiting);
  }
}

function runBody(code: string | undefined, options: RunOptions, known = RUN_OPTIONS) {
  const { language, command, requirements, sandbox } = options;
  if ((code === undefined) === (command === undefined)) throw new TypeError("a run has either code, or a command");
  const files: Record<string, string> = {};
  const files_b64: Record<string, string> = {};
  for (const [path, data] of Object.entries(options.files ?? {})) {
    if (typeof data === "string") files[path] = data;
    else files_b64[path] = Buffer.from(data).toString("base64");
  }
  return { code, language, files, files_b64, requirements, sandbox, exec: execOf(command, options, known) };
}

/** Keys of the daemon, for administrators. */
export class Keys {
  constructor(private readonly client: Client) {}

  /** The key itself is in the answer, this once. */
  create(body: CreateKeyBody, waiting: Waiting = {}): Promise<CreateKeyAnswer> {
    return this.client.transport.call("createKey", { body, ...waiting });
  }

  async list(waiting: Waiting = {}): Promise<Key[]> {
    return (await this.client.transport.call("listKeys", waiting)).keys;
  }

  async revoke(id: string, waiting: Waiting = {}): Promise<void> {
    await this.client.transport.call("revokeKey", { path: { key: id }, ...waiting });
  }
}

/** The runs of a batch as they end. Who leaves early ends those that are left. */
export class Batch implements AsyncIterableIterator<BatchResult> {
  private readonly lines: AsyncGenerator<unknown, void, undefined>;

  constructor(private readonly answer: Answer) {
    this.lines = answer.lines();
  }

  async next(): Promise<IteratorResult<BatchResult, undefined>> {
    for (;;) {
      const line = await this.lines.next();
      if (line.done) throw new InternalError("the answer to a batch ends without its end", { stage: "client", retryable: true });
      const run = line.value as BatchRun;
      if (run.type === "run") return { done: false, value: batchResultOf(run) };
      if (run.type === "end") return { done: true, value: undefined };
    }
  }

  async return(): Promise<IteratorResult<BatchResult, undefined>> {
    this.close();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** All of them, in the order of the commands. */
  async all(): Promise<BatchResult[]> {
    const results: BatchResult[] = [];
    for await (const result of this) results.push(result);
    return results.sort((one, other) => one.index - other.index);
  }

  close(): void {
    this.answer.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}

/** An iterator that goes on after a broken connection. `last` is where another one could go on. */
export class Events implements AsyncIterableIterator<Event> {
  last: string | undefined;
  private answer: Answer | undefined;
  private lines: AsyncGenerator<unknown, void, undefined> | undefined;
  private closed = false;
  private readonly query: Record<string, unknown>;
  private readonly signal: AbortSignal | undefined;

  constructor(
    private readonly transport: Transport,
    options: { after?: string; sandbox?: string; state?: State; runs?: boolean; signal?: AbortSignal },
  ) {
    const { after, signal, ...query } = options;
    this.last = after;
    this.signal = signal;
    this.query = query;
  }

  async begin(): Promise<void> {
    const query = { after: this.last, ...this.query };
    const waiting = { signal: this.signal, timeoutMs: SILENCE_MS };
    this.answer = await this.transport.open("readEvents", { query, header: LINES, ...waiting });
    this.lines = this.answer.lines();
  }

  async next(): Promise<IteratorResult<Event, undefined>> {
    while (!this.closed) {
      try {
        const line = await this.lines?.next();
        if (line && !line.done) {
          const event = line.value as Event;
          this.last = event.id;
          return { done: false, value: event };
        }
      } catch (error) {
        if (!(error instanceof ConnectionLostError || error instanceof DeadlineExceededError)) throw error;
      }
      const missed = this.last === undefined;
      if (await this.again()) {
        // There may have been no event yet whose id would say where to go on.
        if (missed) return { done: false, value: { id: "", type: "reset" } };
      }
    }
    return { done: true, value: undefined };
  }

  /** Connects anew, however long that takes. */
  private async again(): Promise<boolean> {
    this.answer?.close();
    for (let pause = 100; !this.closed; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        await this.begin();
        return true;
      } catch (error) {
        if (!(error instanceof UnavailableError || error instanceof DeadlineExceededError)) throw error;
        await sleep(pause, this.signal);
      }
    }
    return false;
  }

  async return(): Promise<IteratorResult<Event, undefined>> {
    this.close();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  close(): void {
    this.closed = true;
    this.answer?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}

let shared: Client | undefined;

/** The one that is used where none is named. */
export function defaultClient(): Client {
  return (shared ??= new Client());
}

/** Code, or a command, in a sandbox of its own that is gone afterwards. */
export function run(code: string | undefined, options: RunOptions & { client?: Client } = {}): Promise<Result> {
  const { client = defaultClient(), ...rest } = options;
  return client.run(code, rest);
}
