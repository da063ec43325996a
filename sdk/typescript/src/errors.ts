// What can go wrong, one class for each family of codes.
//
// A command that fails is no error: its Result says how it ended, unless check() is asked to throw CommandFailedError.
import type { Stage } from "./models.js";
import type { Result } from "./results.js";

export interface ErrorFields {
  /** For programs to branch on. */
  code?: string;
  /** What helps. */
  hint?: string;
  /** Where it failed; "client" and "connect" are on this side. */
  stage?: string;
  status?: number;
  retryable?: boolean;
  /** To be found in the daemon's log. */
  requestId?: string;
  traceId?: string;
  /** Seconds. */
  retryAfter?: number | undefined;
  /** Of a sandbox that could not be made: its id, and how far it came, the failed stage last. */
  sandbox?: string;
  stages?: Stage[];
  cause?: unknown;
}

export class AtollError extends Error {
  readonly detail: string;
  readonly code: string;
  readonly hint: string;
  readonly stage: string;
  readonly status: number;
  readonly retryable: boolean;
  readonly requestId: string;
  readonly traceId: string;
  readonly retryAfter: number | undefined;
  readonly sandbox: string;
  readonly stages: Stage[];

  constructor(detail: string, fields: ErrorFields = {}) {
    super(fields.hint ? `${detail} (${fields.hint})` : detail, { cause: fields.cause });
    this.name = new.target.name;
    this.detail = detail;
    this.code = fields.code ?? "internal";
    this.hint = fields.hint ?? "";
    this.stage = fields.stage ?? "";
    this.status = fields.status ?? 0;
    this.retryable = fields.retryable ?? false;
    this.requestId = fields.requestId ?? "";
    this.traceId = fields.traceId ?? "";
    this.retryAfter = fields.retryAfter;
    this.sandbox = fields.sandbox ?? "";
    this.stages = fields.stages ?? [];
  }
}

/** The request makes no sense: invalid_argument, method_not_allowed, range_not_satisfiable. */
export class InvalidArgumentError extends AtollError {}
/** No key, or one that is not valid. */
export class UnauthenticatedError extends AtollError {}
/** The key is valid and does not give this right. */
export class PermissionDeniedError extends AtollError {}
/** It is not there, or not for this key to see. */
export class NotFoundError extends AtollError {}
/** It is not in a state for that: already_exists, conflict, precondition_failed, idempotency_mismatch. */
export class ConflictError extends AtollError {}
/** The driver cannot do this; the hint names drivers that can. */
export class UnsupportedError extends AtollError {}
/** More than a request, an answer or a file may have. */
export class TooLargeError extends AtollError {}
/** A limit on requests, sandboxes or space is reached: resource_exhausted, out_of_space. */
export class ResourceExhaustedError extends AtollError {}
/** Nobody can do it now. Also when no daemon answers. */
export class UnavailableError extends AtollError {}
/** The connection broke; whether the request was carried out is not known. */
export class ConnectionLostError extends UnavailableError {}
/** It took too long, here (`stage` is "client") or at the daemon. */
export class DeadlineExceededError extends AtollError {}
/** It was ended before it was done. */
export class CancelledError extends AtollError {}
/** A fault of the daemon, or an answer that makes no sense. */
export class InternalError extends AtollError {}

/** Thrown by Result.check(): the command did not end with exit code 0. */
export class CommandFailedError extends AtollError {
  readonly result: Result;

  constructor(result: Result) {
    const said = (result.stderr.trim() || result.stdout.trim()).slice(-500);
    super(`the command ended with exit code ${result.exitCode} (${result.reason})${said ? `: ${said}` : ""}`, {
      code: `command_${result.reason}`,
      stage: "command",
      requestId: result.requestId,
    });
    this.result = result;
  }
}

type Family = new (detail: string, fields?: ErrorFields) => AtollError;

const families: Record<string, Family> = {
  invalid_argument: InvalidArgumentError,
  method_not_allowed: InvalidArgumentError,
  range_not_satisfiable: InvalidArgumentError,
  unauthenticated: UnauthenticatedError,
  permission_denied: PermissionDeniedError,
  not_found: NotFoundError,
  already_exists: ConflictError,
  conflict: ConflictError,
  precondition_failed: ConflictError,
  idempotency_mismatch: ConflictError,
  unsupported: UnsupportedError,
  too_large: TooLargeError,
  resource_exhausted: ResourceExhaustedError,
  out_of_space: ResourceExhaustedError,
  unavailable: UnavailableError,
  deadline_exceeded: DeadlineExceededError,
  cancelled: CancelledError,
  internal: InternalError,
};

// For an answer without a code of ours, which somebody on the way has given.
const byStatus: Record<number, string> = {
  400: "invalid_argument",
  401: "unauthenticated",
  403: "permission_denied",
  404: "not_found",
  409: "conflict",
  412: "precondition_failed",
  413: "too_large",
  429: "resource_exhausted",
  502: "unavailable",
  503: "unavailable",
  504: "deadline_exceeded",
};

/** What a problem of the API may have; anything else in it is ignored. */
export interface ProblemLike {
  code?: string;
  detail?: string;
  title?: string;
  hint?: string;
  stage?: string;
  status?: number;
  retryable?: boolean;
  request_id?: string;
  trace_id?: string;
  sandbox?: string;
  stages?: Stage[];
}

/** The error that a problem stands for. A code that is new is told as it is. */
export function fromProblem(problem: ProblemLike, status = 0, retryAfter?: number): AtollError {
  const code = problem.code ?? "internal";
  const family = families[code] ?? AtollError;
  return new family(problem.detail ?? problem.title ?? code, {
    code,
    hint: problem.hint ?? "",
    stage: problem.stage ?? "",
    status: problem.status ?? status,
    retryable: problem.retryable ?? false,
    requestId: problem.request_id ?? "",
    traceId: problem.trace_id ?? "",
    retryAfter,
    sandbox: problem.sandbox ?? "",
    stages: problem.stages ?? [],
  });
}

export function fromAnswer(status: number, retryAfter: string | undefined, body: string): AtollError {
  const wait = retryAfter !== undefined && /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined;
  try {
    const problem = JSON.parse(body) as ProblemLike | null;
    if (problem && typeof problem === "object" && typeof problem.code === "string") {
      return fromProblem(problem, status, wait);
    }
  } catch {
    // Not JSON: somebody else's answer.
  }
  return fromProblem(
    {
      code: byStatus[status] ?? "internal",
      detail: `the answer was ${status}: ${body.slice(0, 200).trim()}`,
      hint: "this is not an answer of Atoll's; is there a proxy on the way?",
    },
    status,
    wait,
  );
}
