// Generated from docs/openapi.yaml by sdk/generate.py. Change those.
// What the API takes and tells. More fields may come; ignore them.

/**
 * `admin`: everything. `member`: all sandboxes of its tenant. `viewer`: what there is in its tenant
 * and how it does, no contents, no changes. `agent`: makes sandboxes in its tenant and sees those
 * that it made.
 */
export type Role = "admin" | "member" | "viewer" | "agent";

/** What a call is for; `x-action` of each operation names the one that it needs. */
export type Action =
  | "open"
  | "know"
  | "survey"
  | "measure"
  | "look"
  | "read"
  | "use"
  | "manage"
  | "create"
  | "delegate"
  | "administer";

/** Ordered, weakest first. */
export type Isolation = "none" | "process" | "container" | "sentry" | "vm";

/** On this host, on machines of the operator's, or at somebody else's. */
export type Placement = "host" | "own" | "third_party";

export type State =
  | "pending"
  | "starting"
  | "running"
  | "paused"
  | "stopping"
  | "stopped"
  | "destroyed"
  | "failed";

/** One line each. The last is exit, or error when something other than the command failed. */
export type ExecEvent =
  | ExecEventStart
  | ExecEventStdoutStderr
  | ExecEventGap
  | ExecEventExit
  | ExecEventError;

/**
 * Frames of 8 bytes (u8 kind, three zero bytes, u32 big-endian length) and `length` bytes. Kinds: 0
 * start (JSON), 1 stdout, 2 stderr (raw bytes), 3 exit (JSON), 4 gap (JSON), 5 error (JSON, a
 * problem). The last is 3 or 5.
 */
export type ExecFrames = string;

export type CreateSandboxBody = CreateSandbox;

export type CreateSandboxAnswer = Sandbox;

export type ExplainSandboxBody = CreateSandbox;

export type GetSandboxAnswer = Sandbox;

export type PatchSandboxAnswer = Sandbox;

export type StopSandboxBody = Record<string, unknown>;

export type StopSandboxAnswer = Sandbox;

export type StartSandboxBody = Record<string, unknown>;

export type StartSandboxAnswer = Sandbox;

export type RecreateSandboxBody = Record<string, unknown>;

export type RecreateSandboxAnswer = Sandbox;

export type RenewSandboxAnswer = Sandbox;

export type PauseSandboxBody = Record<string, unknown>;

export type PauseSandboxAnswer = Sandbox;

export type ResumeSandboxBody = Record<string, unknown>;

export type ResumeSandboxAnswer = Sandbox;

export type ResizeSandboxBody = Resources;

export type ResizeSandboxAnswer = Sandbox;

export type ExecBody = Exec;

export type ExecAnswer = ExecResult;

export type RunAnswer = ExecResult;

export type WriteFileAnswer = FileInfo | WriteFileAnswer2;

export type StatFileAnswer = FileInfo;

export type AttachOutputAnswer = ExecResult;

export type ResizeProcessBody = Terminal;

export type LimitsAnswer = Limits;

export type GetTraceAnswer = Trace;

export interface Trace {
  trace_id: string;
  started_at: string;
  /** Their X-Request-Id. */
  requests: string[];
  sandboxes: string[];
  /** Not kept, because a request has at most 1,000. */
  dropped_spans: number;
  spans: TraceSpansItem[];
}

export interface TraceSpansItem {
  span_id: string;
  /** Of the request itself, the span of your traceparent. */
  parent_span_id?: string;
  /** A stage, or method and route. */
  name: string;
  /** Since started_at. */
  offset_ms: number;
  duration_ms: number;
  /** The code that it failed with. */
  error?: string;
  attributes: Record<string, string | number | boolean>;
}

export interface Key {
  id: string;
  tenant: string;
  role: Role;
  label: string;
  created_at: string;
  expires_at: string | null;
  /** To the minute. */
  last_used_at: string | null;
}

export interface Limits {
  /** Of the tenant, at a time; not told to a token. */
  sandboxes?: number;
  /** How many there are. */
  sandboxes_now?: number;
  requests_per_s?: number | null;
  /** At once, after a pause. */
  requests_burst?: number | null;
  ttl_s?: number;
  ttl_default_s?: number;
  token_ttl_s?: number;
  timeout_ms?: number;
  /** Of a JSON body. */
  json_bytes?: number;
  /** Of the body of exec. */
  exec_json_bytes?: number;
  /** Of the body of sandboxes and runs, which may have files in it. */
  create_json_bytes?: number;
  initial_files?: number;
  batch_json_bytes?: number;
  batch_runs?: number;
  batch_concurrency?: number;
  batch_attempts?: number;
  upload_bytes?: number;
  /** Of each stream, in an answer that comes whole. */
  output_bytes?: number;
  output_default_bytes?: number;
  labels?: number;
  env_variables?: number;
  env_bytes?: number;
  arguments?: number;
  argument_bytes?: number;
  /** 0 where directories of the host are not given. */
  host_dirs?: number;
}

export interface Resources {
  /** Cores. */
  cpu?: number;
  /** MiB. */
  memory_mb?: number;
  pids?: number;
  /** MiB. On native, more than 1024 or half of memory_mb is on disk. */
  disk_mb?: number;
  /** Its part of busy processors; 100 is usual. Makes the sandbox burstable. */
  cpu_weight?: number;
  /**
   * Whose the processors are. shared: everybody's, in equal parts under load. burstable: by
   * `cpu_weight` under load, with `cpu` as a ceiling if it is given. dedicated: `cpu` whole
   * processors are this sandbox's alone, and `memory_mb` is kept for it. Settled when the sandbox
   * is made.
   */
  sharing?: "shared" | "burstable" | "dedicated";
}

export interface Stage {
  name: string;
  ms: number;
}

export interface CreateSandbox {
  /** Absent: the first that is strong enough. */
  driver?: string;
  profile?: string;
  name?: string;
  user_id?: string;
  /** When it ends by itself. Absent: as the daemon is configured. */
  ttl_s?: number;
  /** It also ends when nobody has used it for so long. */
  idle_s?: number;
  labels?: Record<string, string>;
  /** For every command. Never stored or told. */
  env?: Record<string, string>;
  resources?: Resources;
  min_isolation?: Isolation;
  /** An alias of min_isolation. */
  isolation_level?: Isolation;
  placement?: Placement;
  /**
   * Directories of the daemon's host. Only over the Unix socket, from the daemon's own user or
   * root.
   */
  host_dirs?: CreateSandboxHostDirsItem[];
  /**
   * A directory of the daemon's host as the root file system, copied on write. Absolute; given like
   * `host_dirs`.
   */
  rootfs?: string;
  /**
   * An interpreter that is started ahead and waits for the first command, if that is a plain call
   * of it. Where the driver cannot do that, nothing happens. A run needs not say it.
   */
  warm?: "python3" | "node";
  /** As whom commands run that do not say. */
  user?: string;
  /** Where commands run that do not say. Absent: the workspace. */
  cwd?: string;
  /** Text files that it has from the beginning, by path; a relative path is below the workspace. */
  files?: Record<string, string>;
  /** The same for bytes, in base64. */
  files_b64?: Record<string, string>;
}

export interface CreateSandboxHostDirsItem {
  /** Absolute. */
  path: string;
  /** Absolute in the sandbox. Absent: the same path. */
  guest_path?: string;
  access: "ro" | "rw" | "cow";
  /** It is the workspace itself. */
  workspace?: boolean;
}

export interface Sandbox {
  id: string;
  /** Empty when it has none. */
  name: string;
  /** Whose it is; names are unique within it. */
  tenant: string;
  /** Who made it: a key's id, `uid:N`, or `socket`. */
  owner: string;
  state: State;
  driver: string;
  isolation: Isolation;
  placement: Placement;
  profile: string;
  user_id?: string;
  labels: Record<string, string>;
  resources: Resources;
  /** Of commands that name none, when it was given. */
  user?: string;
  /** Of commands that name none, when it was given. */
  cwd?: string;
  created_at: string;
  expires_at: string | null;
  idle_s?: number;
  last_active_at: string;
  /** Why it failed, when it did. */
  failure?: string;
  /** Where the time of its creation went. */
  stages: Stage[];
}

export interface Terminal {
  rows?: number;
  cols?: number;
}

/** Exactly one of argv and command. */
export interface Exec {
  argv?: string[];
  /** Run as /bin/sh -c. */
  command?: string;
  /** Over the sandbox's own. */
  env?: Record<string, string>;
  /** Relative to the workspace. Absent: the workspace. */
  cwd?: string;
  user?: string;
  stdin?: string;
  stdin_b64?: string;
  /** Leave stdin open for POST …/processes/{process}/stdin. */
  stdin_open?: boolean;
  /**
   * A terminal instead of pipes. Stdin is open unless `stdin_open` is false, and all output is
   * stdout.
   */
  tty?: Terminal;
  /** The whole tree is killed then. 0 is none. */
  timeout_ms?: number;
  /**
   * The whole tree is killed once it has used so much processor time; whole seconds for each
   * process where limits.cpu_time is per_process. 0 is none.
   */
  cpu_time_ms?: number;
  /** Bytes in all after which it is killed. 0 is none. */
  output_limit?: number;
  /** What the JSON answer keeps of each stream, from its beginning. */
  max_output_bytes?: number;
  /** Whether an interpreter that waits may serve it. */
  warm?: boolean;
}

export interface Usage {
  cpu_ms?: number;
  cpu_user_ms?: number;
  cpu_system_ms?: number;
  peak_memory_bytes?: number;
  stdout_bytes?: number;
  stderr_bytes?: number;
  /** Whose use it is: of what was waited for, or of the whole cgroup. */
  scope?: "waited" | "cgroup";
}

export interface Exit {
  /** The program's own; 124 timeout, 125 infra, 126 policy, 128+N signal N. */
  exit_code: number;
  signal?: number;
  reason: "exited" | "signaled" | "timeout" | "oom" | "killed" | "policy" | "infra";
  /** The limit of the request that ended it, if one did. */
  limit?: "wall_time" | "cpu_time" | "output";
  duration_ms: number;
  /** Output is missing. */
  truncated: boolean;
  usage: Usage;
  /** There only when the guest could have forged this. */
  attested?: false;
  /** There only when an interpreter served it that was running already. */
  warm?: true;
}

export interface ExecResult {
  /** The program's own; 124 timeout, 125 infra, 126 policy, 128+N signal N. */
  exit_code: number;
  signal?: number;
  reason: "exited" | "signaled" | "timeout" | "oom" | "killed" | "policy" | "infra";
  /** The limit of the request that ended it, if one did. */
  limit?: "wall_time" | "cpu_time" | "output";
  duration_ms: number;
  /** Output is missing. */
  truncated: boolean;
  usage: Usage;
  /** There only when the guest could have forged this. */
  attested?: false;
  /** There only when an interpreter served it that was running already. */
  warm?: true;
  stdout?: string;
  /** Instead of stdout when that is not UTF-8. */
  stdout_b64?: string;
  stderr?: string;
  stderr_b64?: string;
  process?: number;
  pid?: number;
  request_id: string;
  /** Of a run. */
  driver?: string;
  /** Of a run. */
  isolation?: Isolation;
  /** Of a run. */
  stages?: Stage[];
}

/**
 * One run of a batch; in a stream with `type` `run`. The last line has `type` `end` and the counts.
 */
export interface BatchRun {
  type?: "run" | "end";
  /** Its place in the request, from 0. */
  index?: number;
  attempts?: number;
  /** Instead of everything below. */
  problem?: Problem;
  stdout?: string;
  stdout_b64?: string;
  stderr?: string;
  stderr_b64?: string;
  exit_code?: number;
  reason?: string;
  driver?: string;
}

export interface ExecEventStart {
  type: "start";
  sandbox: string;
  process: number;
  pid: number;
  request_id: string;
}

export interface ExecEventStdoutStderr {
  type: "stdout" | "stderr";
  /** Of the first byte, from the beginning of the stream. */
  offset: number;
  data?: string;
  /** Instead of data when that is not UTF-8. */
  data_b64?: string;
}

/** Bytes that are no longer kept. */
export interface ExecEventGap {
  type: "gap";
  stream: "stdout" | "stderr";
  from: number;
  to: number;
}

export interface ExecEventExit {
  /** The program's own; 124 timeout, 125 infra, 126 policy, 128+N signal N. */
  exit_code: number;
  signal?: number;
  reason: "exited" | "signaled" | "timeout" | "oom" | "killed" | "policy" | "infra";
  /** The limit of the request that ended it, if one did. */
  limit?: "wall_time" | "cpu_time" | "output";
  duration_ms: number;
  /** Output is missing. */
  truncated: boolean;
  usage: Usage;
  /** There only when the guest could have forged this. */
  attested?: false;
  /** There only when an interpreter served it that was running already. */
  warm?: true;
  stdout?: string;
  /** Instead of stdout when that is not UTF-8. */
  stdout_b64?: string;
  stderr?: string;
  stderr_b64?: string;
  process?: number;
  pid?: number;
  request_id: string;
  /** Of a run. */
  driver?: string;
  /** Of a run. */
  isolation?: Isolation;
  /** Of a run. */
  stages?: Stage[];
  type: "exit";
}

export interface ExecEventError {
  type: "error";
  problem: Problem;
}

export interface FileInfo {
  name?: string;
  /** Instead of name when that is not UTF-8. */
  name_b64?: string;
  path?: string;
  path_b64?: string;
  kind: "file" | "directory" | "symlink" | "other";
  size: number;
  mode: string;
  uid: number;
  gid: number;
  modified_at: string;
  link_target?: string;
  link_target_b64?: string;
  /** Another one whenever the file has changed; what `ETag` says, with its quotes. */
  etag?: string;
}

export interface Process {
  process: number;
  /** As the sandbox sees it. */
  pid: number;
  argv: string[];
  /** There when some argument is not UTF-8. */
  argv_b64?: string[];
  cwd?: string;
  cwd_b64?: string;
  started_at: string;
  running: boolean;
  stdout: Kept;
  stderr: Kept;
  /** When it no longer runs. */
  exit?: Exit;
}

/** What is still kept of a stream, as offsets from its beginning. */
export interface Kept {
  first: number;
  end: number;
}

export interface Event {
  id: string;
  /** `sandbox.` and the state, or `reset`. */
  type: string;
  at?: string;
  sandbox?: string;
  name?: string;
  driver?: string;
  from?: string;
  state?: string;
  run?: boolean;
  reason?: string;
}

export interface Driver {
  name: string;
  summary: string;
  available: boolean;
  unavailable_because?: string;
  /** What would make it available. */
  hint?: string;
  /** What was probed, when it is available. */
  capabilities?: DriverCapabilities;
}

/** What was probed, when it is available. */
export interface DriverCapabilities {
  isolation?: Isolation;
  placement?: Placement;
  /** cpu, memory, pids, disk, open_files, output, wall_time, cpu_time. */
  limits?: Record<string, "none" | "per_process" | "enforced">;
  kill_tree?: "best_effort" | "sure";
  network?: "none" | "deny" | "rules";
  pause?: "none" | "processes" | "memory";
  snapshot?: boolean;
  fork?: boolean;
  resize?: boolean;
  /** Whole processors and reserved memory for one sandbox. */
  dedicated?: boolean;
  pty?: boolean;
  watch?: boolean;
  ports?: boolean;
  gpu?: boolean;
  direct_stdio?: boolean;
  own_root?: boolean;
  /** A directory of the host can be the root file system. */
  root_dir?: boolean;
  /** And it makes no sandbox without one. */
  needs_root_dir?: boolean;
  /** Commands can run as any user of the sandbox. */
  users?: boolean;
  host_dir_ro?: boolean;
  host_dir_rw?: boolean;
  host_dir_cow?: boolean;
  max_lifetime_s?: number;
  /** US dollars. */
  price_per_hour?: number;
  typical_start_ms?: number;
  not_protected?: string[];
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  code:
    | "invalid_argument"
    | "unauthenticated"
    | "permission_denied"
    | "not_found"
    | "already_exists"
    | "conflict"
    | "unsupported"
    | "too_large"
    | "idempotency_mismatch"
    | "resource_exhausted"
    | "cancelled"
    | "internal"
    | "unavailable"
    | "deadline_exceeded"
    | "out_of_space"
    | "method_not_allowed"
    | "range_not_satisfiable";
  /** What failed, and why. */
  detail: string;
  /** Where: authenticate, authorize, route, request, intent, create, commit, exec, … */
  stage?: string;
  /** What helps. */
  hint?: string;
  retryable: boolean;
  request_id: string;
  trace_id: string;
}

export interface ListSandboxesAnswer {
  sandboxes: Sandbox[];
  /** Null when that was all. */
  next_cursor: string | null;
}

export interface ExplainSandboxAnswer {
  driver: string;
  isolation: Isolation;
  /** For people: a decision per line, in the order of execution. */
  plan: string;
}

export interface PatchSandboxBody {
  resources: Resources;
}

export interface SandboxStatsAnswer {
  processes: number;
  cpu_ms: number;
  memory_bytes: number;
  age_ms: number;
  /** Commands that are slowed down because they do nothing but run against a limit. */
  braked: number;
}

export interface RenewSandboxBody {
  /** Absent: as long as it was given at first. */
  ttl_s?: number;
}

export interface SnapshotSandboxBody {
  name?: string;
}

export interface SnapshotSandboxAnswer {
  snapshot: string;
}

export interface ForkSandboxBody {
  count?: number;
}

export interface ForkSandboxAnswer {
  sandboxes: Sandbox[];
}

export interface RunBody {
  sandbox?: CreateSandbox;
  exec?: Exec;
  /** Instead of a command. */
  code?: string;
  /**
   * Of `code`: python, javascript, bash, sh, perl, ruby, php, lua or r, by these and other common
   * names. The sandbox must have its program.
   */
  language?: string;
  /** As in CreateSandbox. */
  files?: Record<string, string>;
  /** As in CreateSandbox. */
  files_b64?: Record<string, string>;
  /** Packages that `code` needs, for python as pip names them, for javascript as npm does. */
  requirements?: string[];
}

export interface RunBatchBody {
  sandbox?: CreateSandbox;
  runs: Exec[];
  concurrency?: number;
  attempts?: number;
  retry_failures?: boolean;
}

export interface RunBatchAnswer {
  runs?: BatchRun[];
  succeeded?: number;
  /** Commands that did not end with exit code 0. */
  failed?: number;
  /** Runs that have a problem. */
  errors?: number;
}

export interface WriteFileAnswer2 {
  upload: string;
  offset: number;
}

export interface ListFilesAnswer {
  path?: string;
  path_b64?: string;
  entries: FileInfo[];
}

export interface MakeDirectoryBody {
  path?: string;
  path_b64?: string;
  /** Make missing parents; existing is fine then. */
  parents?: boolean;
}

export interface MoveFileBody {
  from?: string;
  from_b64?: string;
  to?: string;
  to_b64?: string;
}

export interface RemoveFileBody {
  path?: string;
  path_b64?: string;
  recursive?: boolean;
}

export interface UploadStatusAnswer {
  upload: string;
  offset: number;
}

export interface FindFilesAnswer {
  path?: string;
  path_b64?: string;
  entries: FileInfo[];
  /** There are more: a limit was reached. */
  truncated: boolean;
  seen: number;
  /** Could not be read, or lie too deep. */
  skipped: number;
}

export interface GrepFilesAnswer {
  path?: string;
  path_b64?: string;
  matches: GrepFilesAnswerMatchesItem[];
  truncated: boolean;
  seen: number;
  skipped: number;
}

export interface GrepFilesAnswerMatchesItem {
  path?: string;
  path_b64?: string;
  line: number;
  text?: string;
  text_b64?: string;
  /** The line goes on. */
  cut?: boolean;
}

export interface WriteArchiveAnswer {
  entries: number;
  bytes: number;
}

export interface WriteBatchBody {
  /** Text by path. */
  files?: Record<string, string>;
  entries?: WriteBatchBodyEntriesItem[];
  parents?: boolean;
}

export interface WriteBatchBodyEntriesItem {
  path?: string;
  path_b64?: string;
  text?: string;
  /** Instead of text. */
  b64?: string;
  mode?: string;
}

export interface WriteBatchAnswer {
  results: WriteBatchAnswerResultsItem[];
  written: number;
  failed: number;
}

export interface WriteBatchAnswerResultsItem {
  path?: string;
  path_b64?: string;
  ok: boolean;
  kind?: "file" | "directory" | "symlink" | "other";
  size?: number;
  etag?: string;
  code?: string;
  detail?: string;
  hint?: string;
}

export interface DiffSandboxAnswer {
  /** When the sandbox was made. */
  created_at: string;
  copies: DiffSandboxAnswerCopiesItem[];
  changes: DiffSandboxAnswerChangesItem[];
}

export interface DiffSandboxAnswerCopiesItem {
  /** In the sandbox; `path_b64` when it is not UTF-8. */
  path?: string;
  host_path?: string;
}

export interface DiffSandboxAnswerChangesItem {
  change: "added" | "modified" | "deleted";
  kind: "file" | "directory" | "symlink" | "other";
  /** In the sandbox. */
  path?: string;
  /** Instead of path, when that is not UTF-8. */
  path_b64?: string;
  size: number;
  /** Octal. */
  mode: string;
  /** Nanoseconds since 1970. */
  modified_ns: string;
  link_target?: string;
  link_target_b64?: string;
}

export interface ListProcessesAnswer {
  processes: Process[];
}

export interface SignalProcessBody {
  signal: number | string;
}

export interface MakeTokenBody {
  ttl_s?: number;
}

export interface MakeTokenAnswer {
  token: string;
  /** Its id. */
  sandbox: string;
  expires_at: string;
}

export interface ListKeysAnswer {
  keys: Key[];
}

export interface CreateKeyBody {
  role: Role;
  /** Absent: one's own. */
  tenant?: string;
  /** What it is for; one line. */
  label?: string;
  /** Absent: until it is revoked. */
  ttl_s?: number;
}

export interface CreateKeyAnswer {
  id: string;
  tenant: string;
  role: Role;
  label: string;
  created_at: string;
  expires_at: string | null;
  /** To the minute. */
  last_used_at: string | null;
  key: string;
}

export interface WhoAmIAnswer {
  tenant: string;
  /** A key's id, `uid:N`, `socket`, or `token:` and a sandbox's id. */
  subject: string;
  role?: Role;
  /** Instead of a role: the one that the token is for. */
  sandbox?: string;
  may: Action[];
}

export interface ListTracesAnswer {
  traces: ListTracesAnswerTracesItem[];
}

export interface ListTracesAnswerTracesItem {
  trace_id: string;
  request_id: string;
  started_at: string;
  /** Method and route; absent while the request is under way. */
  name?: string;
  duration_ms?: number;
  /** The code that it failed with. */
  error?: string;
  sandboxes: string[];
  spans: number;
}

export interface ReadEventsAnswer {
  events: Event[];
  /** The `after` of the next page. */
  last: string;
  /** Some events between `after` and these are no longer kept. */
  reset: boolean;
}

export interface ListDriversAnswer {
  drivers: Driver[];
}

export interface VersionAnswer {
  version: string;
  api: "v1";
  /** Of the state directory. */
  instance_id: string;
}

export interface ShutDownBody {
  /** Leave them to the next daemon, or end them. */
  sandboxes: "leave" | "end";
}

export interface HealthzAnswer {
  status: string;
}

export interface ReadyzAnswer {
  status: string;
}
