# Generated from docs/openapi.yaml by sdk/generate.py. Change those.
"""What the API takes and tells, as dictionaries with known fields. More fields may come; ignore them."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union


# What a call is for; `x-action` of each operation names the one that it needs.
Action = Literal[
    "open", "know", "survey", "measure", "look", "read", "use", "manage", "create", "delegate", "administer",
]

ChangeKind = Literal["added", "modified", "deleted"]

# How a command ended.
ExitReason = Literal["exited", "signaled", "timeout", "oom", "killed", "policy", "infra"]

FileKind = Literal["file", "directory", "symlink", "other"]

# Ordered, weakest first.
Isolation = Literal["none", "process", "container", "sentry", "vm"]

# On this host, on machines of the operator's, or at somebody else's.
Placement = Literal["host", "own", "third_party"]

# `admin`: everything. `member`: all sandboxes of its tenant. `viewer`: what there is in its tenant and how it does, no
# contents, no changes. `agent`: makes sandboxes in its tenant and sees those that it made.
Role = Literal["admin", "member", "viewer", "agent"]

# Of a sandbox.
State = Literal["pending", "starting", "running", "paused", "stopping", "stopped", "destroyed", "failed"]

# What it was made from.
TemplateKind = Literal["docker", "oci", "rootfs"]

# Whose use it is: of what was waited for, or of the whole cgroup.
UsageScope = Literal["waited", "cgroup"]


class BatchCounts(TypedDict):
    succeeded: int
    # Commands that did not end with exit code 0.
    failed: int
    # Runs that have a problem.
    errors: int
    request_id: str


class _BatchEventRunRequired(TypedDict):
    type: Literal["run"]
    # Its place in the request, from 0.
    index: int
    attempts: int


class BatchEventRun(_BatchEventRunRequired, total=False):
    problem: Problem


class BatchEventEnd(TypedDict):
    succeeded: int
    # Commands that did not end with exit code 0.
    failed: int
    # Runs that have a problem.
    errors: int
    request_id: str
    type: Literal["end"]


class _BatchRunRequired(TypedDict):
    # Its place in the request, from 0.
    index: int
    attempts: int


class BatchRun(_BatchRunRequired, total=False):
    """One run of a batch, in a stream with `type` `run`. Either a problem or what came of the command."""

    type: Literal["run"]
    problem: Problem


class _CreateKeyRequired(TypedDict):
    role: Role


class CreateKey(_CreateKeyRequired, total=False):
    # Absent: one's own.
    tenant: str
    # What it is for; one line.
    label: str
    # Absent: until it is revoked.
    ttl_s: int


class CreateSandbox(TypedDict, total=False):
    # Absent: the first that is strong enough.
    driver: str
    profile: str
    # Unique within the tenant while it lives.
    name: str
    # Whose it is in the caller's own books.
    user_id: str
    # When it ends by itself. Absent: as the daemon is configured.
    ttl_s: int
    # It also ends when nobody has used it for so long.
    idle_s: int
    labels: Dict[str, str]
    # For every command. Never stored or told.
    env: Dict[str, str]
    resources: Resources
    # A floor that no fallback goes below.
    min_isolation: Isolation
    # An alias of min_isolation.
    isolation_level: Isolation
    placement: Placement
    # Directories of the daemon's host. Only over the Unix socket, from the daemon's own user or root.
    host_dirs: List[HostDir]
    # A directory of the daemon's host as the root file system, copied on write. Absolute; given like `host_dirs`.
    rootfs: str
    # `NAME[:TAG]` of a template as the root file system, copied on write. Its image's environment, user and working
    # directory hold where the request says nothing.
    template: str
    # An interpreter that is started ahead and waits for the first command, if that is a plain call of it. Where the
    # driver cannot do that, nothing happens. A run needs not say it.
    warm: Literal["python3", "node"]
    # As whom commands run that do not say.
    user: str
    # Where commands run that do not say. Absent: the workspace.
    cwd: str
    # Text files that it has from the beginning, by path; a relative path is below the workspace.
    files: Dict[str, str]
    # The same for bytes, in base64.
    files_b64: Dict[str, str]


class _DriverRequired(TypedDict):
    name: str
    summary: str
    available: bool


class Driver(_DriverRequired, total=False):
    unavailable_because: str
    # What would make it available.
    hint: str
    # What was probed, when it is available.
    capabilities: DriverCapabilities


class DriverCapabilities(TypedDict, total=False):
    """What was probed, when it is available."""

    isolation: Isolation
    placement: Placement
    # cpu, memory, pids, disk, open_files, output, wall_time, cpu_time.
    limits: Dict[str, Literal["none", "per_process", "enforced"]]
    kill_tree: Literal["best_effort", "sure"]
    network: Literal["none", "deny", "rules"]
    pause: Literal["none", "processes", "memory"]
    snapshot: bool
    fork: bool
    resize: bool
    # Whole processors and reserved memory for one sandbox.
    dedicated: bool
    pty: bool
    watch: bool
    ports: bool
    gpu: bool
    direct_stdio: bool
    own_root: bool
    # A directory of the host can be the root file system.
    root_dir: bool
    # And it makes no sandbox without one.
    needs_root_dir: bool
    # Commands can run as any user of the sandbox.
    users: bool
    host_dir_ro: bool
    host_dir_rw: bool
    host_dir_cow: bool
    max_lifetime_s: int
    # US dollars.
    price_per_hour: float
    typical_start_ms: float
    not_protected: List[str]


_EventRequired = TypedDict("_EventRequired", {
    "id": str,
    # `sandbox.` and the state, or `reset`.
    "type": str,
})


_EventOptional = TypedDict("_EventOptional", {
    "at": str,
    "sandbox": str,
    "name": str,
    "driver": str,
    "from": str,
    "state": str,
    "run": bool,
    "reason": str,
}, total=False)


class Event(_EventRequired, _EventOptional):
    """Some of its fields have names that Python keeps for itself."""


class Exec(TypedDict, total=False):
    """Exactly one of argv and command; neither in a run of `code`."""

    argv: List[str]
    # Run as /bin/sh -c.
    command: str
    # Over the sandbox's own.
    env: Dict[str, str]
    # Relative to the workspace. Absent: the sandbox's own, or the workspace.
    cwd: str
    # Absent: the sandbox's own.
    user: str
    # All of it; more may follow with `stdin_open`.
    stdin: str
    # Instead of `stdin`.
    stdin_b64: str
    # Leave stdin open for POST …/processes/{process}/stdin.
    stdin_open: bool
    # A terminal instead of pipes. Stdin is open unless `stdin_open` is false, and all output is stdout.
    tty: Terminal
    # The whole tree is killed then. 0 is none.
    timeout_ms: int
    # The whole tree is killed once it has used so much processor time; whole seconds for each process where
    # limits.cpu_time is per_process. 0 is none.
    cpu_time_ms: int
    # Bytes in all after which it is killed. 0 is none.
    output_limit: int
    # What the JSON answer keeps of each stream, from its beginning. Absent: 8 MiB, in a batch 64 KiB.
    max_output_bytes: int
    # Whether an interpreter that waits may serve it.
    warm: bool


class ExecEventStart(TypedDict):
    type: Literal["start"]
    sandbox: str
    process: int
    pid: int
    request_id: str


class _ExecEventStdoutStderrRequired(TypedDict):
    type: Literal["stdout", "stderr"]
    # Of the first byte, from the beginning of the stream.
    offset: int


class ExecEventStdoutStderr(_ExecEventStdoutStderrRequired, total=False):
    data: str
    # Instead of data when that is not UTF-8.
    data_b64: str


_ExecEventGapRequired = TypedDict("_ExecEventGapRequired", {
    "type": Literal["gap"],
    "stream": Literal["stdout", "stderr"],
    "from": int,
    "to": int,
})


class ExecEventGap(_ExecEventGapRequired):
    """Bytes that are no longer kept."""


class _ExecEventExitRequired(TypedDict):
    # The program's own; 124 timeout, 125 infra, 126 policy, 128+N signal N.
    exit_code: int
    reason: ExitReason
    duration_ms: float
    # Output is missing.
    truncated: bool
    usage: Usage
    request_id: str
    type: Literal["exit"]


class ExecEventExit(_ExecEventExitRequired, total=False):
    signal: int
    # The limit of the request that ended it, if one did.
    limit: Literal["wall_time", "cpu_time", "output"]
    # There only when the guest could have forged this.
    attested: Literal[False]
    # There only when an interpreter served it that was running already.
    warm: Literal[True]
    stdout: str
    # Instead of stdout when that is not UTF-8.
    stdout_b64: str
    stderr: str
    stderr_b64: str
    driver: str
    isolation: Isolation
    stages: List[Stage]
    process: int
    pid: int


class ExecEventError(TypedDict):
    type: Literal["error"]
    problem: Problem


class _ExecResultRequired(TypedDict):
    # The program's own; 124 timeout, 125 infra, 126 policy, 128+N signal N.
    exit_code: int
    reason: ExitReason
    duration_ms: float
    # Output is missing.
    truncated: bool
    usage: Usage
    request_id: str


class ExecResult(_ExecResultRequired, total=False):
    signal: int
    # The limit of the request that ended it, if one did.
    limit: Literal["wall_time", "cpu_time", "output"]
    # There only when the guest could have forged this.
    attested: Literal[False]
    # There only when an interpreter served it that was running already.
    warm: Literal[True]
    stdout: str
    # Instead of stdout when that is not UTF-8.
    stdout_b64: str
    stderr: str
    stderr_b64: str
    driver: str
    isolation: Isolation
    stages: List[Stage]
    process: int
    pid: int


class _ExitRequired(TypedDict):
    # The program's own; 124 timeout, 125 infra, 126 policy, 128+N signal N.
    exit_code: int
    reason: ExitReason
    duration_ms: float
    # Output is missing.
    truncated: bool
    usage: Usage


class Exit(_ExitRequired, total=False):
    signal: int
    # The limit of the request that ended it, if one did.
    limit: Literal["wall_time", "cpu_time", "output"]
    # There only when the guest could have forged this.
    attested: Literal[False]
    # There only when an interpreter served it that was running already.
    warm: Literal[True]


class _FileInfoRequired(TypedDict):
    kind: FileKind
    size: int
    mode: str
    uid: int
    gid: int
    modified_at: str


class FileInfo(_FileInfoRequired, total=False):
    name: str
    # Instead of name when that is not UTF-8.
    name_b64: str
    path: str
    path_b64: str
    link_target: str
    link_target_b64: str
    # Another one whenever the file has changed; what `ETag` says, with its quotes.
    etag: str


class FileToWrite(TypedDict, total=False):
    path: str
    # Instead of `path`, for one that is not UTF-8.
    path_b64: str
    text: str
    # Instead of `text`.
    b64: str
    # Octal, from 0 to 0777.
    mode: str


class Fork(TypedDict, total=False):
    count: int


class _HostDirRequired(TypedDict):
    # Absolute.
    path: str
    # Read-only, read and write, or a copy that is made as it is written to.
    access: Literal["ro", "rw", "cow"]


class HostDir(_HostDirRequired, total=False):
    # Absolute in the sandbox. Absent: the same path.
    guest_path: str
    # It is the workspace itself.
    workspace: bool


class Kept(TypedDict):
    """What is still kept of a stream, as offsets from its beginning."""

    first: int
    end: int


class Key(TypedDict):
    id: str
    tenant: str
    role: Role
    label: str
    created_at: str
    expires_at: Optional[str]
    # To the minute.
    last_used_at: Optional[str]


class Limits(TypedDict, total=False):
    # Of the tenant, at a time; not told to a token.
    sandboxes: int
    # How many there are.
    sandboxes_now: int
    requests_per_s: Optional[float]
    # At once, after a pause.
    requests_burst: Optional[float]
    ttl_s: int
    ttl_default_s: int
    token_ttl_s: int
    timeout_ms: int
    # Of a JSON body.
    json_bytes: int
    # Of the body of exec.
    exec_json_bytes: int
    # Of the body of sandboxes and runs, which may have files in it.
    create_json_bytes: int
    initial_files: int
    batch_json_bytes: int
    batch_runs: int
    batch_concurrency: int
    batch_attempts: int
    upload_bytes: int
    # Of each stream, in an answer that comes whole.
    output_bytes: int
    output_default_bytes: int
    labels: int
    env_variables: int
    env_bytes: int
    arguments: int
    argument_bytes: int
    # 0 where directories of the host are not given.
    host_dirs: int


class MakeDirectory(TypedDict, total=False):
    path: str
    # Instead of `path`, for one that is not UTF-8.
    path_b64: str
    # Make missing parents; existing is fine then.
    parents: bool


class MakeToken(TypedDict, total=False):
    ttl_s: int


_MoveFileOptional = TypedDict("_MoveFileOptional", {
    "from": str,
    # Instead of `from`.
    "from_b64": str,
    "to": str,
    # Instead of `to`.
    "to_b64": str,
}, total=False)


class MoveFile(_MoveFileOptional):
    """Some of its fields have names that Python keeps for itself."""


class PatchSandbox(TypedDict):
    """What is absent stays as it is."""

    resources: Resources


class _ProblemRequired(TypedDict):
    type: str
    title: str
    status: int
    code: Literal[
        "invalid_argument", "unauthenticated", "permission_denied", "not_found", "already_exists", "conflict",
        "unsupported", "too_large", "idempotency_mismatch", "resource_exhausted", "cancelled", "internal",
        "unavailable", "deadline_exceeded", "out_of_space", "method_not_allowed", "precondition_failed",
        "range_not_satisfiable",
    ]
    # What failed, and why.
    detail: str
    retryable: bool
    request_id: str
    trace_id: str


class Problem(_ProblemRequired, total=False):
    # Where: authenticate, authorize, route, request, intent, create, commit, exec, …
    stage: str
    # What helps.
    hint: str


class _ProcessRequired(TypedDict):
    process: int
    # As the sandbox sees it.
    pid: int
    argv: List[str]
    started_at: str
    running: bool
    stdout: Kept
    stderr: Kept


class Process(_ProcessRequired, total=False):
    # There when some argument is not UTF-8.
    argv_b64: List[str]
    cwd: str
    cwd_b64: str
    # There only when it has a terminal.
    tty: Literal[True]
    # When it no longer runs.
    exit: Exit


class RemoveFile(TypedDict, total=False):
    path: str
    # Instead of `path`, for one that is not UTF-8.
    path_b64: str
    recursive: bool


class Renew(TypedDict, total=False):
    # Absent: as long as it was given at first.
    ttl_s: int


class Resources(TypedDict, total=False):
    # Cores.
    cpu: float
    # MiB.
    memory_mb: int
    # Processes and threads.
    pids: int
    # MiB. On native, more than 1024 or half of memory_mb is on disk.
    disk_mb: int
    # Its part of busy processors; 100 is usual. Makes the sandbox burstable.
    cpu_weight: int
    # Whose the processors are. shared: everybody's, in equal parts under load. burstable: by `cpu_weight` under
    # load, with `cpu` as a ceiling if it is given. dedicated: `cpu` whole processors are this sandbox's alone, and
    # `memory_mb` is kept for it. Settled when the sandbox is made.
    sharing: Literal["shared", "burstable", "dedicated"]


class Run(TypedDict, total=False):
    # Absent: one as the daemon makes them by default.
    sandbox: CreateSandbox
    # The command; with `code`, everything about it but the command.
    exec: Exec
    # Instead of a command.
    code: str
    # Of `code`: python, javascript, bash, sh, perl, ruby, php, lua or r, by these and other common names. The
    # sandbox must have its program.
    language: str
    # As in CreateSandbox; `code` takes the place of one.
    files: Dict[str, str]
    # As in CreateSandbox.
    files_b64: Dict[str, str]
    # Packages that `code` needs, for python as pip names them, for javascript as npm does.
    requirements: List[str]


class _RunBatchRequired(TypedDict):
    runs: List[Exec]


class RunBatch(_RunBatchRequired, total=False):
    # Of each run; without a name.
    sandbox: CreateSandbox
    concurrency: int
    attempts: int
    # Also those whose command fails.
    retry_failures: bool


class RunFacts(TypedDict, total=False):
    """What only a run tells."""

    driver: str
    isolation: Isolation
    stages: List[Stage]


class Said(TypedDict, total=False):
    """What a command wrote; each stream as text, or as base64 when it is not UTF-8."""

    stdout: str
    # Instead of stdout when that is not UTF-8.
    stdout_b64: str
    stderr: str
    stderr_b64: str


class _SandboxRequired(TypedDict):
    id: str
    # Empty when it has none.
    name: str
    # Whose it is; names are unique within it.
    tenant: str
    # Who made it: a key's id, `uid:N`, or `socket`.
    owner: str
    state: State
    driver: str
    isolation: Isolation
    placement: Placement
    profile: str
    labels: Dict[str, str]
    resources: Resources
    created_at: str
    expires_at: Optional[str]
    last_active_at: str
    # Where the time of its creation went.
    stages: List[Stage]


class Sandbox(_SandboxRequired, total=False):
    user_id: str
    # `NAME:TAG` that its root file system is of.
    template: str
    # Of commands that name none, when it was given.
    user: str
    # Instead of user when that is not UTF-8.
    user_b64: str
    # Of commands that name none, when it was given.
    cwd: str
    cwd_b64: str
    idle_s: int
    # Why it failed, when it did.
    failure: str


class _ServerSentEventRequired(TypedDict):
    data: str


class ServerSentEvent(_ServerSentEventRequired, total=False):
    """One event as browsers read it; `data` is what a line would be."""

    id: str
    # The `type` of what is in `data`.
    event: str


class Shutdown(TypedDict):
    # Leave them to the next daemon, or end them.
    sandboxes: Literal["leave", "end"]


class Signal(TypedDict):
    # A number, or a name with or without SIG.
    signal: Union[int, str]


class Snapshot(TypedDict, total=False):
    name: str


class Stage(TypedDict):
    name: str
    ms: float


class Template(TypedDict):
    name: str
    tag: str
    # The SHA-256 of what is in it.
    id: str
    kind: TemplateKind
    # And directories and links.
    files: int
    bytes: int
    added_at: str
    layers: int
    # Devices and pipes.
    left_out: int
    config: TemplateConfig
    # The newest first.
    versions: List[TemplateVersion]


class TemplateConfig(TypedDict):
    """What its image says about commands."""

    env: Dict[str, str]
    # Empty when it does not say.
    user: str
    # Empty when it does not say.
    cwd: str
    entrypoint: List[str]
    cmd: List[str]


class TemplateSummary(TypedDict):
    name: str
    tag: str
    # The SHA-256 of what is in it.
    id: str
    kind: TemplateKind
    # And directories and links.
    files: int
    bytes: int
    added_at: str
    # How many there are, this one included.
    versions: int


class TemplateVersion(TypedDict):
    id: str
    added_at: str


class Terminal(TypedDict, total=False):
    rows: int
    cols: int


class Trace(TypedDict):
    trace_id: str
    started_at: str
    # Their X-Request-Id.
    requests: List[str]
    sandboxes: List[str]
    # Not kept, because a request has at most 1,000.
    dropped_spans: int
    spans: List[TraceSpansItem]


class _TraceSpansItemRequired(TypedDict):
    span_id: str
    # A stage, or method and route.
    name: str
    # Since started_at.
    offset_ms: float
    duration_ms: float
    attributes: Dict[str, Union[str, float, bool]]


class TraceSpansItem(_TraceSpansItemRequired, total=False):
    # Of the request itself, the span of your traceparent.
    parent_span_id: str
    # The code that it failed with.
    error: str


class Usage(TypedDict, total=False):
    cpu_ms: float
    cpu_user_ms: float
    cpu_system_ms: float
    peak_memory_bytes: int
    stdout_bytes: int
    stderr_bytes: int
    scope: UsageScope


class WriteBatch(TypedDict, total=False):
    # Text by path.
    files: Dict[str, str]
    # Those that are not text, or have a mode.
    entries: List[FileToWrite]
    # Make missing directories.
    parents: bool


class ListSandboxesAnswer(TypedDict):
    sandboxes: List[Sandbox]
    # Null when that was all.
    next_cursor: Optional[str]


class ExplainSandboxAnswer(TypedDict):
    driver: str
    isolation: Isolation
    # For people: a decision per line, in the order of execution.
    plan: str


class SandboxStatsAnswer(TypedDict):
    processes: int
    cpu_ms: float
    memory_bytes: int
    age_ms: float
    # Commands that are slowed down because they do nothing but run against a limit.
    braked: int


class SnapshotSandboxAnswer(TypedDict):
    snapshot: str


class ForkSandboxAnswer(TypedDict):
    sandboxes: List[Sandbox]


class RunBatchAnswer(TypedDict):
    succeeded: int
    # Commands that did not end with exit code 0.
    failed: int
    # Runs that have a problem.
    errors: int
    request_id: str
    runs: List[BatchRun]


class WriteFileAnswer2(TypedDict):
    upload: str
    offset: int


class _ListFilesAnswerRequired(TypedDict):
    entries: List[FileInfo]


class ListFilesAnswer(_ListFilesAnswerRequired, total=False):
    path: str
    path_b64: str


class UploadStatusAnswer(TypedDict):
    upload: str
    offset: int


class _FindFilesAnswerRequired(TypedDict):
    entries: List[FileInfo]
    # There are more: a limit was reached.
    truncated: bool
    seen: int
    # Could not be read, or lie too deep.
    skipped: int


class FindFilesAnswer(_FindFilesAnswerRequired, total=False):
    path: str
    path_b64: str


class _GrepFilesAnswerRequired(TypedDict):
    matches: List[GrepFilesAnswerMatchesItem]
    truncated: bool
    seen: int
    skipped: int


class GrepFilesAnswer(_GrepFilesAnswerRequired, total=False):
    path: str
    path_b64: str


class _GrepFilesAnswerMatchesItemRequired(TypedDict):
    line: int


class GrepFilesAnswerMatchesItem(_GrepFilesAnswerMatchesItemRequired, total=False):
    path: str
    path_b64: str
    text: str
    text_b64: str
    # The line goes on.
    cut: bool


class WriteArchiveAnswer(TypedDict):
    entries: int
    bytes: int


class WriteBatchAnswer(TypedDict):
    results: List[WriteBatchAnswerResultsItem]
    written: int
    failed: int


class _WriteBatchAnswerResultsItemRequired(TypedDict):
    ok: bool


class WriteBatchAnswerResultsItem(_WriteBatchAnswerResultsItemRequired, total=False):
    path: str
    path_b64: str
    kind: FileKind
    size: int
    etag: str
    code: str
    detail: str
    hint: str


class DiffSandboxAnswer(TypedDict):
    # When the sandbox was made.
    created_at: str
    copies: List[DiffSandboxAnswerCopiesItem]
    changes: List[DiffSandboxAnswerChangesItem]


class DiffSandboxAnswerCopiesItem(TypedDict, total=False):
    # In the sandbox; `path_b64` when it is not UTF-8.
    path: str
    host_path: str


class _DiffSandboxAnswerChangesItemRequired(TypedDict):
    change: ChangeKind
    kind: FileKind
    size: int
    # Octal.
    mode: str
    # Nanoseconds since 1970.
    modified_ns: str


class DiffSandboxAnswerChangesItem(_DiffSandboxAnswerChangesItemRequired, total=False):
    # In the sandbox.
    path: str
    # Instead of path, when that is not UTF-8.
    path_b64: str
    link_target: str
    link_target_b64: str


class ListProcessesAnswer(TypedDict):
    processes: List[Process]


class MakeTokenAnswer(TypedDict):
    token: str
    # Its id.
    sandbox: str
    expires_at: str


class ListTemplatesAnswer(TypedDict):
    templates: List[TemplateSummary]


class ListKeysAnswer(TypedDict):
    keys: List[Key]


class CreateKeyAnswer(TypedDict):
    id: str
    tenant: str
    role: Role
    label: str
    created_at: str
    expires_at: Optional[str]
    # To the minute.
    last_used_at: Optional[str]
    key: str


class _WhoAmIAnswerRequired(TypedDict):
    tenant: str
    # A key's id, `uid:N`, `socket`, or `token:` and a sandbox's id.
    subject: str
    may: List[Action]


class WhoAmIAnswer(_WhoAmIAnswerRequired, total=False):
    role: Role
    # Instead of a role: the one that the token is for.
    sandbox: str


class ListTracesAnswer(TypedDict):
    traces: List[ListTracesAnswerTracesItem]


class _ListTracesAnswerTracesItemRequired(TypedDict):
    trace_id: str
    request_id: str
    started_at: str
    sandboxes: List[str]
    spans: int


class ListTracesAnswerTracesItem(_ListTracesAnswerTracesItemRequired, total=False):
    # Method and route; absent while the request is under way.
    name: str
    duration_ms: float
    # The code that it failed with.
    error: str


class ReadEventsAnswer(TypedDict):
    events: List[Event]
    # The `after` of the next page.
    last: str
    # Some events between `after` and these are no longer kept.
    reset: bool


class ListDriversAnswer(TypedDict):
    drivers: List[Driver]


class VersionAnswer(TypedDict):
    version: str
    api: Literal["v1"]
    # Of the state directory.
    instance_id: str


class OpenapiAnswer(TypedDict):
    openapi: str


class HealthzAnswer(TypedDict):
    status: str


class ReadyzAnswer(TypedDict):
    status: str


# A line for each run as it ends, then one that counts them.
BatchEvent = Union["BatchEventRun", "BatchEventEnd"]
# One line each. The last is exit, or error when something other than the command failed.
ExecEvent = Union["ExecEventStart", "ExecEventStdoutStderr", "ExecEventGap", "ExecEventExit", "ExecEventError"]
# Frames of 8 bytes (u8 kind, three zero bytes, u32 big-endian length) and `length` bytes. Kinds: 0 start (JSON), 1
# stdout, 2 stderr (raw bytes), 3 exit (JSON), 4 gap (JSON), 5 error (JSON, a problem). The last is 3 or 5.
ExecFrames = str
# Empty, or an empty object.
Nothing = Dict[str, Any]
CreateSandboxBody = CreateSandbox
CreateSandboxAnswer = Sandbox
ExplainSandboxBody = CreateSandbox
GetSandboxAnswer = Sandbox
PatchSandboxBody = PatchSandbox
PatchSandboxAnswer = Sandbox
StopSandboxAnswer = Sandbox
StartSandboxAnswer = Sandbox
RecreateSandboxAnswer = Sandbox
RenewSandboxBody = Renew
RenewSandboxAnswer = Sandbox
PauseSandboxAnswer = Sandbox
ResumeSandboxAnswer = Sandbox
SnapshotSandboxBody = Snapshot
ForkSandboxBody = Fork
ResizeSandboxBody = Resources
ResizeSandboxAnswer = Sandbox
ExecBody = Exec
ExecAnswer = ExecResult
RunBody = Run
RunAnswer = ExecResult
RunBatchBody = RunBatch
WriteFileAnswer = Union["FileInfo", "WriteFileAnswer2"]
StatFileAnswer = FileInfo
MakeDirectoryBody = MakeDirectory
MoveFileBody = MoveFile
RemoveFileBody = RemoveFile
WriteBatchBody = WriteBatch
AttachOutputAnswer = ExecResult
ResizeProcessBody = Terminal
SignalProcessBody = Signal
MakeTokenBody = MakeToken
GetTemplateAnswer = Template
PutTemplateAnswer = Template
RollbackTemplateAnswer = Template
CreateKeyBody = CreateKey
LimitsAnswer = Limits
GetTraceAnswer = Trace
ShutDownBody = Shutdown
StopSandboxBody = Nothing
StartSandboxBody = Nothing
RecreateSandboxBody = Nothing
PauseSandboxBody = Nothing
ResumeSandboxBody = Nothing
