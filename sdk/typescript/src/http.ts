// Questions to a daemon: connections that are used again, deadlines, and repetition where that does no harm.
import { closeSync, openSync } from "node:fs";
import * as http from "node:http";
import * as https from "node:https";
import * as net from "node:net";
import { basename, dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import {
  AtollError,
  ConnectionLostError,
  InternalError,
  InvalidArgumentError,
  TooLargeError,
  UnavailableError,
  fromAnswer,
} from "./errors.js";
import { operations, type Operations } from "./operations.js";
import { Patience, sleep, type Waiting } from "./patience.js";
import { describeTarget, type Target } from "./target.js";
import { VERSION } from "./version.js";

/** Bytes to be sent: at once, or as they come. */
export type Source = string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

export interface Question extends Waiting {
  path?: Record<string, unknown> | undefined;
  query?: Record<string, unknown> | undefined;
  header?: Record<string, unknown> | undefined;
  body?: unknown;
}

const O_PATH = 0o10000000;
const LARGEST_ANSWER = 256 * 1024 * 1024;
const FIRST_PAUSE_MS = 100;

/** However long the path of a socket is: the descriptor of its directory stands for it. */
class SocketAgent extends http.Agent {
  constructor(private readonly path: string) {
    super({ keepAlive: true, maxFreeSockets: 8 });
  }

  override createConnection(): net.Socket {
    const directory = openSync(dirname(this.path), O_PATH);
    try {
      return net.connect({ path: `/proc/self/fd/${directory}/${basename(this.path)}` });
    } finally {
      closeSync(directory);
    }
  }
}

function spell(value: unknown): string {
  return String(value);
}

export function targetOf(
  operation: keyof Operations,
  path: Record<string, unknown> = {},
  query: Record<string, unknown> = {},
): string {
  const filled = operations[operation].path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = spell(path[name]);
    // Without it the path would be that of something else.
    if (value === "") {
      const what = name === "id" ? "the sandbox's id or name" : `the ${name}`;
      throw new InvalidArgumentError(`${what} is empty`, { code: "invalid_argument", stage: "client" });
    }
    return encodeURIComponent(value);
  });
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    if (value === undefined || value === null) return [];
    const all: unknown[] = Array.isArray(value) ? value : [value];
    return all.map((one) => `${encodeURIComponent(name)}=${encodeURIComponent(spell(one))}`);
  });
  return pairs.length > 0 ? `${filled}?${pairs.join("&")}` : filled;
}

function isBytes(body: unknown): body is Uint8Array {
  return body instanceof Uint8Array;
}

function isStream(body: unknown): body is Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
  return typeof body === "object" && body !== null && (Symbol.asyncIterator in body || Symbol.iterator in body);
}

/** An answer whose body comes in pieces: read it to its end, or close it. */
export class Answer implements AsyncIterable<Uint8Array> {
  private readonly iterator: AsyncIterator<Buffer>;

  constructor(
    private readonly message: http.IncomingMessage,
    private readonly patience: Patience,
  ) {
    this.iterator = message[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  get status(): number {
    return this.message.statusCode ?? 0;
  }

  header(name: string): string | undefined {
    const value = this.message.headers[name.toLowerCase()];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  /** The next piece; undefined at the end. */
  async some(): Promise<Uint8Array | undefined> {
    const stop = this.patience.watch((error) => this.message.destroy(error));
    try {
      const next = await this.iterator.next();
      return next.done ? undefined : next.value;
    } catch (error) {
      throw told(error, this.patience);
    } finally {
      stop();
    }
  }

  /** All of it. An answer that is longer is an error. */
  async bytes(most = LARGEST_ANSWER): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    let size = 0;
    for (let piece = await this.some(); piece; piece = await this.some()) {
      pieces.push(piece);
      size += piece.length;
      if (size > most) {
        this.close();
        throw new TooLargeError(`the answer has more than ${most} bytes`, {
          code: "too_large",
          stage: "client",
          hint: "read it in pieces",
        });
      }
    }
    return Buffer.concat(pieces);
  }

  async text(): Promise<string> {
    return Buffer.from(await this.bytes()).toString("utf8");
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (let piece = await this.some(); piece; piece = await this.some()) yield piece;
    } finally {
      this.close();
    }
  }

  /** Lines of JSON; empty ones are signs of life. */
  async *lines(most = 64 * 1024 * 1024): AsyncGenerator<unknown, void, undefined> {
    let rest: Buffer[] = [];
    let size = 0;
    for await (const piece of this) {
      let from = 0;
      for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, from)) {
        const line = Buffer.concat([...rest, piece.subarray(from, end)]).toString("utf8");
        rest = [];
        size = 0;
        from = end + 1;
        if (line.trim()) yield JSON.parse(line);
      }
      rest.push(Buffer.from(piece.subarray(from)));
      size += piece.length - from;
      if (size > most) throw new TooLargeError(`a line has more than ${most} bytes`, { code: "too_large", stage: "client" });
    }
    if (size > 0) throw lost(undefined);
  }

  /** What has not been read is given up, and the daemon notices. */
  close(): void {
    this.message.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}

export function lost(cause: unknown): ConnectionLostError {
  const why = cause instanceof Error ? cause.message : "it ended before the answer was complete";
  return new ConnectionLostError(`the connection to the daemon broke: ${why}`, {
    code: "unavailable",
    stage: "client",
    hint: "ask again, if asking twice does no harm",
    cause,
  });
}

/** What Node says, in words of ours. */
function told(error: unknown, patience: Patience): unknown {
  if (patience.signal?.aborted) return patience.signal.reason;
  if (error instanceof AtollError) return error;
  if (error instanceof Error && "code" in error) {
    if (!String(error.code).startsWith("HPE_")) return lost(error);
    const hint = "is it a daemon of Atoll that listens there?";
    return new InternalError(`the answer is not HTTP: ${error.message}`, { stage: "client", hint, cause: error });
  }
  return error;
}

export class Transport {
  private readonly agent: http.Agent;

  constructor(
    readonly target: Target,
    readonly timeoutMs: number,
    private readonly retries: number,
    tls: https.AgentOptions = {},
  ) {
    if (target.socket) this.agent = new SocketAgent(target.socket);
    else if (target.secure) this.agent = new https.Agent({ ...tls, keepAlive: true, maxFreeSockets: 8 });
    else this.agent = new http.Agent({ keepAlive: true, maxFreeSockets: 8 });
  }

  patience(waiting: Waiting, whole: boolean): Patience {
    return new Patience(waiting.timeoutMs ?? this.timeoutMs, whole, waiting.signal);
  }

  /** The whole answer. The time holds for all of it, but for each silence where bytes go there or back. */
  async call<Name extends keyof Operations>(name: Name, question: Question = {}): Promise<Operations[Name]["answer"]> {
    const kind = operations[name].answer;
    if (kind === "socket") throw new TypeError(`${name} answers with a connection: use pty(), attach() or ports.dial()`);
    const whole = kind !== "bytes" && typeof question.body !== "string" && !isStream(question.body);
    const patience = this.patience(question, whole);
    if (kind === "bytes") {
      return (await this.ask(name, question, patience, (answer) => answer.bytes())) as Operations[Name]["answer"];
    }
    const text = await this.ask(name, question, patience, (answer) => answer.text());
    return (text ? JSON.parse(text) : undefined) as Operations[Name]["answer"];
  }

  /** The answer, its body still to be read. The time holds for each silence. */
  open(name: keyof Operations, question: Question = {}): Promise<Answer> {
    return this.ask(name, question, this.patience(question, false), async (answer) => answer);
  }

  /** Until it is answered, and the answer used, or it may not be asked again. */
  private async ask<T>(
    name: keyof Operations,
    question: Question,
    patience: Patience,
    use: (answer: Answer) => Promise<T>,
  ): Promise<T> {
    const header: Record<string, string> = {};
    for (const [field, value] of Object.entries(question.header ?? {})) {
      if (value !== undefined && value !== null) header[field] = spell(value);
    }
    let body = question.body;
    if (typeof body === "string") body = Buffer.from(body);
    else if (typeof body === "object" && body !== null && !isStream(body)) {
      body = Buffer.from(JSON.stringify(body));
      header["Content-Type"] ??= "application/json";
    }
    const method = operations[name].method;
    // Something that can be sent twice, and that the daemon does once however often it is sent.
    const again = body === undefined || isBytes(body);
    const harmless = again && (method === "GET" || method === "HEAD" || "Idempotency-Key" in header);
    const path = targetOf(name, question.path, question.query);
    let pause = FIRST_PAUSE_MS;
    for (let attempt = 1; ; attempt++, pause *= 4) {
      try {
        const message = await this.once(method, path, header, body as Source | undefined, patience);
        const answer = new Answer(message, patience);
        if (answer.status < 300 || answer.status === 304) return await use(answer);
        throw fromAnswer(answer.status, answer.header("retry-after"), await answer.text());
      } catch (error) {
        const wait = error instanceof AtollError ? pauseAfter(error, pause, again, harmless) : undefined;
        if (wait === undefined || attempt > this.retries || wait >= patience.remaining()) throw error;
        await sleep(wait, patience.signal);
      }
    }
  }

  private request(method: string, path: string, header: http.OutgoingHttpHeaders, agent: http.Agent): http.ClientRequest {
    const { target } = this;
    for (const [name, value] of Object.entries(header)) {
      if (/[\r\n\0]/.test(String(value))) throw new RangeError(`${name}: a header field is one line`);
    }
    return (target.secure ? https : http).request({
      agent,
      method,
      path: target.prefix + path,
      ...(target.socket ? {} : { host: target.host, port: target.port }),
      headers: {
        ...(target.socket ? { Host: "atoll" } : {}),
        "User-Agent": `atoll-typescript/${VERSION}`,
        ...(target.key ? { Authorization: `Bearer ${target.key}` } : {}),
        ...header,
      },
    });
  }

  private once(
    method: string,
    path: string,
    header: Record<string, string>,
    body: Source | undefined,
    patience: Patience,
  ): Promise<http.IncomingMessage> {
    const length = isBytes(body) ? { "Content-Length": body.length } : {};
    return this.wait(() => this.request(method, path, { ...header, ...length }, this.agent), patience, (request, done) => {
      request.once("response", done);
      if (body === undefined || isBytes(body)) request.end(body);
      // A body that breaks off breaks the request off; who answers before all of it has come has answered.
      else pipeline(Readable.from(body as AsyncIterable<Uint8Array>), request).catch((error: Error) => request.destroy(error));
    });
  }

  /** Until `begin` says that there is an answer, within the time, unless somebody aborts; which may also come later. */
  private wait<T>(
    make: () => http.ClientRequest,
    patience: Patience,
    begin: (request: http.ClientRequest, done: (result: T) => void) => void,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      patience.signal?.throwIfAborted();
      let request: http.ClientRequest;
      try {
        request = make();
      } catch (error) {
        reject(this.connectionError(error as NodeJS.ErrnoException, patience)); // the directory of a socket is not there
        return;
      }
      const stop = patience.watch((error) => request.destroy(error));
      const abort = () => request.destroy(patience.signal?.reason as Error);
      patience.signal?.addEventListener("abort", abort, { once: true });
      request.once("close", () => patience.signal?.removeEventListener("abort", abort));
      request.on("error", (error: NodeJS.ErrnoException) => {
        stop();
        reject(this.connectionError(error, patience));
      });
      begin(request, (result) => {
        stop();
        resolve(result);
      });
    });
  }

  private connectionError(error: NodeJS.ErrnoException, patience: Patience): unknown {
    const nobody = ["ECONNREFUSED", "ENOENT", "EACCES", "ENOTFOUND", "EHOSTUNREACH", "ENETUNREACH", "EAI_AGAIN"];
    if (!patience.signal?.aborted && error.code !== undefined && nobody.includes(error.code)) {
      return new UnavailableError(`no daemon answers on ${describeTarget(this.target)}: ${error.message}`, {
        code: "unavailable",
        stage: "connect",
        hint: "start one with: atoll serve   (or name another: ATOLL_URL)",
        retryable: true,
        cause: error,
      });
    }
    return told(error, patience);
  }

  /** A connection that is no longer HTTP, and the fields of the answer that said so. */
  async upgrade(
    name: keyof Operations,
    protocol: string,
    question: Question,
  ): Promise<{ socket: net.Socket; headers: http.IncomingHttpHeaders }> {
    const patience = this.patience(question, true);
    const header = { ...(question.header as Record<string, string>), Upgrade: protocol, Connection: "Upgrade" };
    const path = targetOf(name, question.path, question.query);
    type Outcome = { socket?: net.Socket; message: http.IncomingMessage };
    const outcome = await this.wait<Outcome>(
      () => this.request(operations[name].method, path, header, this.agent),
      patience,
      (request, done) => {
        request.once("upgrade", (message, socket: net.Socket, head: Buffer) => {
          if (head.length > 0) socket.unshift(head);
          socket.setTimeout(0);
          done({ socket, message });
        });
        request.once("response", (message) => done({ message }));
        request.end();
      },
    );
    if (outcome.socket) return { socket: outcome.socket, headers: outcome.message.headers };
    const answer = new Answer(outcome.message, patience);
    if (answer.status < 300) {
      answer.close();
      throw new InternalError("the answer is not that of an upgrade", { stage: "client" });
    }
    throw fromAnswer(answer.status, answer.header("retry-after"), await answer.text());
  }

  close(): void {
    this.agent.destroy();
  }
}

/** How long to wait until it is tried again; undefined when it may not be. */
function pauseAfter(error: AtollError, pause: number, again: boolean, harmless: boolean): number | undefined {
  if (error instanceof ConnectionLostError) return harmless ? pause : undefined;
  if (error instanceof UnavailableError && error.stage === "connect") return again ? pause : undefined;
  if (error.status === 429 && error.retryAfter !== undefined) {
    return again ? Math.max(error.retryAfter * 1000, pause) : undefined;
  }
  if (error.status === 503 && error.retryable) {
    return harmless ? Math.max((error.retryAfter ?? 0) * 1000, pause) : undefined;
  }
  return undefined;
}
