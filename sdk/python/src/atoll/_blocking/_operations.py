# Generated from aio/_operations.py by sdk/generate.py. Change that.
# Generated from docs/openapi.yaml by sdk/generate.py. Change those.
"""A method for each operation of the API that is a question and an answer."""

from __future__ import annotations

from typing import List, Literal, Optional

from .._table import OPERATIONS
from ..models import (
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
)
from ._transport import Response, Source, Transport


class Operations:
    """The API itself. What is not given is not sent, and the daemon's own default holds."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list_sandboxes(
        self, *, state: Optional[State] = None, driver: Optional[str] = None, name: Optional[str] = None,
        user_id: Optional[str] = None, label: Optional[List[str]] = None, tenant: Optional[str] = None,
        limit: Optional[int] = None, cursor: Optional[str] = None, timeout: Optional[float] = None,
    ) -> ListSandboxesAnswer:
        """List sandboxes"""
        answer: ListSandboxesAnswer = self._transport.call(
            OPERATIONS["listSandboxes"], query={"state": state, "driver": driver, "name": name, "user_id": user_id,
            "label": label, "tenant": tenant, "limit": limit, "cursor": cursor}, timeout=timeout,
        )
        return answer

    def create_sandbox(
        self, body: CreateSandboxBody, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None,
    ) -> CreateSandboxAnswer:
        """Create a sandbox"""
        answer: CreateSandboxAnswer = self._transport.call(
            OPERATIONS["createSandbox"], body=body, header={"Idempotency-Key": idempotency_key}, timeout=timeout,
        )
        return answer

    def explain_sandbox(
        self, body: ExplainSandboxBody, *, timeout: Optional[float] = None,
    ) -> ExplainSandboxAnswer:
        """What creating a sandbox would do, and on which driver"""
        answer: ExplainSandboxAnswer = self._transport.call(
            OPERATIONS["explainSandbox"], body=body, timeout=timeout,
        )
        return answer

    def plan(
        self, body: PlanBody, *, as_: Optional[str] = None, timeout: Optional[float] = None,
    ) -> PlanAnswer:
        """Which way a request would go, and why each driver would or would not do"""
        answer: PlanAnswer = self._transport.call(
            OPERATIONS["plan"], body=body, query={"as": as_}, timeout=timeout,
        )
        return answer

    def list_profiles(
        self, *, timeout: Optional[float] = None,
    ) -> ListProfilesAnswer:
        """The recipes that sandboxes can be made by"""
        answer: ListProfilesAnswer = self._transport.call(
            OPERATIONS["listProfiles"], timeout=timeout,
        )
        return answer

    def get_profile(
        self, name: str, *, timeout: Optional[float] = None,
    ) -> GetProfileAnswer:
        """One profile, with everything that it inherits"""
        answer: GetProfileAnswer = self._transport.call(
            OPERATIONS["getProfile"], path={"name": name}, timeout=timeout,
        )
        return answer

    def get_sandbox(
        self, id: str, *, timeout: Optional[float] = None,
    ) -> GetSandboxAnswer:
        """One sandbox"""
        answer: GetSandboxAnswer = self._transport.call(
            OPERATIONS["getSandbox"], path={"id": id}, timeout=timeout,
        )
        return answer

    def delete_sandbox(
        self, id: str, *, discard: Optional[bool] = None, timeout: Optional[float] = None,
    ) -> None:
        """Destroy a sandbox and everything in it"""
        self._transport.call(
            OPERATIONS["deleteSandbox"], path={"id": id}, query={"discard": discard}, timeout=timeout,
        )

    def patch_sandbox(
        self, id: str, body: PatchSandboxBody, *, timeout: Optional[float] = None,
    ) -> PatchSandboxAnswer:
        """Change a sandbox that is there"""
        answer: PatchSandboxAnswer = self._transport.call(
            OPERATIONS["patchSandbox"], path={"id": id}, body=body, timeout=timeout,
        )
        return answer

    def sandbox_stats(
        self, id: str, *, timeout: Optional[float] = None,
    ) -> SandboxStatsAnswer:
        """What a sandbox uses now"""
        answer: SandboxStatsAnswer = self._transport.call(
            OPERATIONS["sandboxStats"], path={"id": id}, timeout=timeout,
        )
        return answer

    def stop_sandbox(
        self, id: str, body: Optional[StopSandboxBody] = None, *, timeout: Optional[float] = None,
    ) -> StopSandboxAnswer:
        """End every process and keep the workspace"""
        answer: StopSandboxAnswer = self._transport.call(
            OPERATIONS["stopSandbox"], path={"id": id}, body=body, timeout=timeout,
        )
        return answer

    def sandbox_start(
        self, id: str, *, timeout: Optional[float] = None,
    ) -> SandboxStartAnswer:
        """How a sandbox began, stage by stage"""
        answer: SandboxStartAnswer = self._transport.call(
            OPERATIONS["sandboxStart"], path={"id": id}, timeout=timeout,
        )
        return answer

    def start_sandbox(
        self, id: str, body: Optional[StartSandboxBody] = None, *, timeout: Optional[float] = None,
    ) -> StartSandboxAnswer:
        """Go on after a stop, with the same workspace"""
        answer: StartSandboxAnswer = self._transport.call(
            OPERATIONS["startSandbox"], path={"id": id}, body=body, timeout=timeout,
        )
        return answer

    def recreate_sandbox(
        self, id: str, body: Optional[RecreateSandboxBody] = None, *, timeout: Optional[float] = None,
    ) -> RecreateSandboxAnswer:
        """Same id, same workspace, fresh processes"""
        answer: RecreateSandboxAnswer = self._transport.call(
            OPERATIONS["recreateSandbox"], path={"id": id}, body=body, timeout=timeout,
        )
        return answer

    def reset_sandbox(
        self, id: str, body: Optional[ResetSandboxBody] = None, *, timeout: Optional[float] = None,
    ) -> ResetSandboxAnswer:
        """Make it anew for its next user"""
        answer: ResetSandboxAnswer = self._transport.call(
            OPERATIONS["resetSandbox"], path={"id": id}, body=body, timeout=timeout,
        )
        return answer

    def release_sandbox(
        self, id: str, body: Optional[ReleaseSandboxBody] = None, *, timeout: Optional[float] = None,
    ) -> None:
        """Give a sandbox back"""
        self._transport.call(
            OPERATIONS["releaseSandbox"], path={"id": id}, body=body, timeout=timeout,
        )

    def renew_sandbox(
        self, id: str, body: Optional[RenewSandboxBody] = None, *, timeout: Optional[float] = None,
    ) -> RenewSandboxAnswer:
        """Move the end; the time to live counts from now"""
        answer: RenewSandboxAnswer = self._transport.call(
            OPERATIONS["renewSandbox"], path={"id": id}, body=body, timeout=timeout,
        )
        return answer

    def pause_sandbox(
        self, id: str, body: Optional[PauseSandboxBody] = None, *, timeout: Optional[float] = None,
    ) -> PauseSandboxAnswer:
        """Freeze"""
        answer: PauseSandboxAnswer = self._transport.call(
            OPERATIONS["pauseSandbox"], path={"id": id}, body=body, timeout=timeout,
        )
        return answer

    def resume_sandbox(
        self, id: str, body: Optional[ResumeSandboxBody] = None, *, timeout: Optional[float] = None,
    ) -> ResumeSandboxAnswer:
        """Go on after a pause"""
        answer: ResumeSandboxAnswer = self._transport.call(
            OPERATIONS["resumeSandbox"], path={"id": id}, body=body, timeout=timeout,
        )
        return answer

    def snapshot_sandbox(
        self, id: str, body: Optional[SnapshotSandboxBody] = None, *, timeout: Optional[float] = None,
    ) -> SnapshotSandboxAnswer:
        """Take a snapshot, and be told its id alone"""
        answer: SnapshotSandboxAnswer = self._transport.call(
            OPERATIONS["snapshotSandbox"], path={"id": id}, body=body, timeout=timeout,
        )
        return answer

    def create_snapshot(
        self, id: str, body: Optional[CreateSnapshotBody] = None, *, timeout: Optional[float] = None,
    ) -> CreateSnapshotAnswer:
        """Keep a sandbox as it is, to make others from it"""
        answer: CreateSnapshotAnswer = self._transport.call(
            OPERATIONS["createSnapshot"], path={"id": id}, body=body, timeout=timeout,
        )
        return answer

    def fork_sandbox(
        self, id: str, body: Optional[ForkSandboxBody] = None, *, timeout: Optional[float] = None,
    ) -> ForkSandboxAnswer:
        """Copies that go their own way"""
        answer: ForkSandboxAnswer = self._transport.call(
            OPERATIONS["forkSandbox"], path={"id": id}, body=body, timeout=timeout,
        )
        return answer

    def resize_sandbox(
        self, id: str, body: ResizeSandboxBody, *, timeout: Optional[float] = None,
    ) -> ResizeSandboxAnswer:
        """Change the limits of a running sandbox"""
        answer: ResizeSandboxAnswer = self._transport.call(
            OPERATIONS["resizeSandbox"], path={"id": id}, body=body, timeout=timeout,
        )
        return answer

    def exec(
        self, id: str, body: ExecBody, *, on_disconnect: Optional[Literal["keep", "kill"]] = None,
        timeout: Optional[float] = None,
    ) -> ExecAnswer:
        """Run a command"""
        answer: ExecAnswer = self._transport.call(
            OPERATIONS["exec"], path={"id": id}, body=body, query={"on_disconnect": on_disconnect}, timeout=timeout,
        )
        return answer

    def run(
        self, body: RunBody, *, timeout: Optional[float] = None,
    ) -> RunAnswer:
        """Create, exec and destroy in one call"""
        answer: RunAnswer = self._transport.call(
            OPERATIONS["run"], body=body, timeout=timeout,
        )
        return answer

    def run_batch(
        self, body: RunBatchBody, *, timeout: Optional[float] = None,
    ) -> RunBatchAnswer:
        """Many runs, each in a sandbox of its own"""
        answer: RunBatchAnswer = self._transport.call(
            OPERATIONS["runBatch"], body=body, timeout=timeout,
        )
        return answer

    def read_file(
        self, id: str, *, path: Optional[str] = None, path_b64: Optional[str] = None, timeout: Optional[float] = None,
    ) -> Response:
        """The bytes of a file"""
        return self._transport.open(
            OPERATIONS["readFile"], path={"id": id}, query={"path": path, "path_b64": path_b64}, timeout=timeout,
        )

    def write_file(
        self, id: str, body: Source, *, path: Optional[str] = None, path_b64: Optional[str] = None,
        mode: Optional[str] = None, parents: Optional[bool] = None, upload: Optional[str] = None,
        offset: Optional[int] = None, size: Optional[int] = None, timeout: Optional[float] = None,
    ) -> WriteFileAnswer:
        """Write a file whole, or a large one in parts"""
        answer: WriteFileAnswer = self._transport.call(
            OPERATIONS["writeFile"], path={"id": id}, body=body, query={"path": path, "path_b64": path_b64,
            "mode": mode, "parents": parents, "upload": upload, "offset": offset, "size": size}, timeout=timeout,
        )
        return answer

    def delete_file(
        self, id: str, *, path: Optional[str] = None, path_b64: Optional[str] = None, recursive: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> None:
        """Remove a file or a directory"""
        self._transport.call(
            OPERATIONS["deleteFile"], path={"id": id}, query={"path": path, "path_b64": path_b64,
            "recursive": recursive}, timeout=timeout,
        )

    def list_files(
        self, id: str, *, path: Optional[str] = None, path_b64: Optional[str] = None, timeout: Optional[float] = None,
    ) -> ListFilesAnswer:
        """What is in a directory, by name"""
        answer: ListFilesAnswer = self._transport.call(
            OPERATIONS["listFiles"], path={"id": id}, query={"path": path, "path_b64": path_b64}, timeout=timeout,
        )
        return answer

    def stat_file(
        self, id: str, *, path: Optional[str] = None, path_b64: Optional[str] = None, timeout: Optional[float] = None,
    ) -> StatFileAnswer:
        """One file or directory; a symbolic link itself"""
        answer: StatFileAnswer = self._transport.call(
            OPERATIONS["statFile"], path={"id": id}, query={"path": path, "path_b64": path_b64}, timeout=timeout,
        )
        return answer

    def make_directory(
        self, id: str, body: MakeDirectoryBody, *, timeout: Optional[float] = None,
    ) -> None:
        """Make a directory"""
        self._transport.call(
            OPERATIONS["makeDirectory"], path={"id": id}, body=body, timeout=timeout,
        )

    def move_file(
        self, id: str, body: MoveFileBody, *, timeout: Optional[float] = None,
    ) -> None:
        """Rename"""
        self._transport.call(
            OPERATIONS["moveFile"], path={"id": id}, body=body, timeout=timeout,
        )

    def remove_file(
        self, id: str, body: RemoveFileBody, *, timeout: Optional[float] = None,
    ) -> None:
        """Remove, as DELETE does"""
        self._transport.call(
            OPERATIONS["removeFile"], path={"id": id}, body=body, timeout=timeout,
        )

    def upload_status(
        self, id: str, *, path: Optional[str] = None, path_b64: Optional[str] = None, upload: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> UploadStatusAnswer:
        """How much of an upload in parts is there; 0 for one that has not begun or is done"""
        answer: UploadStatusAnswer = self._transport.call(
            OPERATIONS["uploadStatus"], path={"id": id}, query={"path": path, "path_b64": path_b64, "upload": upload},
            timeout=timeout,
        )
        return answer

    def find_files(
        self, id: str, *, path: Optional[str] = None, path_b64: Optional[str] = None, name: Optional[str] = None,
        kind: Optional[FileKind] = None, depth: Optional[int] = None, limit: Optional[int] = None,
        timeout_ms: Optional[int] = None, timeout: Optional[float] = None,
    ) -> FindFilesAnswer:
        """Files below a directory, by name and kind"""
        answer: FindFilesAnswer = self._transport.call(
            OPERATIONS["findFiles"], path={"id": id}, query={"path": path, "path_b64": path_b64, "name": name,
            "kind": kind, "depth": depth, "limit": limit, "timeout_ms": timeout_ms}, timeout=timeout,
        )
        return answer

    def grep_files(
        self, id: str, *, pattern: str, path: Optional[str] = None, path_b64: Optional[str] = None,
        fixed: Optional[bool] = None, ignore_case: Optional[bool] = None, include: Optional[str] = None,
        limit: Optional[int] = None, timeout_ms: Optional[int] = None, timeout: Optional[float] = None,
    ) -> GrepFilesAnswer:
        """Lines that match a pattern"""
        answer: GrepFilesAnswer = self._transport.call(
            OPERATIONS["grepFiles"], path={"id": id}, query={"path": path, "path_b64": path_b64, "pattern": pattern,
            "fixed": fixed, "ignore_case": ignore_case, "include": include, "limit": limit, "timeout_ms": timeout_ms},
            timeout=timeout,
        )
        return answer

    def watch_files(
        self, id: str, *, path: Optional[str] = None, path_b64: Optional[str] = None, recursive: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> Response:
        """What happens to files, as it happens"""
        return self._transport.open(
            OPERATIONS["watchFiles"], path={"id": id}, query={"path": path, "path_b64": path_b64,
            "recursive": recursive}, timeout=timeout,
        )

    def read_archive(
        self, id: str, *, path: Optional[str] = None, path_b64: Optional[str] = None, all_links: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> Response:
        """A directory with everything in it, or a file, as a tar archive"""
        return self._transport.open(
            OPERATIONS["readArchive"], path={"id": id}, query={"path": path, "path_b64": path_b64,
            "all_links": all_links}, timeout=timeout,
        )

    def write_archive(
        self, id: str, body: Source, *, path: Optional[str] = None, path_b64: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> WriteArchiveAnswer:
        """Unpack a tar archive into a directory"""
        answer: WriteArchiveAnswer = self._transport.call(
            OPERATIONS["writeArchive"], path={"id": id}, body=body, query={"path": path, "path_b64": path_b64},
            timeout=timeout,
        )
        return answer

    def write_batch(
        self, id: str, body: WriteBatchBody, *, path: Optional[str] = None, path_b64: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> WriteBatchAnswer:
        """Write many files, with a result for each"""
        answer: WriteBatchAnswer = self._transport.call(
            OPERATIONS["writeBatch"], path={"id": id}, body=body, query={"path": path, "path_b64": path_b64},
            timeout=timeout,
        )
        return answer

    def diff_sandbox(
        self, id: str, *, path: Optional[str] = None, path_b64: Optional[str] = None, timeout: Optional[float] = None,
    ) -> DiffSandboxAnswer:
        """What a sandbox changed in its copies of host directories"""
        answer: DiffSandboxAnswer = self._transport.call(
            OPERATIONS["diffSandbox"], path={"id": id}, query={"path": path, "path_b64": path_b64}, timeout=timeout,
        )
        return answer

    def list_processes(
        self, id: str, *, timeout: Optional[float] = None,
    ) -> ListProcessesAnswer:
        """What runs, and what ran"""
        answer: ListProcessesAnswer = self._transport.call(
            OPERATIONS["listProcesses"], path={"id": id}, timeout=timeout,
        )
        return answer

    def attach_output(
        self, id: str, process: int, *, stdout_offset: Optional[int] = None, stderr_offset: Optional[int] = None,
        max_output_bytes: Optional[int] = None, on_disconnect: Optional[Literal["keep", "kill"]] = None,
        timeout: Optional[float] = None,
    ) -> AttachOutputAnswer:
        """Follow a process, from an offset on"""
        answer: AttachOutputAnswer = self._transport.call(
            OPERATIONS["attachOutput"], path={"id": id, "process": process}, query={"stdout_offset": stdout_offset,
            "stderr_offset": stderr_offset, "max_output_bytes": max_output_bytes, "on_disconnect": on_disconnect},
            timeout=timeout,
        )
        return answer

    def resize_process(
        self, id: str, process: int, body: ResizeProcessBody, *, timeout: Optional[float] = None,
    ) -> None:
        """Change the size of a process's terminal"""
        self._transport.call(
            OPERATIONS["resizeProcess"], path={"id": id, "process": process}, body=body, timeout=timeout,
        )

    def write_stdin(
        self, id: str, process: int, body: Optional[Source] = None, *, eof: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> None:
        """Write to a process that was started with stdin_open"""
        self._transport.call(
            OPERATIONS["writeStdin"], path={"id": id, "process": process}, body=body, query={"eof": eof},
            timeout=timeout,
        )

    def signal_process(
        self, id: str, process: int, body: SignalProcessBody, *, timeout: Optional[float] = None,
    ) -> None:
        """Signal a process and everything below it"""
        self._transport.call(
            OPERATIONS["signalProcess"], path={"id": id, "process": process}, body=body, timeout=timeout,
        )

    def read_logs(
        self, id: str, *, process: Optional[int] = None, stream: Optional[Literal["stdout", "stderr", "all"]] = None,
        tail: Optional[int] = None, follow: Optional[bool] = None, timeout: Optional[float] = None,
    ) -> Response:
        """What a process has said, as text"""
        return self._transport.open(
            OPERATIONS["readLogs"], path={"id": id}, query={"process": process, "stream": stream, "tail": tail,
            "follow": follow}, timeout=timeout,
        )

    def make_token(
        self, id: str, body: Optional[MakeTokenBody] = None, *, timeout: Optional[float] = None,
    ) -> MakeTokenAnswer:
        """Make a token that is good for this sandbox alone"""
        answer: MakeTokenAnswer = self._transport.call(
            OPERATIONS["makeToken"], path={"id": id}, body=body, timeout=timeout,
        )
        return answer

    def list_snapshots(
        self, *, sandbox: Optional[str] = None, timeout: Optional[float] = None,
    ) -> ListSnapshotsAnswer:
        """What is kept of sandboxes"""
        answer: ListSnapshotsAnswer = self._transport.call(
            OPERATIONS["listSnapshots"], query={"sandbox": sandbox}, timeout=timeout,
        )
        return answer

    def get_snapshot(
        self, snapshot: str, *, timeout: Optional[float] = None,
    ) -> GetSnapshotAnswer:
        """One snapshot"""
        answer: GetSnapshotAnswer = self._transport.call(
            OPERATIONS["getSnapshot"], path={"snapshot": snapshot}, timeout=timeout,
        )
        return answer

    def delete_snapshot(
        self, snapshot: str, *, timeout: Optional[float] = None,
    ) -> None:
        """Remove a snapshot"""
        self._transport.call(
            OPERATIONS["deleteSnapshot"], path={"snapshot": snapshot}, timeout=timeout,
        )

    def list_pools(
        self, *, timeout: Optional[float] = None,
    ) -> ListPoolsAnswer:
        """Pools of sandboxes that are made ahead"""
        answer: ListPoolsAnswer = self._transport.call(
            OPERATIONS["listPools"], timeout=timeout,
        )
        return answer

    def create_pool(
        self, body: CreatePoolBody, *, timeout: Optional[float] = None,
    ) -> CreatePoolAnswer:
        """Keep sandboxes of a kind ready"""
        answer: CreatePoolAnswer = self._transport.call(
            OPERATIONS["createPool"], body=body, timeout=timeout,
        )
        return answer

    def get_pool(
        self, pool: str, *, timeout: Optional[float] = None,
    ) -> GetPoolAnswer:
        """One pool"""
        answer: GetPoolAnswer = self._transport.call(
            OPERATIONS["getPool"], path={"pool": pool}, timeout=timeout,
        )
        return answer

    def delete_pool(
        self, pool: str, *, timeout: Optional[float] = None,
    ) -> None:
        """Remove a pool"""
        self._transport.call(
            OPERATIONS["deletePool"], path={"pool": pool}, timeout=timeout,
        )

    def change_pool(
        self, pool: str, body: ChangePoolBody, *, timeout: Optional[float] = None,
    ) -> ChangePoolAnswer:
        """Change the size of a pool"""
        answer: ChangePoolAnswer = self._transport.call(
            OPERATIONS["changePool"], path={"pool": pool}, body=body, timeout=timeout,
        )
        return answer

    def drain_pool(
        self, pool: str, body: Optional[DrainPoolBody] = None, *, timeout: Optional[float] = None,
    ) -> DrainPoolAnswer:
        """End what waits in a pool, and fill it anew"""
        answer: DrainPoolAnswer = self._transport.call(
            OPERATIONS["drainPool"], path={"pool": pool}, body=body, timeout=timeout,
        )
        return answer

    def acquire_sandbox(
        self, pool: str, body: Optional[AcquireSandboxBody] = None, *, idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> AcquireSandboxAnswer:
        """Get a sandbox of a pool"""
        answer: AcquireSandboxAnswer = self._transport.call(
            OPERATIONS["acquireSandbox"], path={"pool": pool}, body=body, header={"Idempotency-Key": idempotency_key},
            timeout=timeout,
        )
        return answer

    def list_sessions(
        self, *, timeout: Optional[float] = None,
    ) -> ListSessionsAnswer:
        """Who holds which sandbox"""
        answer: ListSessionsAnswer = self._transport.call(
            OPERATIONS["listSessions"], timeout=timeout,
        )
        return answer

    def open_session(
        self, body: OpenSessionBody, *, timeout: Optional[float] = None,
    ) -> OpenSessionAnswer:
        """Join the sandbox of a workspace or an agent, or make it"""
        answer: OpenSessionAnswer = self._transport.call(
            OPERATIONS["openSession"], body=body, timeout=timeout,
        )
        return answer

    def get_session(
        self, session: str, *, timeout: Optional[float] = None,
    ) -> GetSessionAnswer:
        """One session"""
        answer: GetSessionAnswer = self._transport.call(
            OPERATIONS["getSession"], path={"session": session}, timeout=timeout,
        )
        return answer

    def close_session(
        self, session: str, *, timeout: Optional[float] = None,
    ) -> None:
        """Let the sandbox go"""
        self._transport.call(
            OPERATIONS["closeSession"], path={"session": session}, timeout=timeout,
        )

    def renew_session(
        self, session: str, body: Optional[RenewSessionBody] = None, *, timeout: Optional[float] = None,
    ) -> RenewSessionAnswer:
        """Hold on to the sandbox"""
        answer: RenewSessionAnswer = self._transport.call(
            OPERATIONS["renewSession"], path={"session": session}, body=body, timeout=timeout,
        )
        return answer

    def list_templates(
        self, *, timeout: Optional[float] = None,
    ) -> ListTemplatesAnswer:
        """The root file systems that sandboxes can be made from"""
        answer: ListTemplatesAnswer = self._transport.call(
            OPERATIONS["listTemplates"], timeout=timeout,
        )
        return answer

    def get_template(
        self, name: str, *, timeout: Optional[float] = None,
    ) -> GetTemplateAnswer:
        """One template, with its versions and what its image says about commands"""
        answer: GetTemplateAnswer = self._transport.call(
            OPERATIONS["getTemplate"], path={"name": name}, timeout=timeout,
        )
        return answer

    def put_template(
        self, name: str, body: Source, *, timeout: Optional[float] = None,
    ) -> PutTemplateAnswer:
        """Add a template, or a new version of one"""
        answer: PutTemplateAnswer = self._transport.call(
            OPERATIONS["putTemplate"], path={"name": name}, body=body, timeout=timeout,
        )
        return answer

    def delete_template(
        self, name: str, *, timeout: Optional[float] = None,
    ) -> None:
        """Remove a template with all of its versions"""
        self._transport.call(
            OPERATIONS["deleteTemplate"], path={"name": name}, timeout=timeout,
        )

    def rollback_template(
        self, name: str, *, timeout: Optional[float] = None,
    ) -> RollbackTemplateAnswer:
        """Go back to the version before"""
        answer: RollbackTemplateAnswer = self._transport.call(
            OPERATIONS["rollbackTemplate"], path={"name": name}, timeout=timeout,
        )
        return answer

    def list_keys(
        self, *, timeout: Optional[float] = None,
    ) -> ListKeysAnswer:
        """List keys"""
        answer: ListKeysAnswer = self._transport.call(
            OPERATIONS["listKeys"], timeout=timeout,
        )
        return answer

    def create_key(
        self, body: CreateKeyBody, *, timeout: Optional[float] = None,
    ) -> CreateKeyAnswer:
        """Make a key"""
        answer: CreateKeyAnswer = self._transport.call(
            OPERATIONS["createKey"], body=body, timeout=timeout,
        )
        return answer

    def revoke_key(
        self, key: str, *, timeout: Optional[float] = None,
    ) -> None:
        """Revoke a key"""
        self._transport.call(
            OPERATIONS["revokeKey"], path={"key": key}, timeout=timeout,
        )

    def who_am_i(
        self, *, timeout: Optional[float] = None,
    ) -> WhoAmIAnswer:
        """Who asks, and what they may do"""
        answer: WhoAmIAnswer = self._transport.call(
            OPERATIONS["whoAmI"], timeout=timeout,
        )
        return answer

    def limits(
        self, *, tenant: Optional[str] = None, timeout: Optional[float] = None,
    ) -> LimitsAnswer:
        """How much the caller may ask for"""
        answer: LimitsAnswer = self._transport.call(
            OPERATIONS["limits"], query={"tenant": tenant}, timeout=timeout,
        )
        return answer

    def list_traces(
        self, *, sandbox: Optional[str] = None, request: Optional[str] = None, limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> ListTracesAnswer:
        """The latest requests that the daemon remembers"""
        answer: ListTracesAnswer = self._transport.call(
            OPERATIONS["listTraces"], query={"sandbox": sandbox, "request": request, "limit": limit}, timeout=timeout,
        )
        return answer

    def get_trace(
        self, trace: str, *, timeout: Optional[float] = None,
    ) -> GetTraceAnswer:
        """What the daemon did for all requests of a trace"""
        answer: GetTraceAnswer = self._transport.call(
            OPERATIONS["getTrace"], path={"trace": trace}, timeout=timeout,
        )
        return answer

    def read_events(
        self, *, after: Optional[str] = None, sandbox: Optional[str] = None, state: Optional[State] = None,
        runs: Optional[bool] = None, limit: Optional[int] = None, last_event_id: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> ReadEventsAnswer:
        """What becomes of sandboxes"""
        answer: ReadEventsAnswer = self._transport.call(
            OPERATIONS["readEvents"], query={"after": after, "sandbox": sandbox, "state": state, "runs": runs,
            "limit": limit}, header={"Last-Event-ID": last_event_id}, timeout=timeout,
        )
        return answer

    def list_drivers(
        self, *, timeout: Optional[float] = None,
    ) -> ListDriversAnswer:
        """What can make sandboxes here"""
        answer: ListDriversAnswer = self._transport.call(
            OPERATIONS["listDrivers"], timeout=timeout,
        )
        return answer

    def version(
        self, *, timeout: Optional[float] = None,
    ) -> VersionAnswer:
        """Which Atoll this is"""
        answer: VersionAnswer = self._transport.call(
            OPERATIONS["version"], timeout=timeout,
        )
        return answer

    def openapi(
        self, *, if_none_match: Optional[str] = None, timeout: Optional[float] = None,
    ) -> OpenapiAnswer:
        """This document"""
        answer: OpenapiAnswer = self._transport.call(
            OPERATIONS["openapi"], header={"If-None-Match": if_none_match}, timeout=timeout,
        )
        return answer

    def shut_down(
        self, body: ShutDownBody, *, timeout: Optional[float] = None,
    ) -> None:
        """End the daemon"""
        self._transport.call(
            OPERATIONS["shutDown"], body=body, timeout=timeout,
        )

    def healthz(
        self, *, timeout: Optional[float] = None,
    ) -> HealthzAnswer:
        """The daemon answers"""
        answer: HealthzAnswer = self._transport.call(
            OPERATIONS["healthz"], timeout=timeout,
        )
        return answer

    def readyz(
        self, *, timeout: Optional[float] = None,
    ) -> ReadyzAnswer:
        """The daemon has taken up its sandboxes and serves"""
        answer: ReadyzAnswer = self._transport.call(
            OPERATIONS["readyz"], timeout=timeout,
        )
        return answer

    def metrics(
        self, *, timeout: Optional[float] = None,
    ) -> Response:
        """Metrics in Prometheus text format"""
        return self._transport.open(
            OPERATIONS["metrics"], timeout=timeout,
        )
