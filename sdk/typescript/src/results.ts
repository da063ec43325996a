// How commands are asked for, and how they ended.
import { CommandFailedError, fromProblem, type AtollError } from "./errors.js";
import type { BatchRun, Exec, ExecResult, Stage, Usage } from "./models.js";
import type { Waiting } from "./patience.js";

/** A string is run by /bin/sh; a list is a program and its arguments. */
export type Command = string | readonly string[];

export const DEFAULT_TIMEOUT_MS = 600_000;
const LONGEST_MS = 2_592_000_000;
// A daemon that is asked to end a command after some time gets so much longer to say that it did.
const GRACE_MS = 30_000;
// And so much for packages that it has to install before.
const INSTALLATION_MS = 300_000;

export interface CommandOptions extends Waiting {
  env?: Record<string, string>;
  cwd?: string;
  user?: string;
  /** All that it reads; it sees the end of it then. */
  stdin?: string | Uint8Array;
  /** Of the processors, for everything that the command started. */
  cpuTimeMs?: number;
  /** Bytes in all after which it is killed. */
  outputLimit?: number;
  /** What is kept of each stream in an answer that comes whole. */
  maxOutputBytes?: number;
  /** Whether an interpreter that waits may serve it. */
  warm?: boolean;
}

const COMMAND_OPTIONS = [
  "env",
  "cwd",
  "user",
  "stdin",
  "cpuTimeMs",
  "outputLimit",
  "maxOutputBytes",
  "warm",
  "timeoutMs",
  "signal",
];

/** JavaScript has no compiler that would notice `timeout` instead of `timeoutMs`, and a limit that is lost is dangerous. */
function refuseUnknown(options: object, known: readonly string[]): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || known.includes(name)) continue;
    throw new TypeError(`there is no option ${name} here; there are ${known.join(", ")}`);
  }
}

/**
 * What the API takes. `timeoutMs` is the command's: it is killed then, with everything that it started. `more` are the
 * options that the caller takes itself.
 */
export function execOf(command: Command | undefined, options: CommandOptions, more: readonly string[] = []): Exec {
  refuseUnknown(options, [...COMMAND_OPTIONS, ...more]);
  const timeout = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  if (!(timeout > 0)) throw new RangeError(`timeoutMs: ${timeout} is no time for a command; Infinity is no limit`);
  const { stdin } = options;
  return {
    ...(typeof command === "string" ? { command } : command ? { argv: [...command] } : {}),
    ...(options.env ? { env: options.env } : {}),
    ...(options.cwd !== undefined ? { cwd: options.cwd } : {}),
    ...(options.user !== undefined ? { user: options.user } : {}),
    ...(typeof stdin === "string" ? { stdin } : stdin ? { stdin_b64: Buffer.from(stdin).toString("base64") } : {}),
    ...(timeout !== Infinity ? { timeout_ms: Math.min(Math.max(1, Math.round(timeout)), LONGEST_MS) } : {}),
    ...(options.cpuTimeMs !== undefined ? { cpu_time_ms: options.cpuTimeMs } : {}),
    ...(options.outputLimit !== undefined ? { output_limit: options.outputLimit } : {}),
    ...(options.maxOutputBytes !== undefined ? { max_output_bytes: options.maxOutputBytes } : {}),
    ...(options.warm !== undefined ? { warm: options.warm } : {}),
  };
}

/** How long the answer to a command is waited for. */
export function waitFor(options: CommandOptions & { requirements?: string[] }): Waiting {
  const before = options.requirements?.length ? INSTALLATION_MS : 0;
  return { signal: options.signal, timeoutMs: before + (options.timeoutMs ?? DEFAULT_TIMEOUT_MS) + GRACE_MS };
}

/** How a command ended. */
export class Result {
  readonly exitCode: number;
  /** exited, signaled, timeout, oom, killed, policy or infra. */
  readonly reason: string;
  readonly signal: number;
  /** The limit of the request that ended it: wall_time, cpu_time or output. */
  readonly limit: string;
  readonly stdoutBytes: Uint8Array;
  readonly stderrBytes: Uint8Array;
  readonly durationMs: number;
  /** Output is missing. */
  readonly truncated: boolean;
  readonly usage: Usage;
  readonly warm: boolean;
  /** False when the guest could have forged this. */
  readonly attested: boolean;
  readonly process: number;
  readonly pid: number;
  readonly requestId: string;
  /** Of a run, as the next two. */
  readonly driver: string;
  readonly isolation: string;
  readonly stages: Stage[];

  constructor(answer: Partial<ExecResult>) {
    this.exitCode = answer.exit_code ?? 125;
    this.reason = answer.reason ?? "infra";
    this.signal = answer.signal ?? 0;
    this.limit = answer.limit ?? "";
    this.stdoutBytes = bytesOf(answer.stdout, answer.stdout_b64);
    this.stderrBytes = bytesOf(answer.stderr, answer.stderr_b64);
    this.durationMs = answer.duration_ms ?? 0;
    this.truncated = answer.truncated ?? false;
    this.usage = answer.usage ?? {};
    this.warm = answer.warm ?? false;
    this.attested = answer.attested ?? true;
    this.process = answer.process ?? 0;
    this.pid = answer.pid ?? 0;
    this.requestId = answer.request_id ?? "";
    this.driver = answer.driver ?? "";
    this.isolation = answer.isolation ?? "";
    this.stages = answer.stages ?? [];
  }

  get ok(): boolean {
    return this.reason === "exited" && this.exitCode === 0;
  }

  /** As text; what is not UTF-8 is replaced. */
  get stdout(): string {
    return Buffer.from(this.stdoutBytes).toString("utf8");
  }

  get stderr(): string {
    return Buffer.from(this.stderrBytes).toString("utf8");
  }

  /** Itself, if the command ended with exit code 0; otherwise it throws CommandFailedError. */
  check(): this {
    if (!this.ok) throw new CommandFailedError(this);
    return this;
  }
}

function bytesOf(text: string | undefined, base64: string | undefined): Uint8Array {
  return base64 !== undefined ? Buffer.from(base64, "base64") : Buffer.from(text ?? "");
}

/** One of many runs: a result, or the error that kept it from being made. */
export interface BatchResult {
  index: number;
  attempts: number;
  result?: Result;
  error?: AtollError;
}

export function batchResultOf(answer: BatchRun): BatchResult {
  const { index = 0, attempts = 1, problem } = answer;
  if (problem) return { index, attempts, error: fromProblem(problem) };
  return { index, attempts, result: new Result(answer as Partial<ExecResult>) };
}

/** A piece of what a command says, as it comes. */
export interface Output {
  type: "output";
  stream: "stdout" | "stderr";
  data: Uint8Array;
  /** Of its first byte, from the beginning of the stream. */
  offset: number;
  /** A character that is torn apart is in the next piece. */
  text: string;
}

/** Bytes that are no longer kept. */
export interface Gap {
  type: "gap";
  stream: "stdout" | "stderr";
  from: number;
  to: number;
}
