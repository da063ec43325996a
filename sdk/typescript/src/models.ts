// Generated from docs/openapi.yaml by sdk/generate.py. Change those.
// What the API takes and tells. More fields may come; ignore them.

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

/** A line for each run as it ends, then one that counts them. */
export type BatchEvent = BatchEventRun | BatchEventEnd;

export type ChangeKind = "added" | "modified" | "deleted";

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

/** How a command ended. */
export type ExitReason = "exited" | "signaled" | "timeout" | "oom" | "killed" | "policy" | "infra";

export type FileKind = "file" | "directory" | "symlink" | "other";

/** Ordered, weakest first. */
export type Isolation = "none" | "process" | "container" | "sentry" | "vm";

/** Empty, or an empty object. */
export type Nothing = Record<string, unknown>;

/**
 * What becomes of a sandbox whose time is up or that nobody uses. `kill`: nothing of it is left.
 * `stop`: its processes end, its files stay. `pause`: its processes stand still.
 */
export type OnEnd = "kill" | "stop" | "pause";

/** What becomes of a sandbox that dies or does not answer. */
export type OnFailure = "fail" | "recreate";

/** On this host, on machines of the operator's, or at somebody else's. */
export type Placement = "host" | "own" | "third_party";

/**
 * `admin`: everything. `member`: all sandboxes of its tenant. `viewer`: what there is in its tenant
 * and how it does, no contents, no changes. `agent`: makes sandboxes in its tenant and sees those
 * that it made.
 */
export type Role = "admin" | "member" | "viewer" | "agent";

/**
 * Who shares the sandbox of a session: nobody, all sessions of an agent, of a workspace, or of the
 * tenant.
 */
export type SessionScope = "session" | "agent" | "workspace" | "shared";

/** Files, or processes and their memory, too. */
export type SnapshotKind = "disk" | "memory";

/** `lost`: the driver does not have it any more, because somebody has removed it there. */
export type SnapshotState = "making" | "ready" | "lost" | "dropping";

/** Of a sandbox. */
export type State =
  | "pending"
  | "starting"
  | "running"
  | "paused"
  | "stopping"
  | "stopped"
  | "destroyed"
  | "failed";

/** In which order drivers are asked that would all do; never whether one does. */
export type Strategy = "priority" | "fastest" | "cheapest" | "round_robin" | "weighted";

/** What it was made from. */
export type TemplateKind = "docker" | "oci" | "rootfs";

/** Whose use it is: of what was waited for, or of the whole cgroup. */
export type UsageScope = "waited" | "cgroup";

export type CreateSandboxBody = CreateSandbox;

export type CreateSandboxAnswer = Sandbox;

export type ExplainSandboxBody = CreateSandbox;

export type PlanBody = CreateSandbox;

export type PlanAnswer = Plan;

export type GetProfileAnswer = Profile;

export type GetSandboxAnswer = Sandbox;

export type PatchSandboxBody = PatchSandbox;

export type PatchSandboxAnswer = Sandbox;

export type StopSandboxBody = Nothing;

export type StopSandboxAnswer = Sandbox;

export type SandboxStartAnswer = StartRecord;

export type StartSandboxBody = Nothing;

export type StartSandboxAnswer = Sandbox;

export type RecreateSandboxBody = Nothing;

export type RecreateSandboxAnswer = Sandbox;

export type ResetSandboxBody = Reset;

export type ResetSandboxAnswer = Sandbox;

export type ReleaseSandboxBody = Release;

export type RenewSandboxBody = Renew;

export type RenewSandboxAnswer = Sandbox;

export type PauseSandboxBody = Nothing;

export type PauseSandboxAnswer = Sandbox;

export type ResumeSandboxBody = Nothing;

export type ResumeSandboxAnswer = Sandbox;

export type SnapshotSandboxBody = CreateSnapshot;

export type CreateSnapshotBody = CreateSnapshot;

export type CreateSnapshotAnswer = Snapshot;

export type ForkSandboxBody = Fork;

export type ResizeSandboxBody = Resources;

export type ResizeSandboxAnswer = Sandbox;

export type ExecBody = Exec;

export type ExecAnswer = ExecResult;

export type RunBody = Run;

export type RunAnswer = ExecResult;

export type RunBatchBody = RunBatch;

export type WriteFileAnswer = FileInfo | WriteFileAnswer2;

export type StatFileAnswer = FileInfo;

export type MakeDirectoryBody = MakeDirectory;

export type MoveFileBody = MoveFile;

export type RemoveFileBody = RemoveFile;

export type WriteBatchBody = WriteBatch;

export type AttachOutputAnswer = ExecResult;

export type ResizeProcessBody = Terminal;

export type SignalProcessBody = Signal;

export type MakeTokenBody = MakeToken;

export type GetSnapshotAnswer = Snapshot;

export type CreatePoolBody = CreatePool;

export type CreatePoolAnswer = Pool;

export type GetPoolAnswer = Pool;

export type ChangePoolBody = ChangePool;

export type ChangePoolAnswer = Pool;

export type DrainPoolBody = Nothing;

export type DrainPoolAnswer = Pool;

export type AcquireSandboxBody = Acquire;

export type AcquireSandboxAnswer = Sandbox;

export type OpenSessionBody = OpenSession;

export type OpenSessionAnswer = Session;

export type GetSessionAnswer = Session;

export type RenewSessionBody = RenewSession;

export type RenewSessionAnswer = Session;

export type GetTemplateAnswer = Template;

export type PutTemplateAnswer = Template;

export type RollbackTemplateAnswer = Template;

export type CreateKeyBody = CreateKey;

export type LimitsAnswer = Limits;

export type GetTraceAnswer = Trace;

export type ShutDownBody = Shutdown;

export interface Acquire {
  /** Unique within the tenant while it lives. */
  name?: string;
  /** Whose it is in the caller's own books. */
  user_id?: string;
  /** When it ends by itself. Absent: as a request without one. */
  ttl_s?: number;
  /** It also ends when nobody has used it for so long. */
  idle_s?: number;
  labels?: Record<string, string>;
}

export interface BatchCounts {
  succeeded: number;
  /** Commands that did not end with exit code 0. */
  failed: number;
  /** Runs that have a problem. */
  errors: number;
  request_id: string;
}

export interface BatchEventRun {
  type: "run";
  /** Its place in the request, from 0. */
  index: number;
  attempts: number;
  problem?: Problem;
}

export interface BatchEventEnd {
  succeeded: number;
  /** Commands that did not end with exit code 0. */
  failed: number;
  /** Runs that have a problem. */
  errors: number;
  request_id: string;
  type: "end";
}

/**
 * One run of a batch, in a stream with `type` `run`. Either a problem or what came of the command.
 */
export interface BatchRun {
  type?: "run";
  /** Its place in the request, from 0. */
  index: number;
  attempts: number;
  problem?: Problem;
}

/** What sandboxes on a driver may have together, and have; what has no limit is absent. */
export interface Capacity {
  sandboxes?: number;
  /** Those that wait in a pool aside. */
  sandboxes_now?: number;
  cpus?: number;
  cpus_now?: number;
  memory_mb?: number;
  memory_mb_now?: number;
  disk_mb?: number;
  disk_mb_now?: number;
}

export interface ChangePool {
  /** So many are ready, however quiet it is. */
  min?: number;
  /** So many while the pool is in use. Absent: `min`, or 1. */
  target?: number;
  /** So many when more is asked for. Absent: `target`. */
  max?: number;
  /** What was not needed for so long is given back. */
  idle_s?: number;
  /** What waited for so long is replaced. */
  max_age_s?: number;
}

export interface CreateKey {
  /** Absent: one's own. */
  tenant?: string;
  role: Role;
  /** What it is for; one line. */
  label?: string;
  /** Absent: until it is revoked. */
  ttl_s?: number;
}

export interface CreatePool {
  name: string;
  /** `NAME[@VERSION]`, which says what is not said here. */
  profile?: string;
  /** Absent: the one that a request without one would get. */
  driver?: string;
  image?: string;
  /** `NAME[:TAG]`. */
  template?: string;
  runtime?: string;
  resources?: Resources;
  min_isolation?: Isolation;
  placement?: Placement;
  /** `bridge` takes a profile that allows it. */
  network?: "none" | "bridge";
  persistence?: "ephemeral" | "persistent" | "checkpoint";
  /** So many are ready, however quiet it is. */
  min?: number;
  /** So many while the pool is in use. Absent: `min`, or 1. */
  target?: number;
  /** So many when more is asked for. Absent: `target`. */
  max?: number;
  /** What was not needed for so long is given back. */
  idle_s?: number;
  /** What waited for so long is replaced. */
  max_age_s?: number;
}

export interface CreateSandbox {
  /** Absent: the first that is strong enough. */
  driver?: string;
  /**
   * A named route instead of a driver: `auto`, `docker` (then native), `wasm` (then docker, then
   * native), or the name of a driver, which is then the only one. No route goes below the floor.
   */
  run_mode?: string;
  /**
   * In which order drivers are asked that would all do: as they are configured, by measured start,
   * by price, in turn, or by configured weight. Absent: the profile's, else the daemon's.
   */
  strategy?: Strategy;
  /**
   * `NAME[@VERSION]` of a profile, which says what the request does not; without a version, the
   * highest. `none` is without one.
   */
  profile?: string;
  /** Unique within the tenant while it lives. */
  name?: string;
  /** Whose it is in the caller's own books. */
  user_id?: string;
  /** When it ends by itself. Absent: as the daemon is configured. */
  ttl_s?: number;
  /** It also ends, or rests, when nobody has used it for so long. */
  idle_s?: number;
  /**
   * What becomes of it at the end of `ttl_s`: with `stop` or `pause` it is kept for `keep_s`, and
   * whoever uses it next wakes it.
   */
  on_expire?: "kill" | "stop" | "pause";
  /** What becomes of it after `idle_s`; with `stop` or `pause`, whoever uses it next wakes it. */
  on_idle?: "kill" | "stop" | "pause";
  /** How long it is kept after `ttl_s`, with an `on_expire` that keeps it. Absent: a day. */
  keep_s?: number;
  /**
   * With `recreate` it is made anew under its id when it dies or does not answer, a few times; what
   * was in it is gone then.
   */
  on_failure?: "fail" | "recreate";
  labels?: Record<string, string>;
  /** For every command. Never stored or told. */
  env?: Record<string, string>;
  resources?: Resources;
  /** A floor that no fallback goes below. */
  min_isolation?: Isolation;
  /** An alias of min_isolation. */
  isolation_level?: Isolation;
  placement?: Placement;
  /**
   * Which the driver must have, as the operator has given them. Names and values of up to 63
   * letters, digits and . _ - /.
   */
  driver_labels?: Record<string, string>;
  /**
   * Directories of the daemon's host. Only over the Unix socket, from the daemon's own user or
   * root.
   */
  host_dirs?: HostDir[];
  /**
   * A directory of the daemon's host as the root file system, copied on write. Absolute; given like
   * `host_dirs`.
   */
  rootfs?: string;
  /**
   * `NAME[:TAG]` of a template as the root file system, copied on write. Its image's environment,
   * user and working directory hold where the request says nothing.
   */
  template?: string;
  /**
   * An image as the root file system, by the name that the driver's engine has for it: `NAME[:TAG]`
   * or `NAME@sha256:DIGEST`.
   */
  image?: string;
  /** When the engine fetches that image. */
  pull?: "missing" | "never" | "always";
  /** A runtime of the driver's engine, one of its `runtimes`; it decides the isolation. */
  runtime?: string;
  /**
   * `persistent`: what is changed in the root file system is the sandbox's own and in its
   * snapshots. `checkpoint`: before it ends, by a call or by itself, it is kept as a snapshot, and
   * the next sandbox of its name begins with that; if it cannot be kept it does not end.
   */
  persistence?: "ephemeral" | "persistent" | "checkpoint";
  /** What `persistence: checkpoint` keeps: files, or memory, too. Absent: files. */
  checkpoint?: "disk" | "memory";
  /**
   * `persistent`: it has no time that could be up, and ends with the server or by a call; this
   * takes a profile that says so, or an administrator. `workspace`: as long as the sessions of a
   * workspace that hold it, and only in the `sandbox` of a session. `ephemeral`: a run's, which
   * ends with its command. Absent: as the profile says, else session.
   */
  lifecycle?: "session" | "persistent" | "workspace" | "ephemeral";
  /**
   * `none`, and only where the network is really cut off; `bridge`, the network of a container
   * engine, takes a profile that allows it. Absent: as the profile says, otherwise none.
   */
  network?: "none" | "bridge";
  /**
   * The id or name of a snapshot that it starts from. It is made by the driver that has it, and
   * what is absent of `resources`, `image`, `runtime`, `persistence` and `template` is as it was
   * there. The environment is not in a snapshot.
   */
  snapshot?: string;
  /**
   * An interpreter that is started ahead and waits for the first command, if that is a plain call
   * of it. Where the driver cannot do that, nothing happens. A run needs not say it.
   */
  warm?: "python3" | "node";
  /** As whom commands run that do not say. */
  user?: string;
  /** Where commands run that do not say. Absent: the workspace. */
  cwd?: string;
  /**
   * How long it may wait for its turn where there is no room now: 0 does not wait. Absent: as the
   * daemon is configured. GET /v1/limits tells both, and the most.
   */
  queue_timeout_ms?: number;
  /** Text files that it has from the beginning, by path; a relative path is below the workspace. */
  files?: Record<string, string>;
  /** The same for bytes, in base64. */
  files_b64?: Record<string, string>;
}

export interface CreateSnapshot {
  /** Unique within the tenant. */
  name?: string;
  /** Files, or processes and their memory, too. */
  kind?: "disk" | "memory";
  labels?: Record<string, string>;
}

export interface Driver {
  name: string;
  summary: string;
  available: boolean;
  unavailable_because?: string;
  /** What would make it available. */
  hint?: string;
  /**
   * As its probes tell, with hysteresis. `failing` is not down yet; `recovering` is asked after the
   * healthy ones.
   */
  health?: "unknown" | "healthy" | "failing" | "down" | "recovering";
  /** Of its probe, while it is failing. */
  last_failure?: string;
  /**
   * Whether creates go there. `open` after failures in a row; `half_open` lets one create find out.
   */
  circuit?: "closed" | "open" | "half_open";
  /** While it is open. */
  circuit_opens_for_ms?: number;
  /** How long its creates have taken lately; absent when there were none. */
  measured_start_ms?: number;
  /** How many creates that is of, 16 at most. */
  measured_starts?: number;
  /**
   * Of a sandbox that names no limits, in US dollars, as it is configured or as the driver
   * declares; otherwise 0 on this host; absent when it is not known.
   */
  price_per_hour?: number;
  /** For the strategy `weighted`. */
  weight?: number;
  /** As the operator has given them. */
  labels?: Record<string, string>;
  capacity?: Capacity;
  /** What was probed, when it is available. */
  capabilities?: DriverCapabilities;
}

/** What was probed, when it is available. */
export interface DriverCapabilities {
  isolation?: Isolation;
  placement?: Placement;
  /**
   * cpu, memory, pids, disk, root_disk (what a persistent sandbox changes in its root), open_files,
   * output, wall_time, cpu_time.
   */
  limits?: Record<string, "none" | "per_process" | "enforced">;
  kill_tree?: "best_effort" | "sure";
  network?: "none" | "deny" | "rules";
  pause?: "none" | "processes" | "memory";
  snapshot?: boolean;
  /** A snapshot holds the memory of its processes, too. */
  checkpoint?: boolean;
  fork?: boolean;
  /** A sandbox can be made as new for its next user. */
  reset?: boolean;
  resize?: boolean;
  /** Whole processors and reserved memory for one sandbox. */
  dedicated?: boolean;
  pty?: boolean;
  watch?: boolean;
  ports?: boolean;
  gpu?: boolean;
  direct_stdio?: boolean;
  own_root?: boolean;
  /** The home of its user can be elsewhere than usual. */
  homes?: boolean;
  /** A directory of the host can be the root file system. */
  root_dir?: boolean;
  /** And it makes no sandbox without one. */
  needs_root_dir?: boolean;
  /** A template can be the root file system. */
  templates?: boolean;
  /** An image can be the root file system, by its name. */
  images?: boolean;
  /** What is changed in the root file system can be kept. */
  writable_root?: boolean;
  /** What the engine can run containers with besides its own, and what that isolates. */
  runtimes?: DriverCapabilitiesRuntimesItem[];
  /** Commands can run as any user of the sandbox. */
  users?: boolean;
  host_dir_ro?: boolean;
  host_dir_rw?: boolean;
  host_dir_cow?: boolean;
  /** Directories below roots that a profile names can be shown. */
  host_dir_roots?: boolean;
  /** A sandbox can be in the engine's own network, where a profile allows it. */
  bridge?: boolean;
  /** A sandbox can be shown the engine's socket, where a profile allows it. */
  engine_socket?: boolean;
  max_lifetime_s?: number;
  /** US dollars. */
  price_per_hour?: number;
  typical_start_ms?: number;
  not_protected?: string[];
}

export interface DriverCapabilitiesRuntimesItem {
  name?: string;
  isolation?: Isolation;
}

export interface Event {
  id: string;
  /**
   * `sandbox.` and the state, or its health when that alone has changed, or `sandbox.progress`;
   * `driver.` and what has become of a driver: `down`, `healthy`, `circuit_open`, `circuit_closed`;
   * or `reset`.
   */
  type: string;
  at?: string;
  sandbox?: string;
  name?: string;
  driver?: string;
  from?: string;
  state?: string;
  /** Of an event that tells of this alone. */
  health?: "ok" | "unresponsive" | "recovering" | "failed";
  /**
   * Of `sandbox.progress`: how far an image is that is fetched (`pull`) or loaded (`load`) for it,
   * twice a second at most.
   */
  progress?: EventProgress;
  run?: boolean;
  reason?: string;
  /** Of one that begins to wait for its turn. */
  queue_position?: number;
}

/**
 * Of `sandbox.progress`: how far an image is that is fetched (`pull`) or loaded (`load`) for it,
 * twice a second at most.
 */
export interface EventProgress {
  stage: string;
  /** Bytes. */
  done: number;
  /** As far as it is known; it may grow. 0: it is not known. */
  total: number;
}

/** Exactly one of argv and command; neither in a run of `code`. */
export interface Exec {
  argv?: string[];
  /** Run as /bin/sh -c. */
  command?: string;
  /** Over the sandbox's own. */
  env?: Record<string, string>;
  /** Relative to the workspace. Absent: the sandbox's own, or the workspace. */
  cwd?: string;
  /** Absent: the sandbox's own. */
  user?: string;
  /** All of it; more may follow with `stdin_open`. */
  stdin?: string;
  /** Instead of `stdin`. */
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
  /**
   * What the JSON answer keeps of each stream, from its beginning. Absent: 8 MiB, in a batch 64
   * KiB.
   */
  max_output_bytes?: number;
  /** Whether an interpreter that waits may serve it. */
  warm?: boolean;
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
  reason: ExitReason;
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
  driver?: string;
  isolation?: Isolation;
  stages?: Stage[];
  process?: number;
  pid?: number;
  request_id: string;
  type: "exit";
}

export interface ExecEventError {
  type: "error";
  problem: Problem;
}

export interface ExecResult {
  /** The program's own; 124 timeout, 125 infra, 126 policy, 128+N signal N. */
  exit_code: number;
  signal?: number;
  reason: ExitReason;
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
  driver?: string;
  isolation?: Isolation;
  stages?: Stage[];
  process?: number;
  pid?: number;
  request_id: string;
}

export interface Exit {
  /** The program's own; 124 timeout, 125 infra, 126 policy, 128+N signal N. */
  exit_code: number;
  signal?: number;
  reason: ExitReason;
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

export interface FileInfo {
  name?: string;
  /** Instead of name when that is not UTF-8. */
  name_b64?: string;
  path?: string;
  path_b64?: string;
  kind: FileKind;
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

export interface FileToWrite {
  path?: string;
  /** Instead of `path`, for one that is not UTF-8. */
  path_b64?: string;
  text?: string;
  /** Instead of `text`. */
  b64?: string;
  /** Octal, from 0 to 0777. */
  mode?: string;
}

export interface Fork {
  count?: number;
  /** With `memory` the processes go on in each copy. */
  kind?: "disk" | "memory";
}

export interface HostDir {
  /** Absolute. */
  path: string;
  /** Absolute in the sandbox. Absent: the same path. */
  guest_path?: string;
  /** Read-only, read and write, or a copy that is made as it is written to. */
  access?: "ro" | "rw" | "cow";
  /** It is the workspace itself. */
  workspace?: boolean;
}

/** What is still kept of a stream, as offsets from its beginning. */
export interface Kept {
  first: number;
  end: number;
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
  /**
   * Of the tenant's sandboxes together, like those that follow. None of them is told to a token.
   */
  cpus?: number | null;
  cpus_now?: number;
  memory_mb?: number | null;
  memory_mb_now?: number;
  disk_mb?: number | null;
  disk_mb_now?: number;
  creates_per_s?: number | null;
  /** Creates and runs under way; more wait for their turn. */
  at_once?: number | null;
  at_once_now?: number;
  min_isolation?: Isolation;
  placement?: Placement;
  /** Creates and runs of the tenant that wait for their turn. */
  waiting_now?: number;
  /** How many may wait, of all tenants. */
  queue?: number;
  /** The most that a request may wait. */
  queue_timeout_ms?: number;
  /** How long one waits that does not say. */
  queue_timeout_default_ms?: number;
  /** Of the tenant. Absent for a sandbox's token. */
  snapshots?: number;
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

export interface MakeDirectory {
  path?: string;
  /** Instead of `path`, for one that is not UTF-8. */
  path_b64?: string;
  /** Make missing parents; existing is fine then. */
  parents?: boolean;
}

export interface MakeToken {
  ttl_s?: number;
  /** `read`: for viewers, who see files, output and what there is, and change nothing. */
  mode?: "use" | "read";
}

export interface MoveFile {
  from?: string;
  /** Instead of `from`. */
  from_b64?: string;
  to?: string;
  /** Instead of `to`. */
  to_b64?: string;
}

export interface OpenSession {
  /** Who shares the sandbox. Absent: as the profile says, or `session`. */
  scope?: "session" | "agent" | "workspace" | "shared";
  /**
   * The name of the workspace, or of the agent; absent for an agent it is the caller, for `shared`
   * it is `all`.
   */
  key?: string;
  /** It ends when nobody renews it for so long. */
  ttl_s?: number;
  /** What becomes of the sandbox when the last session lets go; settled when it is made. */
  on_last?: "kill" | "stop" | "pause";
  /**
   * How it is made if it is not there. If it is there it must be the same; absent, it is taken as
   * it is.
   */
  sandbox?: CreateSandbox;
}

/** What is absent stays as it is. */
export interface PatchSandbox {
  resources: Resources;
}

export interface Plan {
  /** With its version; `none` without one. */
  profile: string;
  /** The named route, when there is one. */
  run_mode?: string;
  strategy: Strategy;
  /** Whether any driver would take it. */
  served: boolean;
  /** Why not; empty when it would be served. */
  problem: string;
  /** That would be asked first. */
  driver?: string;
  isolation?: Isolation;
  min_isolation?: Isolation;
  placement: Placement;
  resources: Resources;
  ttl_s?: number;
  timeout_ms?: number;
  /** In the order in which they would be asked, then those that are refused. */
  drivers: PlannedDriver[];
  as?: string;
  /** With `as`, what that driver does otherwise than the chosen one. */
  changes?: PlanChange[];
}

export interface PlanChange {
  /** A capability. */
  what: string;
  from: string;
  to: string;
}

export interface PlannedDriver {
  driver: string;
  verdict: "chosen" | "fallback" | "refused";
  /** In words. */
  reason: string;
  isolation?: Isolation;
  placement?: Placement;
  health?: "unknown" | "healthy" | "failing" | "down" | "recovering";
  /** How long a create takes there. */
  start_ms?: number;
  /** By this daemon, lately; otherwise the driver declares it. */
  start_measured?: boolean;
  /** Of what is asked, in US dollars; absent when it is not known. */
  price_per_hour?: number;
  weight?: number;
}

export interface Pool {
  name: string;
  /** A profile that has `pool`, or somebody who has made it here. */
  source: "profile" | "operator";
  profile?: string;
  driver?: string;
  image?: string;
  template?: string;
  runtime?: string;
  resources: Resources;
  min_isolation?: Isolation;
  placement?: Placement;
  network?: "none" | "bridge";
  /** Absent: ephemeral. */
  persistence?: "ephemeral" | "persistent" | "checkpoint";
  min: number;
  target: number;
  max: number;
  idle_s: number;
  max_age_s: number;
  /** How many should be ready now. */
  level: number;
  /** How many are. */
  ready: number;
  /** How many are being made. */
  filling: number;
  /** Requests that got one, from the request to the sandbox. */
  hits: PoolTimes;
  /** Requests for which one had to be made. */
  misses: PoolTimes;
  /** Of all those; null before the first. */
  hit_rate: number | null;
  /** Sandboxes that were made ahead. */
  fills: PoolTimes;
  /** Those that came to nothing. */
  failures: number;
  /** Made ahead, and ended before anybody had them. */
  discarded: number;
  /** Why the last one came to nothing. Absent: it did not. */
  trouble?: string;
}

/** So many, and how long they took. */
export interface PoolTimes {
  count: number;
  mean_ms: number;
  last_ms: number;
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
    | "precondition_failed"
    | "range_not_satisfiable";
  /** What failed, and why. */
  detail: string;
  /** Where: authenticate, authorize, route, request, intent, create, commit, exec, … */
  stage?: string;
  /** What helps. */
  hint?: string;
  retryable: boolean;
  /**
   * The limit that was met, as GET /v1/limits calls it; `host_…` is of all tenants together,
   * `driver_…` of a driver, `queue` and `creations` of the daemon.
   */
  limit?: string;
  limit_most?: number;
  limit_used?: number;
  /** How much more the request asked for. */
  limit_asked?: number;
  /** Where the request was in the queue when its time was up; 1 is the next. */
  queue_position?: number;
  queue_length?: number;
  /** As Retry-After says. */
  retry_after_s?: number;
  /** The id of the sandbox that could not be made; GET /v1/sandboxes/{id}/start knows it, too. */
  sandbox?: string;
  /** How far its start came, the failed stage last. */
  stages?: Stage[];
  request_id: string;
  trace_id: string;
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
  /** There only when it has a terminal. */
  tty?: true;
  stdout: Kept;
  stderr: Kept;
  /** When it no longer runs. */
  exit?: Exit;
}

export interface Profile {
  name: string;
  version: number;
  /** `NAME@VERSION`. */
  reference: string;
  description: string;
  source: "built-in" | "operator" | "project";
  /** Itself, what it inherits, what that inherits. */
  chain: string[];
  settings: ProfileSettings;
  /** Which profile of the chain says each setting. */
  from: Record<string, string>;
}

export interface ProfileCommand {
  /** For `sh -c`. */
  run: string;
  timeout_ms: number;
}

export interface ProfileSettings {
  min_isolation?: Isolation;
  placement?: Placement;
  persistence?: "ephemeral" | "persistent" | "checkpoint";
  checkpoint?: SnapshotKind;
  lifecycle?: "session" | "persistent" | "workspace" | "ephemeral";
  /** `run`: for single commands only. The last three: made by opening a session. */
  scope?: "session" | "run" | "agent" | "workspace" | "shared";
  /** How directories of the host may be shown, at most. */
  workspace?: "isolated" | "ro" | "cow" | "rw";
  /** At most; `bridge` is the network of a container engine. */
  network?: "none" | "bridge";
  /** Directories of the host must lie below one of these. */
  mount_roots?: string[];
  /** Its sandboxes are shown the engine's socket, and count as isolation `none`. */
  allow_docker_socket?: boolean;
  ttl_s?: number;
  idle_s?: number;
  on_expire?: OnEnd;
  on_idle?: OnEnd;
  /** How long it is kept after ttl_s. */
  keep_s?: number;
  on_failure?: OnFailure;
  /** Of commands that name none. */
  timeout_ms?: number;
  resources: Resources;
  image?: string;
  template?: string;
  user?: string;
  home?: string;
  workdir?: string;
  /** Packages that are installed before anybody gets the sandbox. */
  dependencies?: ProfileSettingsDependencies;
  /** How much of the start is kept for the next sandbox, where the driver has snapshots. */
  layer?: "none" | "dependencies" | "setup";
  /** Commands for `sh -c` that are run before anybody gets the sandbox. */
  setup?: ProfileCommand[];
  /** Programs that must be in the sandbox, such as `git` or `python>=3.11`. */
  requires?: string[];
  /**
   * Commands for `sh -c` that are run in the sandbox whenever it has started, and before it is
   * stopped or removed.
   */
  hooks?: ProfileSettingsHooks;
  /** Asked until it says yes, a command or a port. */
  readiness?: ProfileSettingsReadiness;
  /** How many sandboxes are kept ready; see `CreatePool`. */
  pool?: ProfileSettingsPool;
  /** The names of its variables; their values are not told. */
  env?: string[];
  labels?: Record<string, string>;
  /** The order of preference. */
  drivers?: string[];
  /** What may follow. Absent: any other. */
  fallback?: string[];
  strategy?: Strategy;
  /** Which a driver must have. */
  driver_labels?: Record<string, string>;
}

/** Packages that are installed before anybody gets the sandbox. */
export interface ProfileSettingsDependencies {
  pip?: string[];
  npm?: string[];
  /** By root, in a root file system of the sandbox's own. */
  apt?: string[];
}

/**
 * Commands for `sh -c` that are run in the sandbox whenever it has started, and before it is
 * stopped or removed.
 */
export interface ProfileSettingsHooks {
  after_start?: ProfileCommand[];
  before_stop?: ProfileCommand[];
}

/** Asked until it says yes, a command or a port. */
export interface ProfileSettingsReadiness {
  run?: string;
  port?: number;
  interval_ms?: number;
  timeout_ms?: number;
}

/** How many sandboxes are kept ready; see `CreatePool`. */
export interface ProfileSettingsPool {
  min?: number;
  target?: number;
  max?: number;
  idle_s?: number;
  max_age_s?: number;
}

export interface ProfileSummary {
  name: string;
  version: number;
  /** `NAME@VERSION`. */
  reference: string;
  description: string;
  source: "built-in" | "operator" | "project";
  min_isolation?: Isolation;
  resources: Resources;
}

export interface Release {
  /** Nothing of it is kept, with `persistence: checkpoint` neither; it is destroyed in any case. */
  corrupted?: boolean;
}

export interface RemoveFile {
  path?: string;
  /** Instead of `path`, for one that is not UTF-8. */
  path_b64?: string;
  recursive?: boolean;
}

export interface Renew {
  /** Absent: as long as it was given at first. */
  ttl_s?: number;
}

export interface RenewSession {
  /** Absent: as it was. */
  ttl_s?: number;
}

export interface Reset {
  /** For every command from now on. Never stored or told. */
  env?: Record<string, string>;
}

export interface Resources {
  /** Cores. */
  cpu?: number;
  /** MiB. */
  memory_mb?: number;
  /** Processes and threads. */
  pids?: number;
  /** MiB. On native, more than 1024 or half of memory_mb is on disk. */
  disk_mb?: number;
  /** Its part of busy processors; 100 is usual. Makes the sandbox burstable. */
  cpu_weight?: number;
  /**
   * Whose the processors are. shared: everybody's, in equal parts under load. limited: the same,
   * with a ceiling that is there. burstable: by `cpu_weight` under load, with `cpu` as a ceiling if
   * it is given. dedicated: `cpu` whole processors are this sandbox's alone, and `memory_mb` is
   * kept for it. Settled when the sandbox is made.
   */
  sharing?: "shared" | "limited" | "burstable" | "dedicated";
}

export interface Run {
  /** Absent: one as the daemon makes them by default. */
  sandbox?: CreateSandbox;
  /** The command; with `code`, everything about it but the command. */
  exec?: Exec;
  /** Instead of a command. */
  code?: string;
  /**
   * Of `code`: python, javascript, bash, sh, perl, ruby, php, lua or r, by these and other common
   * names. The sandbox must have its program.
   */
  language?: string;
  /** As in CreateSandbox; `code` takes the place of one. */
  files?: Record<string, string>;
  /** As in CreateSandbox. */
  files_b64?: Record<string, string>;
  /** Packages that `code` needs, for python as pip names them, for javascript as npm does. */
  requirements?: string[];
}

export interface RunBatch {
  /** Of each run; without a name. */
  sandbox?: CreateSandbox;
  runs: Exec[];
  concurrency?: number;
  attempts?: number;
  /** Also those whose command fails. */
  retry_failures?: boolean;
}

/** What only a run tells. */
export interface RunFacts {
  driver?: string;
  isolation?: Isolation;
  stages?: Stage[];
}

/** What a command wrote; each stream as text, or as base64 when it is not UTF-8. */
export interface Said {
  stdout?: string;
  /** Instead of stdout when that is not UTF-8. */
  stdout_b64?: string;
  stderr?: string;
  stderr_b64?: string;
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
  /**
   * How long it is there: until its time is up; as long as its run; until somebody gets it from its
   * pool; as long as sessions share it; as long as the server.
   */
  lifecycle?: "session" | "ephemeral" | "pooled" | "workspace" | "persistent";
  driver: string;
  isolation: Isolation;
  placement: Placement;
  /** The named route that it was asked with. */
  run_mode?: string;
  /** With its version, `python@2`; `none` without one. */
  profile: string;
  user_id?: string;
  labels: Record<string, string>;
  resources: Resources;
  /** `NAME:TAG` that its root file system is of. */
  template?: string;
  /** That its root file system is of. */
  image?: string;
  /** Of its engine, when it was given. */
  runtime?: string;
  /** Absent: ephemeral. */
  persistence?: "ephemeral" | "persistent" | "checkpoint";
  /** What is kept of it when it ends. Absent: nothing. */
  checkpoint?: SandboxCheckpoint;
  /** Absent: none. */
  network?: "none" | "bridge";
  /** The id of the one that it was made from. */
  snapshot?: string;
  /** How often it was made anew. Absent: never. */
  resets?: number;
  /** Of commands that name none, when it was given. */
  user?: string;
  /** Instead of user when that is not UTF-8. */
  user_b64?: string;
  /** Of commands that name none, when it was given. */
  cwd?: string;
  cwd_b64?: string;
  /** Of commands that name none, when a profile says it. */
  timeout_ms?: number;
  created_at: string;
  expires_at: string | null;
  idle_s?: number;
  on_expire?: OnEnd;
  on_idle?: OnEnd;
  /** When nothing of it is left, if it is kept after expires_at. */
  kept_until?: string;
  /**
   * Why it is stopped or paused though nobody asked: whoever uses it next wakes it. Absent: it does
   * not rest.
   */
  rest?: "idle" | "expired";
  on_failure?: OnFailure;
  /** Absent: it is well. */
  health?: "unresponsive" | "recovering" | "failed";
  /** How often it was made anew because it had failed. Absent: never. */
  recoveries?: number;
  last_active_at: string;
  /** Why it failed, when it did. */
  failure?: string;
  /** That it came from, or waits in. Absent: none. */
  pool?: string;
  /**
   * It waits in that pool and is nobody's; only administrators see such. Absent: it is somebody's.
   */
  parked?: true;
  /** Of one that waits for its turn to be made; 1 is the next. */
  queue_position?: number;
  /** Where the time of its creation went. `pool` instead of `create`: it was made ahead. */
  stages: Stage[];
}

/** What is kept of it when it ends. Absent: nothing. */
export interface SandboxCheckpoint {
}

/** One event as browsers read it; `data` is what a line would be. */
export interface ServerSentEvent {
  id?: string;
  /** The `type` of what is in `data`. */
  event?: string;
  data: string;
}

export interface Session {
  id: string;
  tenant: string;
  /** Who opened it. */
  owner: string;
  scope: SessionScope;
  /** Empty for a session of its own. */
  key: string;
  /** The id of the sandbox that it holds. */
  sandbox: string;
  /** Sessions that hold this sandbox now. */
  holders: number;
  created_at: string;
  /** It ends then unless it is renewed. */
  expires_at: string;
}

export interface Shutdown {
  /** Leave them to the next daemon, or end them. */
  sandboxes: "leave" | "end";
}

export interface Signal {
  /** A number, or a name with or without SIG. */
  signal: number | string;
}

export interface Snapshot {
  id: string;
  /** Empty when it has none. */
  name: string;
  tenant: string;
  /** Who made it: a key's id, `uid:N`, or `socket`. */
  owner: string;
  state: SnapshotState;
  kind: SnapshotKind;
  /** Which has it, and makes sandboxes from it. */
  driver: string;
  isolation: Isolation;
  /** The id of the sandbox that it is of, which may have ended. */
  sandbox: string;
  /** As the driver tells it; of an image, with what it shares with others. */
  bytes: number;
  /** Files that could not be read, and pipes, sockets and devices. */
  left_out: number;
  labels: Record<string, string>;
  resources: Resources;
  template?: string;
  image?: string;
  runtime?: string;
  /** Absent: ephemeral. */
  persistence?: "ephemeral" | "persistent" | "checkpoint";
  /**
   * The name of the sandbox that has left it when it ended; the next one of that name begins with
   * the newest. Absent: somebody has taken it.
   */
  checkpoint_of?: string;
  created_at: string;
}

export interface Stage {
  name: string;
  ms: number;
  /**
   * Why it failed, or what hooks of its profile said last. Absent when there is nothing to tell.
   */
  log?: string;
}

export interface StartRecord {
  id: string;
  /** Empty when it has none. */
  name: string;
  driver: string;
  state: State;
  created_at: string;
  /** Absent: it has not ended. */
  ended_at?: string;
  /** Why it failed or ended. */
  failure?: string;
  stages: Stage[];
}

export interface Template {
  name: string;
  tag: string;
  /** The SHA-256 of what is in it. */
  id: string;
  kind: TemplateKind;
  /** And directories and links. */
  files: number;
  bytes: number;
  added_at: string;
  layers: number;
  /** Devices and pipes. */
  left_out: number;
  config: TemplateConfig;
  /** The newest first. */
  versions: TemplateVersion[];
}

/** What its image says about commands. */
export interface TemplateConfig {
  env: Record<string, string>;
  /** Empty when it does not say. */
  user: string;
  /** Empty when it does not say. */
  cwd: string;
  entrypoint: string[];
  cmd: string[];
}

export interface TemplateSummary {
  name: string;
  tag: string;
  /** The SHA-256 of what is in it. */
  id: string;
  kind: TemplateKind;
  /** And directories and links. */
  files: number;
  bytes: number;
  added_at: string;
  /** How many there are, this one included. */
  versions: number;
}

export interface TemplateVersion {
  id: string;
  added_at: string;
}

export interface Terminal {
  rows?: number;
  cols?: number;
}

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

export interface Usage {
  cpu_ms?: number;
  cpu_user_ms?: number;
  cpu_system_ms?: number;
  peak_memory_bytes?: number;
  stdout_bytes?: number;
  stderr_bytes?: number;
  scope?: UsageScope;
}

export interface WriteBatch {
  /** Text by path. */
  files?: Record<string, string>;
  /** Those that are not text, or have a mode. */
  entries?: FileToWrite[];
  /** Make missing directories. */
  parents?: boolean;
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

export interface ListProfilesAnswer {
  profiles: ProfileSummary[];
}

export interface SandboxStatsAnswer {
  processes: number;
  cpu_ms: number;
  memory_bytes: number;
  age_ms: number;
  /** Commands that are slowed down because they do nothing but run against a limit. */
  braked: number;
}

export interface SnapshotSandboxAnswer {
  snapshot: string;
}

export interface ForkSandboxAnswer {
  sandboxes: Sandbox[];
}

export interface RunBatchAnswer {
  succeeded: number;
  /** Commands that did not end with exit code 0. */
  failed: number;
  /** Runs that have a problem. */
  errors: number;
  request_id: string;
  runs: BatchRun[];
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

export interface WriteBatchAnswer {
  results: WriteBatchAnswerResultsItem[];
  written: number;
  failed: number;
}

export interface WriteBatchAnswerResultsItem {
  path?: string;
  path_b64?: string;
  ok: boolean;
  kind?: FileKind;
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
  change: ChangeKind;
  kind: FileKind;
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

export interface MakeTokenAnswer {
  token: string;
  /** Its id. */
  sandbox: string;
  expires_at: string;
}

export interface ListSnapshotsAnswer {
  snapshots: Snapshot[];
}

export interface ListPoolsAnswer {
  pools: Pool[];
}

export interface ListSessionsAnswer {
  sessions: Session[];
}

export interface ListTemplatesAnswer {
  templates: TemplateSummary[];
}

export interface ListKeysAnswer {
  keys: Key[];
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

export interface OpenapiAnswer {
  openapi: string;
}

export interface HealthzAnswer {
  status: string;
}

export interface ReadyzAnswer {
  status: string;
}
