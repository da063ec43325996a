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

# What becomes of a sandbox whose time is up or that nobody uses. `kill`: nothing of it is left. `stop`: its processes
# end, its files stay. `pause`: its processes stand still.
OnEnd = Literal["kill", "stop", "pause"]

# What becomes of a sandbox that dies or does not answer.
OnFailure = Literal["fail", "recreate"]

# On this host, on machines of the operator's, or at somebody else's.
Placement = Literal["host", "own", "third_party"]

# `admin`: everything. `member`: all sandboxes of its tenant. `viewer`: what there is in its tenant and how it does, no
# contents, no changes. `agent`: makes sandboxes in its tenant and sees those that it made.
Role = Literal["admin", "member", "viewer", "agent"]

# Who shares the sandbox of a session: nobody, all sessions of an agent, of a workspace, or of the tenant.
SessionScope = Literal["session", "agent", "workspace", "shared"]

# Files, or processes and their memory, too.
SnapshotKind = Literal["disk", "memory"]

# `lost`: the driver does not have it any more, because somebody has removed it there.
SnapshotState = Literal["making", "ready", "lost", "dropping"]

# Of a sandbox.
State = Literal["pending", "starting", "running", "paused", "stopping", "stopped", "destroyed", "failed"]

# In which order drivers are asked that would all do; never whether one does.
Strategy = Literal["priority", "fastest", "cheapest", "round_robin", "weighted"]

# What it was made from.
TemplateKind = Literal["docker", "oci", "rootfs"]

# Whose use it is: of what was waited for, or of the whole cgroup.
UsageScope = Literal["waited", "cgroup"]


class Acquire(TypedDict, total=False):
    # Unique within the tenant while it lives.
    name: str
    # Whose it is in the caller's own books.
    user_id: str
    # When it ends by itself. Absent: as a request without one.
    ttl_s: int
    # It also ends when nobody has used it for so long.
    idle_s: int
    labels: Dict[str, str]


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


class Capacity(TypedDict, total=False):
    """What sandboxes on a driver may have together, and have; what has no limit is absent."""

    sandboxes: float
    # Those that wait in a pool aside.
    sandboxes_now: float
    cpus: float
    cpus_now: float
    memory_mb: float
    memory_mb_now: float
    disk_mb: float
    disk_mb_now: float


class ChangePool(TypedDict, total=False):
    # So many are ready, however quiet it is.
    min: int
    # So many while the pool is in use. Absent: `min`, or 1.
    target: int
    # So many when more is asked for. Absent: `target`.
    max: int
    # What was not needed for so long is given back.
    idle_s: int
    # What waited for so long is replaced.
    max_age_s: int


class _CreateKeyRequired(TypedDict):
    role: Role


class CreateKey(_CreateKeyRequired, total=False):
    # Absent: one's own.
    tenant: str
    # What it is for; one line.
    label: str
    # Absent: until it is revoked.
    ttl_s: int


class _CreatePoolRequired(TypedDict):
    name: str


class CreatePool(_CreatePoolRequired, total=False):
    # `NAME[@VERSION]`, which says what is not said here.
    profile: str
    # Absent: the one that a request without one would get.
    driver: str
    image: str
    # `NAME[:TAG]`.
    template: str
    runtime: str
    resources: Resources
    min_isolation: Isolation
    placement: Placement
    # `bridge` takes a profile that allows it.
    network: Literal["none", "bridge"]
    persistence: Literal["ephemeral", "persistent", "checkpoint"]
    # So many are ready, however quiet it is.
    min: int
    # So many while the pool is in use. Absent: `min`, or 1.
    target: int
    # So many when more is asked for. Absent: `target`.
    max: int
    # What was not needed for so long is given back.
    idle_s: int
    # What waited for so long is replaced.
    max_age_s: int


class CreateSandbox(TypedDict, total=False):
    # Absent: the first that is strong enough.
    driver: str
    # A named route instead of a driver: `auto`, `docker` (then native), `wasm` (then docker, then native), or the
    # name of a driver, which is then the only one. No route goes below the floor.
    run_mode: str
    # In which order drivers are asked that would all do: as they are configured, by measured start, by price, in
    # turn, or by configured weight. Absent: the profile's, else the daemon's.
    strategy: Strategy
    # `NAME[@VERSION]` of a profile, which says what the request does not; without a version, the highest. `none` is
    # without one.
    profile: str
    # Unique within the tenant while it lives.
    name: str
    # Whose it is in the caller's own books.
    user_id: str
    # When it ends by itself. Absent: as the daemon is configured.
    ttl_s: int
    # It also ends, or rests, when nobody has used it for so long.
    idle_s: int
    # What becomes of it at the end of `ttl_s`: with `stop` or `pause` it is kept for `keep_s`, and whoever uses it
    # next wakes it.
    on_expire: Literal["kill", "stop", "pause"]
    # What becomes of it after `idle_s`; with `stop` or `pause`, whoever uses it next wakes it.
    on_idle: Literal["kill", "stop", "pause"]
    # How long it is kept after `ttl_s`, with an `on_expire` that keeps it. Absent: a day.
    keep_s: int
    # With `recreate` it is made anew under its id when it dies or does not answer, a few times; what was in it is
    # gone then.
    on_failure: Literal["fail", "recreate"]
    labels: Dict[str, str]
    # For every command. Never stored or told.
    env: Dict[str, str]
    resources: Resources
    # A floor that no fallback goes below.
    min_isolation: Isolation
    # An alias of min_isolation.
    isolation_level: Isolation
    placement: Placement
    # Which the driver must have, as the operator has given them. Names and values of up to 63 letters, digits and .
    # _ - /.
    driver_labels: Dict[str, str]
    # Directories of the daemon's host. Only over the Unix socket, from the daemon's own user or root.
    host_dirs: List[HostDir]
    # A directory of the daemon's host as the root file system, copied on write. Absolute; given like `host_dirs`.
    rootfs: str
    # `NAME[:TAG]` of a template as the root file system, copied on write. Its image's environment, user and working
    # directory hold where the request says nothing.
    template: str
    # An image as the root file system, by the name that the driver's engine has for it: `NAME[:TAG]` or
    # `NAME@sha256:DIGEST`.
    image: str
    # When the engine fetches that image.
    pull: Literal["missing", "never", "always"]
    # A runtime of the driver's engine, one of its `runtimes`; it decides the isolation.
    runtime: str
    # `persistent`: what is changed in the root file system is the sandbox's own and in its snapshots. `checkpoint`:
    # before it ends, by a call or by itself, it is kept as a snapshot, and the next sandbox of its name begins with
    # that; if it cannot be kept it does not end.
    persistence: Literal["ephemeral", "persistent", "checkpoint"]
    # What `persistence: checkpoint` keeps: files, or memory, too. Absent: files.
    checkpoint: Literal["disk", "memory"]
    # `persistent`: it has no time that could be up, and ends with the server or by a call; this takes a profile
    # that says so, or an administrator. `workspace`: as long as the sessions of a workspace that hold it, and only
    # in the `sandbox` of a session. `ephemeral`: a run's, which ends with its command. Absent: as the profile says,
    # else session.
    lifecycle: Literal["session", "persistent", "workspace", "ephemeral"]
    # `none`, and only where the network is really cut off; `bridge`, the network of a container engine, takes a
    # profile that allows it. Absent: as the profile says, otherwise none.
    network: Literal["none", "bridge"]
    # The id or name of a snapshot that it starts from. It is made by the driver that has it, and what is absent of
    # `resources`, `image`, `runtime`, `persistence` and `template` is as it was there. The environment is not in a
    # snapshot.
    snapshot: str
    # An interpreter that is started ahead and waits for the first command, if that is a plain call of it. Where the
    # driver cannot do that, nothing happens. A run needs not say it.
    warm: Literal["python3", "node"]
    # As whom commands run that do not say.
    user: str
    # Where commands run that do not say. Absent: the workspace.
    cwd: str
    # How long it may wait for its turn where there is no room now: 0 does not wait. Absent: as the daemon is
    # configured. GET /v1/limits tells both, and the most.
    queue_timeout_ms: int
    # Text files that it has from the beginning, by path; a relative path is below the workspace.
    files: Dict[str, str]
    # The same for bytes, in base64.
    files_b64: Dict[str, str]


class CreateSnapshot(TypedDict, total=False):
    # Unique within the tenant.
    name: str
    # Files, or processes and their memory, too.
    kind: Literal["disk", "memory"]
    labels: Dict[str, str]


class _DriverRequired(TypedDict):
    name: str
    summary: str
    available: bool


class Driver(_DriverRequired, total=False):
    unavailable_because: str
    # What would make it available.
    hint: str
    # As its probes tell, with hysteresis. `failing` is not down yet; `recovering` is asked after the healthy ones.
    health: Literal["unknown", "healthy", "failing", "down", "recovering"]
    # Of its probe, while it is failing.
    last_failure: str
    # Whether creates go there. `open` after failures in a row; `half_open` lets one create find out.
    circuit: Literal["closed", "open", "half_open"]
    # While it is open.
    circuit_opens_for_ms: int
    # How long its creates have taken lately; absent when there were none.
    measured_start_ms: float
    # How many creates that is of, 16 at most.
    measured_starts: int
    # Of a sandbox that names no limits, in US dollars, as it is configured or as the driver declares; otherwise 0
    # on this host; absent when it is not known.
    price_per_hour: float
    # For the strategy `weighted`.
    weight: int
    # As the operator has given them.
    labels: Dict[str, str]
    capacity: Capacity
    # What was probed, when it is available.
    capabilities: DriverCapabilities


class DriverCapabilities(TypedDict, total=False):
    """What was probed, when it is available."""

    isolation: Isolation
    placement: Placement
    # cpu, memory, pids, disk, root_disk (what a persistent sandbox changes in its root), open_files, output,
    # wall_time, cpu_time.
    limits: Dict[str, Literal["none", "per_process", "enforced"]]
    kill_tree: Literal["best_effort", "sure"]
    network: Literal["none", "deny", "rules"]
    pause: Literal["none", "processes", "memory"]
    snapshot: bool
    # A snapshot holds the memory of its processes, too.
    checkpoint: bool
    fork: bool
    # A sandbox can be made as new for its next user.
    reset: bool
    resize: bool
    # Whole processors and reserved memory for one sandbox.
    dedicated: bool
    pty: bool
    watch: bool
    ports: bool
    gpu: bool
    direct_stdio: bool
    own_root: bool
    # The home of its user can be elsewhere than usual.
    homes: bool
    # A directory of the host can be the root file system.
    root_dir: bool
    # And it makes no sandbox without one.
    needs_root_dir: bool
    # A template can be the root file system.
    templates: bool
    # An image can be the root file system, by its name.
    images: bool
    # What is changed in the root file system can be kept.
    writable_root: bool
    # What the engine can run containers with besides its own, and what that isolates.
    runtimes: List[DriverCapabilitiesRuntimesItem]
    # Commands can run as any user of the sandbox.
    users: bool
    host_dir_ro: bool
    host_dir_rw: bool
    host_dir_cow: bool
    # Directories below roots that a profile names can be shown.
    host_dir_roots: bool
    # A sandbox can be in the engine's own network, where a profile allows it.
    bridge: bool
    # A sandbox can be shown the engine's socket, where a profile allows it.
    engine_socket: bool
    max_lifetime_s: int
    # US dollars.
    price_per_hour: float
    typical_start_ms: float
    not_protected: List[str]


class DriverCapabilitiesRuntimesItem(TypedDict, total=False):
    name: str
    isolation: Isolation


_EventRequired = TypedDict("_EventRequired", {
    "id": str,
    # `sandbox.` and the state, or its health when that alone has changed, or `sandbox.progress`; `driver.` and what
    # has become of a driver: `down`, `healthy`, `circuit_open`, `circuit_closed`; or `reset`.
    "type": str,
})


_EventOptional = TypedDict("_EventOptional", {
    "at": str,
    "sandbox": str,
    "name": str,
    "driver": str,
    "from": str,
    "state": str,
    # Of an event that tells of this alone.
    "health": Literal["ok", "unresponsive", "recovering", "failed"],
    # Of `sandbox.progress`: how far an image is that is fetched (`pull`) or loaded (`load`) for it, twice a second
    # at most.
    "progress": "EventProgress",
    "run": bool,
    "reason": str,
    # Of one that begins to wait for its turn.
    "queue_position": int,
}, total=False)


class Event(_EventRequired, _EventOptional):
    """Some of its fields have names that Python keeps for itself."""


class EventProgress(TypedDict):
    """
    Of `sandbox.progress`: how far an image is that is fetched (`pull`) or loaded (`load`) for it, twice a second at
    most.
    """

    stage: str
    # Bytes.
    done: int
    # As far as it is known; it may grow. 0: it is not known.
    total: int


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
    # With `memory` the processes go on in each copy.
    kind: Literal["disk", "memory"]


class _HostDirRequired(TypedDict):
    # Absolute.
    path: str


class HostDir(_HostDirRequired, total=False):
    # Absolute in the sandbox. Absent: the same path.
    guest_path: str
    # Read-only, read and write, or a copy that is made as it is written to.
    access: Literal["ro", "rw", "cow"]
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
    # Of the tenant's sandboxes together, like those that follow. None of them is told to a token.
    cpus: Optional[float]
    cpus_now: float
    memory_mb: Optional[int]
    memory_mb_now: int
    disk_mb: Optional[int]
    disk_mb_now: int
    creates_per_s: Optional[float]
    # Creates and runs under way; more wait for their turn.
    at_once: Optional[int]
    at_once_now: int
    min_isolation: Isolation
    placement: Placement
    # Creates and runs of the tenant that wait for their turn.
    waiting_now: int
    # How many may wait, of all tenants.
    queue: int
    # The most that a request may wait.
    queue_timeout_ms: int
    # How long one waits that does not say.
    queue_timeout_default_ms: int
    # Of the tenant. Absent for a sandbox's token.
    snapshots: int
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
    # `read`: for viewers, who see files, output and what there is, and change nothing.
    mode: Literal["use", "read"]


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


class OpenSession(TypedDict, total=False):
    # Who shares the sandbox. Absent: as the profile says, or `session`.
    scope: Literal["session", "agent", "workspace", "shared"]
    # The name of the workspace, or of the agent; absent for an agent it is the caller, for `shared` it is `all`.
    key: str
    # It ends when nobody renews it for so long.
    ttl_s: int
    # What becomes of the sandbox when the last session lets go; settled when it is made.
    on_last: Literal["kill", "stop", "pause"]
    # How it is made if it is not there. If it is there it must be the same; absent, it is taken as it is.
    sandbox: CreateSandbox


class PatchSandbox(TypedDict):
    """What is absent stays as it is."""

    resources: Resources


_PlanRequired = TypedDict("_PlanRequired", {
    # With its version; `none` without one.
    "profile": str,
    "strategy": "Strategy",
    # Whether any driver would take it.
    "served": bool,
    # Why not; empty when it would be served.
    "problem": str,
    "placement": "Placement",
    "resources": "Resources",
    # In the order in which they would be asked, then those that are refused.
    "drivers": List["PlannedDriver"],
})


_PlanOptional = TypedDict("_PlanOptional", {
    # The named route, when there is one.
    "run_mode": str,
    # That would be asked first.
    "driver": str,
    "isolation": "Isolation",
    "min_isolation": "Isolation",
    "ttl_s": int,
    "timeout_ms": int,
    "as": str,
    # With `as`, what that driver does otherwise than the chosen one.
    "changes": List["PlanChange"],
}, total=False)


class Plan(_PlanRequired, _PlanOptional):
    """Some of its fields have names that Python keeps for itself."""


_PlanChangeRequired = TypedDict("_PlanChangeRequired", {
    # A capability.
    "what": str,
    "from": str,
    "to": str,
})


class PlanChange(_PlanChangeRequired):
    """Some of its fields have names that Python keeps for itself."""


class _PlannedDriverRequired(TypedDict):
    driver: str
    verdict: Literal["chosen", "fallback", "refused"]
    # In words.
    reason: str


class PlannedDriver(_PlannedDriverRequired, total=False):
    isolation: Isolation
    placement: Placement
    health: Literal["unknown", "healthy", "failing", "down", "recovering"]
    # How long a create takes there.
    start_ms: float
    # By this daemon, lately; otherwise the driver declares it.
    start_measured: bool
    # Of what is asked, in US dollars; absent when it is not known.
    price_per_hour: float
    weight: int


class _PoolRequired(TypedDict):
    name: str
    # A profile that has `pool`, or somebody who has made it here.
    source: Literal["profile", "operator"]
    resources: Resources
    min: int
    target: int
    max: int
    idle_s: int
    max_age_s: int
    # How many should be ready now.
    level: int
    # How many are.
    ready: int
    # How many are being made.
    filling: int
    # Requests that got one, from the request to the sandbox.
    hits: PoolTimes
    # Requests for which one had to be made.
    misses: PoolTimes
    # Of all those; null before the first.
    hit_rate: Optional[float]
    # Sandboxes that were made ahead.
    fills: PoolTimes
    # Those that came to nothing.
    failures: int
    # Made ahead, and ended before anybody had them.
    discarded: int


class Pool(_PoolRequired, total=False):
    profile: str
    driver: str
    image: str
    template: str
    runtime: str
    min_isolation: Isolation
    placement: Placement
    network: Literal["none", "bridge"]
    # Absent: ephemeral.
    persistence: Literal["ephemeral", "persistent", "checkpoint"]
    # Why the last one came to nothing. Absent: it did not.
    trouble: str


class PoolTimes(TypedDict):
    """So many, and how long they took."""

    count: int
    mean_ms: float
    last_ms: float


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
    # The limit that was met, as GET /v1/limits calls it; `host_…` is of all tenants together, `driver_…` of a
    # driver, `queue` and `creations` of the daemon.
    limit: str
    limit_most: float
    limit_used: float
    # How much more the request asked for.
    limit_asked: float
    # Where the request was in the queue when its time was up; 1 is the next.
    queue_position: int
    queue_length: int
    # As Retry-After says.
    retry_after_s: int
    # The id of the sandbox that could not be made; GET /v1/sandboxes/{id}/start knows it, too.
    sandbox: str
    # How far its start came, the failed stage last.
    stages: List[Stage]


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


_ProfileRequired = TypedDict("_ProfileRequired", {
    "name": str,
    "version": int,
    # `NAME@VERSION`.
    "reference": str,
    "description": str,
    "source": Literal["built-in", "operator", "project"],
    # Itself, what it inherits, what that inherits.
    "chain": List[str],
    "settings": "ProfileSettings",
    # Which profile of the chain says each setting.
    "from": Dict[str, str],
})


class Profile(_ProfileRequired):
    """Some of its fields have names that Python keeps for itself."""


class ProfileCommand(TypedDict):
    # For `sh -c`.
    run: str
    timeout_ms: int


class _ProfileSettingsRequired(TypedDict):
    resources: Resources


class ProfileSettings(_ProfileSettingsRequired, total=False):
    min_isolation: Isolation
    placement: Placement
    persistence: Literal["ephemeral", "persistent", "checkpoint"]
    checkpoint: SnapshotKind
    lifecycle: Literal["session", "persistent", "workspace", "ephemeral"]
    # `run`: for single commands only. The last three: made by opening a session.
    scope: Literal["session", "run", "agent", "workspace", "shared"]
    # How directories of the host may be shown, at most.
    workspace: Literal["isolated", "ro", "cow", "rw"]
    # At most; `bridge` is the network of a container engine.
    network: Literal["none", "bridge"]
    # Directories of the host must lie below one of these.
    mount_roots: List[str]
    # Its sandboxes are shown the engine's socket, and count as isolation `none`.
    allow_docker_socket: bool
    ttl_s: int
    idle_s: int
    on_expire: OnEnd
    on_idle: OnEnd
    # How long it is kept after ttl_s.
    keep_s: int
    on_failure: OnFailure
    # Of commands that name none.
    timeout_ms: int
    image: str
    template: str
    user: str
    home: str
    workdir: str
    # Packages that are installed before anybody gets the sandbox.
    dependencies: ProfileSettingsDependencies
    # How much of the start is kept for the next sandbox, where the driver has snapshots.
    layer: Literal["none", "dependencies", "setup"]
    # Commands for `sh -c` that are run before anybody gets the sandbox.
    setup: List[ProfileCommand]
    # Programs that must be in the sandbox, such as `git` or `python>=3.11`.
    requires: List[str]
    # Commands for `sh -c` that are run in the sandbox whenever it has started, and before it is stopped or removed.
    hooks: ProfileSettingsHooks
    # Asked until it says yes, a command or a port.
    readiness: ProfileSettingsReadiness
    # How many sandboxes are kept ready; see `CreatePool`.
    pool: ProfileSettingsPool
    # The names of its variables; their values are not told.
    env: List[str]
    labels: Dict[str, str]
    # The order of preference.
    drivers: List[str]
    # What may follow. Absent: any other.
    fallback: List[str]
    strategy: Strategy
    # Which a driver must have.
    driver_labels: Dict[str, str]


class ProfileSettingsDependencies(TypedDict, total=False):
    """Packages that are installed before anybody gets the sandbox."""

    pip: List[str]
    npm: List[str]
    # By root, in a root file system of the sandbox's own.
    apt: List[str]


class ProfileSettingsHooks(TypedDict, total=False):
    """Commands for `sh -c` that are run in the sandbox whenever it has started, and before it is stopped or removed."""

    after_start: List[ProfileCommand]
    before_stop: List[ProfileCommand]


class ProfileSettingsReadiness(TypedDict, total=False):
    """Asked until it says yes, a command or a port."""

    run: str
    port: int
    interval_ms: int
    timeout_ms: int


class ProfileSettingsPool(TypedDict, total=False):
    """How many sandboxes are kept ready; see `CreatePool`."""

    min: int
    target: int
    max: int
    idle_s: int
    max_age_s: int


class _ProfileSummaryRequired(TypedDict):
    name: str
    version: int
    # `NAME@VERSION`.
    reference: str
    description: str
    source: Literal["built-in", "operator", "project"]
    resources: Resources


class ProfileSummary(_ProfileSummaryRequired, total=False):
    min_isolation: Isolation


class Release(TypedDict, total=False):
    # Nothing of it is kept, with `persistence: checkpoint` neither; it is destroyed in any case.
    corrupted: bool


class RemoveFile(TypedDict, total=False):
    path: str
    # Instead of `path`, for one that is not UTF-8.
    path_b64: str
    recursive: bool


class Renew(TypedDict, total=False):
    # Absent: as long as it was given at first.
    ttl_s: int


class RenewSession(TypedDict, total=False):
    # Absent: as it was.
    ttl_s: int


class Reset(TypedDict, total=False):
    # For every command from now on. Never stored or told.
    env: Dict[str, str]


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
    # Whose the processors are. shared: everybody's, in equal parts under load. limited: the same, with a ceiling
    # that is there. burstable: by `cpu_weight` under load, with `cpu` as a ceiling if it is given. dedicated: `cpu`
    # whole processors are this sandbox's alone, and `memory_mb` is kept for it. Settled when the sandbox is made.
    sharing: Literal["shared", "limited", "burstable", "dedicated"]


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
    # With its version, `python@2`; `none` without one.
    profile: str
    labels: Dict[str, str]
    resources: Resources
    created_at: str
    expires_at: Optional[str]
    last_active_at: str
    # Where the time of its creation went. `pool` instead of `create`: it was made ahead.
    stages: List[Stage]


class Sandbox(_SandboxRequired, total=False):
    # How long it is there: until its time is up; as long as its run; until somebody gets it from its pool; as long
    # as sessions share it; as long as the server.
    lifecycle: Literal["session", "ephemeral", "pooled", "workspace", "persistent"]
    # The named route that it was asked with.
    run_mode: str
    user_id: str
    # `NAME:TAG` that its root file system is of.
    template: str
    # That its root file system is of.
    image: str
    # Of its engine, when it was given.
    runtime: str
    # Absent: ephemeral.
    persistence: Literal["ephemeral", "persistent", "checkpoint"]
    # What is kept of it when it ends. Absent: nothing.
    checkpoint: SandboxCheckpoint
    # Absent: none.
    network: Literal["none", "bridge"]
    # The id of the one that it was made from.
    snapshot: str
    # How often it was made anew. Absent: never.
    resets: int
    # Of commands that name none, when it was given.
    user: str
    # Instead of user when that is not UTF-8.
    user_b64: str
    # Of commands that name none, when it was given.
    cwd: str
    cwd_b64: str
    # Of commands that name none, when a profile says it.
    timeout_ms: int
    idle_s: int
    on_expire: OnEnd
    on_idle: OnEnd
    # When nothing of it is left, if it is kept after expires_at.
    kept_until: str
    # Why it is stopped or paused though nobody asked: whoever uses it next wakes it. Absent: it does not rest.
    rest: Literal["idle", "expired"]
    on_failure: OnFailure
    # Absent: it is well.
    health: Literal["unresponsive", "recovering", "failed"]
    # How often it was made anew because it had failed. Absent: never.
    recoveries: int
    # Why it failed, when it did.
    failure: str
    # That it came from, or waits in. Absent: none.
    pool: str
    # It waits in that pool and is nobody's; only administrators see such. Absent: it is somebody's.
    parked: Literal[True]
    # Of one that waits for its turn to be made; 1 is the next.
    queue_position: int


class SandboxCheckpoint(TypedDict):
    """What is kept of it when it ends. Absent: nothing."""



class _ServerSentEventRequired(TypedDict):
    data: str


class ServerSentEvent(_ServerSentEventRequired, total=False):
    """One event as browsers read it; `data` is what a line would be."""

    id: str
    # The `type` of what is in `data`.
    event: str


class Session(TypedDict):
    id: str
    tenant: str
    # Who opened it.
    owner: str
    scope: SessionScope
    # Empty for a session of its own.
    key: str
    # The id of the sandbox that it holds.
    sandbox: str
    # Sessions that hold this sandbox now.
    holders: int
    created_at: str
    # It ends then unless it is renewed.
    expires_at: str


class Shutdown(TypedDict):
    # Leave them to the next daemon, or end them.
    sandboxes: Literal["leave", "end"]


class Signal(TypedDict):
    # A number, or a name with or without SIG.
    signal: Union[int, str]


class _SnapshotRequired(TypedDict):
    id: str
    # Empty when it has none.
    name: str
    tenant: str
    # Who made it: a key's id, `uid:N`, or `socket`.
    owner: str
    state: SnapshotState
    kind: SnapshotKind
    # Which has it, and makes sandboxes from it.
    driver: str
    isolation: Isolation
    # The id of the sandbox that it is of, which may have ended.
    sandbox: str
    # As the driver tells it; of an image, with what it shares with others.
    bytes: int
    # Files that could not be read, and pipes, sockets and devices.
    left_out: int
    labels: Dict[str, str]
    resources: Resources
    created_at: str


class Snapshot(_SnapshotRequired, total=False):
    template: str
    image: str
    runtime: str
    # Absent: ephemeral.
    persistence: Literal["ephemeral", "persistent", "checkpoint"]
    # The name of the sandbox that has left it when it ended; the next one of that name begins with the newest.
    # Absent: somebody has taken it.
    checkpoint_of: str


class _StageRequired(TypedDict):
    name: str
    ms: float


class Stage(_StageRequired, total=False):
    # Why it failed, or what hooks of its profile said last. Absent when there is nothing to tell.
    log: str


class _StartRecordRequired(TypedDict):
    id: str
    # Empty when it has none.
    name: str
    driver: str
    state: State
    created_at: str
    stages: List[Stage]


class StartRecord(_StartRecordRequired, total=False):
    # Absent: it has not ended.
    ended_at: str
    # Why it failed or ended.
    failure: str


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


class ListProfilesAnswer(TypedDict):
    profiles: List[ProfileSummary]


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


class ListSnapshotsAnswer(TypedDict):
    snapshots: List[Snapshot]


class ListPoolsAnswer(TypedDict):
    pools: List[Pool]


class ListSessionsAnswer(TypedDict):
    sessions: List[Session]


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
PlanBody = CreateSandbox
PlanAnswer = Plan
GetProfileAnswer = Profile
GetSandboxAnswer = Sandbox
PatchSandboxBody = PatchSandbox
PatchSandboxAnswer = Sandbox
StopSandboxAnswer = Sandbox
SandboxStartAnswer = StartRecord
StartSandboxAnswer = Sandbox
RecreateSandboxAnswer = Sandbox
ResetSandboxBody = Reset
ResetSandboxAnswer = Sandbox
ReleaseSandboxBody = Release
RenewSandboxBody = Renew
RenewSandboxAnswer = Sandbox
PauseSandboxAnswer = Sandbox
ResumeSandboxAnswer = Sandbox
SnapshotSandboxBody = CreateSnapshot
CreateSnapshotBody = CreateSnapshot
CreateSnapshotAnswer = Snapshot
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
GetSnapshotAnswer = Snapshot
CreatePoolBody = CreatePool
CreatePoolAnswer = Pool
GetPoolAnswer = Pool
ChangePoolBody = ChangePool
ChangePoolAnswer = Pool
DrainPoolAnswer = Pool
AcquireSandboxBody = Acquire
AcquireSandboxAnswer = Sandbox
OpenSessionBody = OpenSession
OpenSessionAnswer = Session
GetSessionAnswer = Session
RenewSessionBody = RenewSession
RenewSessionAnswer = Session
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
DrainPoolBody = Nothing
