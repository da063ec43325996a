// Generated from docs/openapi.yaml by sdk/generate.py. Change those.
// The operations of the API: the types of what they take and answer, their methods and paths.
import type {
  AcquireSandboxAnswer,
  AcquireSandboxBody,
  AttachOutputAnswer,
  ChangePoolAnswer,
  ChangePoolBody,
  CreateKeyAnswer,
  CreateKeyBody,
  CreatePoolAnswer,
  CreatePoolBody,
  CreateSandboxAnswer,
  CreateSandboxBody,
  CreateSnapshotAnswer,
  CreateSnapshotBody,
  DiffSandboxAnswer,
  DrainPoolAnswer,
  DrainPoolBody,
  ExecAnswer,
  ExecBody,
  ExplainSandboxAnswer,
  ExplainSandboxBody,
  FileKind,
  FindFilesAnswer,
  ForkSandboxAnswer,
  ForkSandboxBody,
  GetPoolAnswer,
  GetProfileAnswer,
  GetSandboxAnswer,
  GetSessionAnswer,
  GetSnapshotAnswer,
  GetTemplateAnswer,
  GetTraceAnswer,
  GrepFilesAnswer,
  HealthzAnswer,
  LimitsAnswer,
  ListDriversAnswer,
  ListFilesAnswer,
  ListKeysAnswer,
  ListPoolsAnswer,
  ListProcessesAnswer,
  ListProfilesAnswer,
  ListSandboxesAnswer,
  ListSessionsAnswer,
  ListSnapshotsAnswer,
  ListTemplatesAnswer,
  ListTracesAnswer,
  MakeDirectoryBody,
  MakeTokenAnswer,
  MakeTokenBody,
  MoveFileBody,
  OpenSessionAnswer,
  OpenSessionBody,
  OpenapiAnswer,
  PatchSandboxAnswer,
  PatchSandboxBody,
  PauseSandboxAnswer,
  PauseSandboxBody,
  PlanAnswer,
  PlanBody,
  PutTemplateAnswer,
  ReadEventsAnswer,
  ReadyzAnswer,
  RecreateSandboxAnswer,
  RecreateSandboxBody,
  ReleaseSandboxBody,
  RemoveFileBody,
  RenewSandboxAnswer,
  RenewSandboxBody,
  RenewSessionAnswer,
  RenewSessionBody,
  ResetSandboxAnswer,
  ResetSandboxBody,
  ResizeProcessBody,
  ResizeSandboxAnswer,
  ResizeSandboxBody,
  ResumeSandboxAnswer,
  ResumeSandboxBody,
  RollbackTemplateAnswer,
  RunAnswer,
  RunBatchAnswer,
  RunBatchBody,
  RunBody,
  SandboxStartAnswer,
  SandboxStatsAnswer,
  ShutDownBody,
  SignalProcessBody,
  SnapshotSandboxAnswer,
  SnapshotSandboxBody,
  StartSandboxAnswer,
  StartSandboxBody,
  StatFileAnswer,
  State,
  StopSandboxAnswer,
  StopSandboxBody,
  UploadStatusAnswer,
  VersionAnswer,
  WhoAmIAnswer,
  WriteArchiveAnswer,
  WriteBatchAnswer,
  WriteBatchBody,
  WriteFileAnswer,
} from "./models.js";
import type { Source } from "./http.js";

export interface Operations {
  /** List sandboxes */
  listSandboxes: {
    path: {};
    query: {
      state?: State;
      driver?: string;
      name?: string;
      user_id?: string;
      label?: string[];
      tenant?: string;
      limit?: number;
      cursor?: string;
    };
    header: {};
    body: undefined;
    answer: ListSandboxesAnswer;
  };
  /** Create a sandbox */
  createSandbox: {
    path: {};
    query: {};
    header: { "Idempotency-Key"?: string };
    body: CreateSandboxBody;
    answer: CreateSandboxAnswer;
  };
  /** What creating a sandbox would do, and on which driver */
  explainSandbox: {
    path: {};
    query: {};
    header: {};
    body: ExplainSandboxBody;
    answer: ExplainSandboxAnswer;
  };
  /** Which way a request would go, and why each driver would or would not do */
  plan: {
    path: {};
    query: { as?: string };
    header: {};
    body: PlanBody;
    answer: PlanAnswer;
  };
  /** The recipes that sandboxes can be made by */
  listProfiles: {
    path: {};
    query: {};
    header: {};
    body: undefined;
    answer: ListProfilesAnswer;
  };
  /** One profile, with everything that it inherits */
  getProfile: {
    path: { name: string };
    query: {};
    header: {};
    body: undefined;
    answer: GetProfileAnswer;
  };
  /** One sandbox */
  getSandbox: {
    path: { id: string };
    query: {};
    header: {};
    body: undefined;
    answer: GetSandboxAnswer;
  };
  /** Destroy a sandbox and everything in it */
  deleteSandbox: {
    path: { id: string };
    query: { discard?: boolean };
    header: {};
    body: undefined;
    answer: undefined;
  };
  /** Change a sandbox that is there */
  patchSandbox: {
    path: { id: string };
    query: {};
    header: {};
    body: PatchSandboxBody;
    answer: PatchSandboxAnswer;
  };
  /** What a sandbox uses now */
  sandboxStats: {
    path: { id: string };
    query: {};
    header: {};
    body: undefined;
    answer: SandboxStatsAnswer;
  };
  /** End every process and keep the workspace */
  stopSandbox: {
    path: { id: string };
    query: {};
    header: {};
    body: StopSandboxBody | undefined;
    answer: StopSandboxAnswer;
  };
  /** How a sandbox began, stage by stage */
  sandboxStart: {
    path: { id: string };
    query: {};
    header: {};
    body: undefined;
    answer: SandboxStartAnswer;
  };
  /** Go on after a stop, with the same workspace */
  startSandbox: {
    path: { id: string };
    query: {};
    header: {};
    body: StartSandboxBody | undefined;
    answer: StartSandboxAnswer;
  };
  /** Same id, same workspace, fresh processes */
  recreateSandbox: {
    path: { id: string };
    query: {};
    header: {};
    body: RecreateSandboxBody | undefined;
    answer: RecreateSandboxAnswer;
  };
  /** Make it anew for its next user */
  resetSandbox: {
    path: { id: string };
    query: {};
    header: {};
    body: ResetSandboxBody | undefined;
    answer: ResetSandboxAnswer;
  };
  /** Give a sandbox back */
  releaseSandbox: {
    path: { id: string };
    query: {};
    header: {};
    body: ReleaseSandboxBody | undefined;
    answer: undefined;
  };
  /** Move the end; the time to live counts from now */
  renewSandbox: {
    path: { id: string };
    query: {};
    header: {};
    body: RenewSandboxBody | undefined;
    answer: RenewSandboxAnswer;
  };
  /** Freeze */
  pauseSandbox: {
    path: { id: string };
    query: {};
    header: {};
    body: PauseSandboxBody | undefined;
    answer: PauseSandboxAnswer;
  };
  /** Go on after a pause */
  resumeSandbox: {
    path: { id: string };
    query: {};
    header: {};
    body: ResumeSandboxBody | undefined;
    answer: ResumeSandboxAnswer;
  };
  /** Take a snapshot, and be told its id alone */
  snapshotSandbox: {
    path: { id: string };
    query: {};
    header: {};
    body: SnapshotSandboxBody | undefined;
    answer: SnapshotSandboxAnswer;
  };
  /** Keep a sandbox as it is, to make others from it */
  createSnapshot: {
    path: { id: string };
    query: {};
    header: {};
    body: CreateSnapshotBody | undefined;
    answer: CreateSnapshotAnswer;
  };
  /** Copies that go their own way */
  forkSandbox: {
    path: { id: string };
    query: {};
    header: {};
    body: ForkSandboxBody | undefined;
    answer: ForkSandboxAnswer;
  };
  /** Change the limits of a running sandbox */
  resizeSandbox: {
    path: { id: string };
    query: {};
    header: {};
    body: ResizeSandboxBody;
    answer: ResizeSandboxAnswer;
  };
  /** Run a command over a WebSocket */
  execSocket: {
    path: { id: string };
    query: { on_disconnect?: "keep" | "kill" };
    header: {};
    body: undefined;
    answer: undefined;
  };
  /** Run a command */
  exec: {
    path: { id: string };
    query: { on_disconnect?: "keep" | "kill" };
    header: {};
    body: ExecBody;
    answer: ExecAnswer;
  };
  /** Create, exec and destroy in one call */
  run: {
    path: {};
    query: {};
    header: {};
    body: RunBody;
    answer: RunAnswer;
  };
  /** Many runs, each in a sandbox of its own */
  runBatch: {
    path: {};
    query: {};
    header: {};
    body: RunBatchBody;
    answer: RunBatchAnswer;
  };
  /** The bytes of a file */
  readFile: {
    path: { id: string };
    query: { path?: string; path_b64?: string };
    header: {};
    body: undefined;
    answer: Uint8Array;
  };
  /** Write a file whole, or a large one in parts */
  writeFile: {
    path: { id: string };
    query: {
      path?: string;
      path_b64?: string;
      mode?: string;
      parents?: boolean;
      upload?: string;
      offset?: number;
      size?: number;
    };
    header: {};
    body: Source;
    answer: WriteFileAnswer;
  };
  /** Remove a file or a directory */
  deleteFile: {
    path: { id: string };
    query: { path?: string; path_b64?: string; recursive?: boolean };
    header: {};
    body: undefined;
    answer: undefined;
  };
  /** What is in a directory, by name */
  listFiles: {
    path: { id: string };
    query: { path?: string; path_b64?: string };
    header: {};
    body: undefined;
    answer: ListFilesAnswer;
  };
  /** One file or directory; a symbolic link itself */
  statFile: {
    path: { id: string };
    query: { path?: string; path_b64?: string };
    header: {};
    body: undefined;
    answer: StatFileAnswer;
  };
  /** Make a directory */
  makeDirectory: {
    path: { id: string };
    query: {};
    header: {};
    body: MakeDirectoryBody;
    answer: undefined;
  };
  /** Rename */
  moveFile: {
    path: { id: string };
    query: {};
    header: {};
    body: MoveFileBody;
    answer: undefined;
  };
  /** Remove, as DELETE does */
  removeFile: {
    path: { id: string };
    query: {};
    header: {};
    body: RemoveFileBody;
    answer: undefined;
  };
  /** How much of an upload in parts is there; 0 for one that has not begun or is done */
  uploadStatus: {
    path: { id: string };
    query: { path?: string; path_b64?: string; upload?: string };
    header: {};
    body: undefined;
    answer: UploadStatusAnswer;
  };
  /** Files below a directory, by name and kind */
  findFiles: {
    path: { id: string };
    query: {
      path?: string;
      path_b64?: string;
      name?: string;
      kind?: FileKind;
      depth?: number;
      limit?: number;
      timeout_ms?: number;
    };
    header: {};
    body: undefined;
    answer: FindFilesAnswer;
  };
  /** Lines that match a pattern */
  grepFiles: {
    path: { id: string };
    query: {
      path?: string;
      path_b64?: string;
      pattern: string;
      fixed?: boolean;
      ignore_case?: boolean;
      include?: string;
      limit?: number;
      timeout_ms?: number;
    };
    header: {};
    body: undefined;
    answer: GrepFilesAnswer;
  };
  /** What happens to files, as it happens */
  watchFiles: {
    path: { id: string };
    query: { path?: string; path_b64?: string; recursive?: boolean };
    header: {};
    body: undefined;
    answer: Uint8Array;
  };
  /** A directory with everything in it, or a file, as a tar archive */
  readArchive: {
    path: { id: string };
    query: { path?: string; path_b64?: string; all_links?: boolean };
    header: {};
    body: undefined;
    answer: Uint8Array;
  };
  /** Unpack a tar archive into a directory */
  writeArchive: {
    path: { id: string };
    query: { path?: string; path_b64?: string };
    header: {};
    body: Source;
    answer: WriteArchiveAnswer;
  };
  /** Write many files, with a result for each */
  writeBatch: {
    path: { id: string };
    query: { path?: string; path_b64?: string };
    header: {};
    body: WriteBatchBody;
    answer: WriteBatchAnswer;
  };
  /** What a sandbox changed in its copies of host directories */
  diffSandbox: {
    path: { id: string };
    query: { path?: string; path_b64?: string };
    header: {};
    body: undefined;
    answer: DiffSandboxAnswer;
  };
  /** What runs, and what ran */
  listProcesses: {
    path: { id: string };
    query: {};
    header: {};
    body: undefined;
    answer: ListProcessesAnswer;
  };
  /** Follow a process, from an offset on */
  attachOutput: {
    path: { id: string; process: number };
    query: {
      stdout_offset?: number;
      stderr_offset?: number;
      max_output_bytes?: number;
      on_disconnect?: "keep" | "kill";
    };
    header: {};
    body: undefined;
    answer: AttachOutputAnswer;
  };
  /** Go back to a process over a WebSocket */
  attachSocket: {
    path: { id: string; process: number };
    query: { stdout_offset?: number; stderr_offset?: number; on_disconnect?: "keep" | "kill" };
    header: {};
    body: undefined;
    answer: undefined;
  };
  /** Change the size of a process's terminal */
  resizeProcess: {
    path: { id: string; process: number };
    query: {};
    header: {};
    body: ResizeProcessBody;
    answer: undefined;
  };
  /** Write to a process that was started with stdin_open */
  writeStdin: {
    path: { id: string; process: number };
    query: { eof?: boolean };
    header: {};
    body: Source | undefined;
    answer: undefined;
  };
  /** Signal a process and everything below it */
  signalProcess: {
    path: { id: string; process: number };
    query: {};
    header: {};
    body: SignalProcessBody;
    answer: undefined;
  };
  /** Connect to a port of the sandbox */
  dialPort: {
    path: { id: string; port: number };
    query: {};
    header: {};
    body: undefined;
    answer: undefined;
  };
  /** What a process has said, as text */
  readLogs: {
    path: { id: string };
    query: {
      process?: number;
      stream?: "stdout" | "stderr" | "all";
      tail?: number;
      follow?: boolean;
    };
    header: {};
    body: undefined;
    answer: Uint8Array;
  };
  /** Make a token that is good for this sandbox alone */
  makeToken: {
    path: { id: string };
    query: {};
    header: {};
    body: MakeTokenBody | undefined;
    answer: MakeTokenAnswer;
  };
  /** What is kept of sandboxes */
  listSnapshots: {
    path: {};
    query: { sandbox?: string };
    header: {};
    body: undefined;
    answer: ListSnapshotsAnswer;
  };
  /** One snapshot */
  getSnapshot: {
    path: { snapshot: string };
    query: {};
    header: {};
    body: undefined;
    answer: GetSnapshotAnswer;
  };
  /** Remove a snapshot */
  deleteSnapshot: {
    path: { snapshot: string };
    query: {};
    header: {};
    body: undefined;
    answer: undefined;
  };
  /** Pools of sandboxes that are made ahead */
  listPools: {
    path: {};
    query: {};
    header: {};
    body: undefined;
    answer: ListPoolsAnswer;
  };
  /** Keep sandboxes of a kind ready */
  createPool: {
    path: {};
    query: {};
    header: {};
    body: CreatePoolBody;
    answer: CreatePoolAnswer;
  };
  /** One pool */
  getPool: {
    path: { pool: string };
    query: {};
    header: {};
    body: undefined;
    answer: GetPoolAnswer;
  };
  /** Remove a pool */
  deletePool: {
    path: { pool: string };
    query: {};
    header: {};
    body: undefined;
    answer: undefined;
  };
  /** Change the size of a pool */
  changePool: {
    path: { pool: string };
    query: {};
    header: {};
    body: ChangePoolBody;
    answer: ChangePoolAnswer;
  };
  /** End what waits in a pool, and fill it anew */
  drainPool: {
    path: { pool: string };
    query: {};
    header: {};
    body: DrainPoolBody | undefined;
    answer: DrainPoolAnswer;
  };
  /** Get a sandbox of a pool */
  acquireSandbox: {
    path: { pool: string };
    query: {};
    header: { "Idempotency-Key"?: string };
    body: AcquireSandboxBody | undefined;
    answer: AcquireSandboxAnswer;
  };
  /** Who holds which sandbox */
  listSessions: {
    path: {};
    query: {};
    header: {};
    body: undefined;
    answer: ListSessionsAnswer;
  };
  /** Join the sandbox of a workspace or an agent, or make it */
  openSession: {
    path: {};
    query: {};
    header: {};
    body: OpenSessionBody;
    answer: OpenSessionAnswer;
  };
  /** One session */
  getSession: {
    path: { session: string };
    query: {};
    header: {};
    body: undefined;
    answer: GetSessionAnswer;
  };
  /** Let the sandbox go */
  closeSession: {
    path: { session: string };
    query: {};
    header: {};
    body: undefined;
    answer: undefined;
  };
  /** Hold on to the sandbox */
  renewSession: {
    path: { session: string };
    query: {};
    header: {};
    body: RenewSessionBody | undefined;
    answer: RenewSessionAnswer;
  };
  /** The root file systems that sandboxes can be made from */
  listTemplates: {
    path: {};
    query: {};
    header: {};
    body: undefined;
    answer: ListTemplatesAnswer;
  };
  /** One template, with its versions and what its image says about commands */
  getTemplate: {
    path: { name: string };
    query: {};
    header: {};
    body: undefined;
    answer: GetTemplateAnswer;
  };
  /** Add a template, or a new version of one */
  putTemplate: {
    path: { name: string };
    query: {};
    header: {};
    body: Source;
    answer: PutTemplateAnswer;
  };
  /** Remove a template with all of its versions */
  deleteTemplate: {
    path: { name: string };
    query: {};
    header: {};
    body: undefined;
    answer: undefined;
  };
  /** Go back to the version before */
  rollbackTemplate: {
    path: { name: string };
    query: {};
    header: {};
    body: undefined;
    answer: RollbackTemplateAnswer;
  };
  /** List keys */
  listKeys: {
    path: {};
    query: {};
    header: {};
    body: undefined;
    answer: ListKeysAnswer;
  };
  /** Make a key */
  createKey: {
    path: {};
    query: {};
    header: {};
    body: CreateKeyBody;
    answer: CreateKeyAnswer;
  };
  /** Revoke a key */
  revokeKey: {
    path: { key: string };
    query: {};
    header: {};
    body: undefined;
    answer: undefined;
  };
  /** Who asks, and what they may do */
  whoAmI: {
    path: {};
    query: {};
    header: {};
    body: undefined;
    answer: WhoAmIAnswer;
  };
  /** How much the caller may ask for */
  limits: {
    path: {};
    query: { tenant?: string };
    header: {};
    body: undefined;
    answer: LimitsAnswer;
  };
  /** The latest requests that the daemon remembers */
  listTraces: {
    path: {};
    query: { sandbox?: string; request?: string; limit?: number };
    header: {};
    body: undefined;
    answer: ListTracesAnswer;
  };
  /** What the daemon did for all requests of a trace */
  getTrace: {
    path: { trace: string };
    query: {};
    header: {};
    body: undefined;
    answer: GetTraceAnswer;
  };
  /** What becomes of sandboxes */
  readEvents: {
    path: {};
    query: { after?: string; sandbox?: string; state?: State; runs?: boolean; limit?: number };
    header: { "Last-Event-ID"?: string };
    body: undefined;
    answer: ReadEventsAnswer;
  };
  /** What can make sandboxes here */
  listDrivers: {
    path: {};
    query: {};
    header: {};
    body: undefined;
    answer: ListDriversAnswer;
  };
  /** Which Atoll this is */
  version: {
    path: {};
    query: {};
    header: {};
    body: undefined;
    answer: VersionAnswer;
  };
  /** This document */
  openapi: {
    path: {};
    query: {};
    header: { "If-None-Match"?: string };
    body: undefined;
    answer: OpenapiAnswer;
  };
  /** End the daemon */
  shutDown: {
    path: {};
    query: {};
    header: {};
    body: ShutDownBody;
    answer: undefined;
  };
  /** The daemon answers */
  healthz: {
    path: {};
    query: {};
    header: {};
    body: undefined;
    answer: HealthzAnswer;
  };
  /** The daemon has taken up its sandboxes and serves */
  readyz: {
    path: {};
    query: {};
    header: {};
    body: undefined;
    answer: ReadyzAnswer;
  };
  /** Metrics in Prometheus text format */
  metrics: {
    path: {};
    query: {};
    header: {};
    body: undefined;
    answer: Uint8Array;
  };
}

/** What comes back: JSON, bytes, nothing, or a connection that is no longer HTTP. */
export type AnswerKind = "json" | "bytes" | "nothing" | "socket";

export const operations: Record<keyof Operations, { method: string; path: string; answer: AnswerKind }> = {
  listSandboxes: { method: "GET", path: "/v1/sandboxes", answer: "json" },
  createSandbox: { method: "POST", path: "/v1/sandboxes", answer: "json" },
  explainSandbox: { method: "POST", path: "/v1/sandboxes:explain", answer: "json" },
  plan: { method: "POST", path: "/v1/plan", answer: "json" },
  listProfiles: { method: "GET", path: "/v1/profiles", answer: "json" },
  getProfile: { method: "GET", path: "/v1/profiles/{name}", answer: "json" },
  getSandbox: { method: "GET", path: "/v1/sandboxes/{id}", answer: "json" },
  deleteSandbox: { method: "DELETE", path: "/v1/sandboxes/{id}", answer: "nothing" },
  patchSandbox: { method: "PATCH", path: "/v1/sandboxes/{id}", answer: "json" },
  sandboxStats: { method: "GET", path: "/v1/sandboxes/{id}/stats", answer: "json" },
  stopSandbox: { method: "POST", path: "/v1/sandboxes/{id}/stop", answer: "json" },
  sandboxStart: { method: "GET", path: "/v1/sandboxes/{id}/start", answer: "json" },
  startSandbox: { method: "POST", path: "/v1/sandboxes/{id}/start", answer: "json" },
  recreateSandbox: { method: "POST", path: "/v1/sandboxes/{id}/recreate", answer: "json" },
  resetSandbox: { method: "POST", path: "/v1/sandboxes/{id}/reset", answer: "json" },
  releaseSandbox: { method: "POST", path: "/v1/sandboxes/{id}/release", answer: "nothing" },
  renewSandbox: { method: "POST", path: "/v1/sandboxes/{id}/renew", answer: "json" },
  pauseSandbox: { method: "POST", path: "/v1/sandboxes/{id}/pause", answer: "json" },
  resumeSandbox: { method: "POST", path: "/v1/sandboxes/{id}/resume", answer: "json" },
  snapshotSandbox: { method: "POST", path: "/v1/sandboxes/{id}/snapshot", answer: "json" },
  createSnapshot: { method: "POST", path: "/v1/sandboxes/{id}/snapshots", answer: "json" },
  forkSandbox: { method: "POST", path: "/v1/sandboxes/{id}/fork", answer: "json" },
  resizeSandbox: { method: "POST", path: "/v1/sandboxes/{id}/resize", answer: "json" },
  execSocket: { method: "GET", path: "/v1/sandboxes/{id}/exec", answer: "socket" },
  exec: { method: "POST", path: "/v1/sandboxes/{id}/exec", answer: "json" },
  run: { method: "POST", path: "/v1/runs", answer: "json" },
  runBatch: { method: "POST", path: "/v1/runs:batch", answer: "json" },
  readFile: { method: "GET", path: "/v1/sandboxes/{id}/files", answer: "bytes" },
  writeFile: { method: "PUT", path: "/v1/sandboxes/{id}/files", answer: "json" },
  deleteFile: { method: "DELETE", path: "/v1/sandboxes/{id}/files", answer: "nothing" },
  listFiles: { method: "GET", path: "/v1/sandboxes/{id}/files/list", answer: "json" },
  statFile: { method: "GET", path: "/v1/sandboxes/{id}/files/stat", answer: "json" },
  makeDirectory: { method: "POST", path: "/v1/sandboxes/{id}/files/mkdir", answer: "nothing" },
  moveFile: { method: "POST", path: "/v1/sandboxes/{id}/files/move", answer: "nothing" },
  removeFile: { method: "POST", path: "/v1/sandboxes/{id}/files/remove", answer: "nothing" },
  uploadStatus: { method: "GET", path: "/v1/sandboxes/{id}/files/uploads", answer: "json" },
  findFiles: { method: "GET", path: "/v1/sandboxes/{id}/files/find", answer: "json" },
  grepFiles: { method: "GET", path: "/v1/sandboxes/{id}/files/grep", answer: "json" },
  watchFiles: { method: "GET", path: "/v1/sandboxes/{id}/files/watch", answer: "bytes" },
  readArchive: { method: "GET", path: "/v1/sandboxes/{id}/files/tar", answer: "bytes" },
  writeArchive: { method: "PUT", path: "/v1/sandboxes/{id}/files/tar", answer: "json" },
  writeBatch: { method: "POST", path: "/v1/sandboxes/{id}/files/batch", answer: "json" },
  diffSandbox: { method: "GET", path: "/v1/sandboxes/{id}/diff", answer: "json" },
  listProcesses: { method: "GET", path: "/v1/sandboxes/{id}/processes", answer: "json" },
  attachOutput: { method: "GET", path: "/v1/sandboxes/{id}/processes/{process}/output", answer: "json" },
  attachSocket: { method: "GET", path: "/v1/sandboxes/{id}/processes/{process}/attach", answer: "socket" },
  resizeProcess: { method: "POST", path: "/v1/sandboxes/{id}/processes/{process}/resize", answer: "nothing" },
  writeStdin: { method: "POST", path: "/v1/sandboxes/{id}/processes/{process}/stdin", answer: "nothing" },
  signalProcess: { method: "POST", path: "/v1/sandboxes/{id}/processes/{process}/signal", answer: "nothing" },
  dialPort: { method: "GET", path: "/v1/sandboxes/{id}/ports/{port}", answer: "socket" },
  readLogs: { method: "GET", path: "/v1/sandboxes/{id}/logs", answer: "bytes" },
  makeToken: { method: "POST", path: "/v1/sandboxes/{id}/token", answer: "json" },
  listSnapshots: { method: "GET", path: "/v1/snapshots", answer: "json" },
  getSnapshot: { method: "GET", path: "/v1/snapshots/{snapshot}", answer: "json" },
  deleteSnapshot: { method: "DELETE", path: "/v1/snapshots/{snapshot}", answer: "nothing" },
  listPools: { method: "GET", path: "/v1/pools", answer: "json" },
  createPool: { method: "POST", path: "/v1/pools", answer: "json" },
  getPool: { method: "GET", path: "/v1/pools/{pool}", answer: "json" },
  deletePool: { method: "DELETE", path: "/v1/pools/{pool}", answer: "nothing" },
  changePool: { method: "PATCH", path: "/v1/pools/{pool}", answer: "json" },
  drainPool: { method: "POST", path: "/v1/pools/{pool}/drain", answer: "json" },
  acquireSandbox: { method: "POST", path: "/v1/pools/{pool}/acquire", answer: "json" },
  listSessions: { method: "GET", path: "/v1/sessions", answer: "json" },
  openSession: { method: "POST", path: "/v1/sessions", answer: "json" },
  getSession: { method: "GET", path: "/v1/sessions/{session}", answer: "json" },
  closeSession: { method: "DELETE", path: "/v1/sessions/{session}", answer: "nothing" },
  renewSession: { method: "POST", path: "/v1/sessions/{session}/renew", answer: "json" },
  listTemplates: { method: "GET", path: "/v1/templates", answer: "json" },
  getTemplate: { method: "GET", path: "/v1/templates/{name}", answer: "json" },
  putTemplate: { method: "PUT", path: "/v1/templates/{name}", answer: "json" },
  deleteTemplate: { method: "DELETE", path: "/v1/templates/{name}", answer: "nothing" },
  rollbackTemplate: { method: "POST", path: "/v1/templates/{name}/rollback", answer: "json" },
  listKeys: { method: "GET", path: "/v1/keys", answer: "json" },
  createKey: { method: "POST", path: "/v1/keys", answer: "json" },
  revokeKey: { method: "DELETE", path: "/v1/keys/{key}", answer: "nothing" },
  whoAmI: { method: "GET", path: "/v1/whoami", answer: "json" },
  limits: { method: "GET", path: "/v1/limits", answer: "json" },
  listTraces: { method: "GET", path: "/v1/traces", answer: "json" },
  getTrace: { method: "GET", path: "/v1/traces/{trace}", answer: "json" },
  readEvents: { method: "GET", path: "/v1/events", answer: "json" },
  listDrivers: { method: "GET", path: "/v1/drivers", answer: "json" },
  version: { method: "GET", path: "/v1/version", answer: "json" },
  openapi: { method: "GET", path: "/v1/openapi.json", answer: "json" },
  shutDown: { method: "POST", path: "/v1/shutdown", answer: "nothing" },
  healthz: { method: "GET", path: "/healthz", answer: "json" },
  readyz: { method: "GET", path: "/readyz", answer: "json" },
  metrics: { method: "GET", path: "/metrics", answer: "bytes" },
};
