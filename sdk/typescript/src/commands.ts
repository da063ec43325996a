// Commands while they run: their output as it comes, their stdin, signals, and how they ended.
import { StringDecoder } from "node:string_decoder";

import { InternalError, fromProblem, type ProblemLike } from "./errors.js";
import type { Answer, Transport } from "./http.js";
import type { ExecResult, Process as ProcessInfo } from "./models.js";
import type { Waiting } from "./patience.js";
import { DEFAULT_TIMEOUT_MS, Result, type Gap, type Output } from "./results.js";
import { Terminal, openTerminal } from "./terminal.js";

export const FRAMES = "application/vnd.atoll.stream";
const LONGEST_FRAME = 64 * 1024 * 1024;

enum Kind {
  start,
  stdout,
  stderr,
  exit,
  gap,
  error,
}

interface Start {
  sandbox?: string;
  process?: number;
  pid?: number;
  request_id?: string;
}

/**
 * What a command says, piece by piece. Whoever closes it early ends the command, unless it was told to go on; `result` is
 * there once the last piece was read.
 */
export class CommandStream implements AsyncIterableIterator<Output | Gap> {
  private rest: Uint8Array[] = [];
  private size = 0;
  private readonly texts = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  sandbox = "";
  process = 0;
  pid = 0;
  requestId = "";
  result: Result | undefined;

  private constructor(
    private readonly transport: Transport,
    private readonly answer: Answer,
    private readonly offsets: { stdout: number; stderr: number },
  ) {}

  static async begin(
    transport: Transport,
    answer: Answer,
    offsets = { stdout: 0, stderr: 0 },
  ): Promise<CommandStream> {
    const stream = new CommandStream(transport, answer, offsets);
    try {
      const [kind, payload] = await stream.frame();
      if (kind === Kind.error) throw fromProblem(parse<ProblemLike>(payload));
      if (kind !== Kind.start) throw new InternalError("the stream of a command does not begin with its start", { stage: "client" });
      const start = parse<Start>(payload);
      stream.sandbox = start.sandbox ?? "";
      stream.process = start.process ?? 0;
      stream.pid = start.pid ?? 0;
      stream.requestId = start.request_id ?? "";
      return stream;
    } catch (error) {
      stream.close();
      throw error;
    }
  }

  private async take(size: number): Promise<Buffer> {
    while (this.size < size) {
      const piece = await this.answer.some();
      if (!piece) throw new InternalError("the stream of a command ends without its end", { stage: "client", retryable: true });
      this.rest.push(piece);
      this.size += piece.length;
    }
    const all = this.rest.length === 1 ? Buffer.from(this.rest[0] as Uint8Array) : Buffer.concat(this.rest);
    this.rest = all.length > size ? [all.subarray(size)] : [];
    this.size -= size;
    return all.subarray(0, size);
  }

  private async frame(): Promise<[Kind, Buffer]> {
    const head = await this.take(8);
    const size = head.readUInt32BE(4);
    if (size > LONGEST_FRAME) throw new InternalError("a frame of a stream is too long", { stage: "client" });
    return [head[0] as Kind, await this.take(size)];
  }

  async next(): Promise<IteratorResult<Output | Gap, undefined>> {
    try {
      while (!this.result) {
        const [kind, payload] = await this.frame();
        if (kind === Kind.stdout || kind === Kind.stderr) {
          return { done: false, value: this.output(kind === Kind.stdout ? "stdout" : "stderr", payload) };
        }
        if (kind === Kind.gap) {
          const gap = parse<Omit<Gap, "type">>(payload);
          this.offsets[gap.stream] = gap.to;
          return { done: false, value: { type: "gap", stream: gap.stream, from: gap.from, to: gap.to } };
        }
        if (kind === Kind.error) throw fromProblem(parse<ProblemLike>(payload));
        if (kind === Kind.exit) {
          this.result = new Result(parse<ExecResult>(payload));
          await this.answer.bytes();
        }
      }
      return { done: true, value: undefined };
    } catch (error) {
      this.close();
      throw error;
    }
  }

  private output(stream: "stdout" | "stderr", data: Buffer): Output {
    const offset = this.offsets[stream];
    this.offsets[stream] += data.length;
    return { type: "output", stream, data, offset, text: this.texts[stream].write(data) };
  }

  /** Called by `for await` when it is left early. */
  async return(): Promise<IteratorResult<Output | Gap, undefined>> {
    this.close();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Reads what is left of it, keeps nothing, and tells how it ended. */
  async wait(): Promise<Result> {
    while (!(await this.next()).done);
    return this.result as Result;
  }

  private handle(): Process {
    return new Process(this.transport, this.sandbox, this.process);
  }

  /** To its stdin, which has to be open. */
  write(data: string | Uint8Array, options: { eof?: boolean } & Waiting = {}): Promise<void> {
    return this.handle().write(data, options);
  }

  signal(signal: number | string): Promise<void> {
    return this.handle().signal(signal);
  }

  close(): void {
    this.answer.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}

function parse<T>(payload: Buffer): T {
  return JSON.parse(payload.toString("utf8")) as T;
}

/** A command that was started, whoever looks at it. */
export class Process {
  constructor(
    private readonly transport: Transport,
    private readonly sandbox: string,
    readonly process: number,
    readonly pid = 0,
  ) {}

  private get path() {
    return { id: this.sandbox, process: this.process };
  }

  /** What it said from an offset on, as far as it is kept, and says until it ends. */
  async output(
    options: { stdoutOffset?: number; stderrOffset?: number; onDisconnect?: "keep" | "kill" } & Waiting = {},
  ): Promise<CommandStream> {
    const { stdoutOffset = 0, stderrOffset = 0, onDisconnect = "keep", signal, timeoutMs = Infinity } = options;
    const answer = await this.transport.open("attachOutput", {
      path: this.path,
      query: { stdout_offset: stdoutOffset, stderr_offset: stderrOffset, on_disconnect: onDisconnect },
      header: { Accept: FRAMES },
      signal,
      timeoutMs,
    });
    return CommandStream.begin(this.transport, answer, { stdout: stdoutOffset, stderr: stderrOffset });
  }

  /** How it ended, with its output. When the time is over it goes on, and DeadlineExceededError is thrown. */
  async wait(options: { maxOutputBytes?: number } & Waiting = {}): Promise<Result> {
    const { maxOutputBytes, signal, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    const query = { max_output_bytes: maxOutputBytes };
    return new Result(await this.transport.call("attachOutput", { path: this.path, query, signal, timeoutMs }));
  }

  /** To its stdin, if that was left open. */
  async write(data: string | Uint8Array, options: { eof?: boolean } & Waiting = {}): Promise<void> {
    const { eof = false, ...waiting } = options;
    await this.transport.call("writeStdin", { path: this.path, query: { eof }, body: Buffer.from(data as Uint8Array), ...waiting });
  }

  closeStdin(): Promise<void> {
    return this.write("", { eof: true });
  }

  /** To it and everything below it: a number, or a name such as "TERM". */
  async signal(signal: number | string): Promise<void> {
    await this.transport.call("signalProcess", { path: this.path, body: { signal } });
  }

  kill(): Promise<void> {
    return this.signal("KILL");
  }

  /** Of its terminal. */
  async resize(rows: number, cols: number): Promise<void> {
    await this.transport.call("resizeProcess", { path: this.path, body: { rows, cols } });
  }

  /** Back to its terminal. */
  attach(options: { stdoutOffset?: number; onDisconnect?: "keep" | "kill" } & Waiting = {}): Promise<Terminal> {
    const { stdoutOffset = 0, onDisconnect = "keep", ...waiting } = options;
    const query = { stdout_offset: stdoutOffset, on_disconnect: onDisconnect };
    return openTerminal(this.transport, "attachSocket", { path: this.path, query, ...waiting }, undefined);
  }
}

export class Processes {
  constructor(
    private readonly transport: Transport,
    private readonly sandbox: string,
  ) {}

  /** What runs, and what ran, in the order of their start. */
  async list(waiting: Waiting = {}): Promise<ProcessInfo[]> {
    return (await this.transport.call("listProcesses", { path: { id: this.sandbox }, ...waiting })).processes;
  }

  /** By the number that `process` tells; unlike a pid it is never used again. */
  get(process: number): Process {
    return new Process(this.transport, this.sandbox, process);
  }

  /** What one has said, in pieces of bytes; the one that was started last unless it is named. */
  logs(
    options: { process?: number; stream?: "stdout" | "stderr" | "all"; tail?: number; follow?: boolean } & Waiting = {},
  ): Promise<Answer> {
    const { signal, timeoutMs = Infinity, ...query } = options;
    return this.transport.open("readLogs", { path: { id: this.sandbox }, query, signal, timeoutMs });
  }
}
