// A command at a terminal, over a WebSocket (RFC 6455, protocol atoll.exec.v1).
import { createHash, randomBytes } from "node:crypto";
import type { Socket } from "node:net";

import { ConnectionLostError, InternalError, fromProblem, type ProblemLike } from "./errors.js";
import { lost, type Question, type Transport } from "./http.js";
import type { Exec, ExecResult } from "./models.js";
import { Result } from "./results.js";

const PROTOCOL = "atoll.exec.v1";
const MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const LONGEST_MESSAGE = 4 * 1024 * 1024;
const LARGEST_WRITE = 256 * 1024;
const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

type Event = { type?: string; process?: number; pid?: number; problem?: ProblemLike } & Partial<Omit<ExecResult, "type">>;

export async function openTerminal(
  transport: Transport,
  operation: "execSocket" | "attachSocket",
  question: Question,
  first: Exec | undefined,
): Promise<Terminal> {
  const key = randomBytes(16).toString("base64");
  const { socket, headers } = await transport.upgrade(operation, "websocket", {
    ...question,
    header: { "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key, "Sec-WebSocket-Protocol": PROTOCOL },
  });
  const expected = createHash("sha1").update(key + MAGIC).digest("base64");
  if (headers["sec-websocket-accept"] !== expected) {
    socket.destroy();
    throw new InternalError("the answer is not that of a WebSocket", { stage: "client" });
  }
  const terminal = new Terminal(socket, question.signal);
  const patience = transport.patience(question, true);
  const stop = patience.watch((error) => socket.destroy(error));
  try {
    if (first) await terminal.sendJson({ exec: first });
    await terminal.begin();
    return terminal;
  } catch (error) {
    terminal.close();
    throw error;
  } finally {
    stop();
  }
}

/** Iterate to see what it shows; write what is typed. `result` is there once it has ended. */
export class Terminal implements AsyncIterableIterator<Uint8Array> {
  private rest = Buffer.alloc(0);
  private readonly pieces: AsyncIterator<Buffer>;
  process = 0;
  pid = 0;
  result: Result | undefined;

  constructor(
    private readonly socket: Socket,
    private readonly abort: AbortSignal | undefined,
  ) {
    this.pieces = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    const stop = () => socket.destroy();
    abort?.addEventListener("abort", stop, { once: true });
    socket.once("close", () => abort?.removeEventListener("abort", stop));
    socket.on("error", () => undefined); // told to whoever reads or writes
  }

  async begin(): Promise<void> {
    const [kind, payload] = await this.message();
    const start = kind === TEXT ? (JSON.parse(payload.toString("utf8")) as Event) : {};
    if (start.type === "error") throw fromProblem(start.problem ?? {});
    if (start.type !== "start") throw new InternalError("a terminal does not begin with its start", { stage: "client" });
    this.process = start.process ?? 0;
    this.pid = start.pid ?? 0;
  }

  // Frames.

  private send(kind: number, payload: Uint8Array): Promise<void> {
    const size = payload.length;
    const head = Buffer.alloc(size < 126 ? 2 : size < 65536 ? 4 : 10);
    head[0] = 0x80 | kind;
    if (size < 126) head[1] = 0x80 | size;
    else if (size < 65536) {
      head[1] = 0x80 | 126;
      head.writeUInt16BE(size, 2);
    } else {
      head[1] = 0x80 | 127;
      head.writeBigUInt64BE(BigInt(size), 2);
    }
    const mask = randomBytes(4);
    const masked = Buffer.from(payload);
    for (let at = 0; at < size; at++) masked[at] = (masked[at] as number) ^ (mask[at & 3] as number);
    return new Promise((resolve, reject) => {
      this.socket.write(Buffer.concat([head, mask, masked]), (error) => {
        if (error) reject(this.told(error));
        else resolve();
      });
    });
  }

  private told(error: unknown): unknown {
    return this.abort?.aborted ? this.abort.reason : lost(error);
  }

  private async take(size: number): Promise<Buffer> {
    while (this.rest.length < size) {
      let next: IteratorResult<Buffer>;
      try {
        next = await this.pieces.next();
      } catch (error) {
        throw this.told(error);
      }
      if (next.done) throw this.told(undefined);
      this.rest = Buffer.concat([this.rest, next.value]);
    }
    const taken = this.rest.subarray(0, size);
    this.rest = this.rest.subarray(size);
    return taken;
  }

  /** The next message; pings are answered on the way. */
  private async message(): Promise<[number, Buffer]> {
    let kind = 0;
    let message = Buffer.alloc(0);
    for (;;) {
      const head = await this.take(2);
      const first = head[0] as number;
      const second = head[1] as number;
      let size = second & 0x7f;
      if (size === 126) size = (await this.take(2)).readUInt16BE(0);
      else if (size === 127) size = Number((await this.take(8)).readBigUInt64BE(0));
      if (second & 0x80 || first & 0x70 || size + message.length > LONGEST_MESSAGE) {
        throw new InternalError("the daemon sent a frame that no server may send", { stage: "client" });
      }
      const payload = await this.take(size);
      const opcode = first & 0x0f;
      if (opcode === PING) await this.send(PONG, payload);
      else if (opcode === CLOSE) return [CLOSE, payload];
      else if (opcode !== PONG) {
        kind = opcode || kind;
        message = Buffer.concat([message, payload]);
        if (first & 0x80) return [kind, message];
      }
    }
  }

  sendJson(message: unknown): Promise<void> {
    return this.send(TEXT, Buffer.from(JSON.stringify(message)));
  }

  // What people do.

  async write(data: string | Uint8Array): Promise<void> {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    for (let at = 0; at < bytes.length; at += LARGEST_WRITE) {
      await this.send(BINARY, bytes.subarray(at, at + LARGEST_WRITE));
    }
  }

  resize(rows: number, cols: number): Promise<void> {
    return this.sendJson({ resize: { rows, cols } });
  }

  signal(signal: string): Promise<void> {
    return this.sendJson({ signal });
  }

  closeStdin(): Promise<void> {
    return this.sendJson({ eof: true });
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    try {
      while (!this.result) {
        const [kind, payload] = await this.message();
        if (kind === BINARY) return { done: false, value: payload.subarray(1) };
        if (kind === CLOSE) {
          throw new ConnectionLostError("the terminal was closed before its command ended", {
            code: "unavailable",
            stage: "client",
            hint: "attach to the process again",
          });
        }
        const event = JSON.parse(payload.toString("utf8")) as Event;
        if (event.type === "error") throw fromProblem(event.problem ?? {});
        if (event.type === "exit") {
          this.result = new Result(event);
          this.close();
        }
      }
      return { done: true, value: undefined };
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Called by `for await` when it is left early. The terminal stays open: another loop may go on. */
  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Passes over what it still shows, and tells how it ended. */
  async wait(): Promise<Result> {
    while (!(await this.next()).done);
    return this.result as Result;
  }

  close(): void {
    this.socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}
