"""Files of a sandbox. Paths are relative to its workspace, or absolute in it; a path in bytes need not be UTF-8."""

from __future__ import annotations

import base64
import json
import os
import secrets
from typing import Any, Dict, Mapping, Optional, Union

from .. import models
from .._table import OPERATIONS
from ..errors import ConnectionLostError, NotFoundError, from_problem
from ._http import Response
from ._stream import Source
from ._transport import Transport

Path = Union[str, bytes]
# So much of a large file goes in one request; what has come stays when the connection breaks.
PART = 32 * 1024 * 1024


def named(name: str, path: Path) -> Dict[str, str]:
    if isinstance(path, bytes):
        return {f"{name}_b64": base64.b64encode(path).decode()}
    return {name: path}


class Files:
    def __init__(self, transport: Transport, sandbox: str) -> None:
        self._transport, self._sandbox = transport, sandbox

    async def _call(self, operation: str, query: Optional[Mapping[str, Any]] = None, body: Any = None,
                    header: Optional[Mapping[str, Any]] = None, timeout: Optional[float] = None) -> Any:
        return await self._transport.call(OPERATIONS[operation], path={"id": self._sandbox}, query=query, body=body,
                                          header=header, timeout=timeout)

    async def open(self, path: Path, *, offset: int = 0, length: Optional[int] = None) -> Response:
        """The bytes of a file in pieces, as they come: read it to its end, or close it."""
        header = None
        if offset or length is not None:
            header = {"Range": f"bytes={offset}-{'' if length is None else offset + length - 1}"}
        return await self._transport.open(OPERATIONS["readFile"], path={"id": self._sandbox}, query=named("path", path),
                                          header=header)

    async def read(self, path: Path, *, offset: int = 0, length: Optional[int] = None,
                   most: int = 256 * 1024 * 1024) -> bytes:
        """All of a file, or a part. One that is longer than `most` is an error."""
        response = await self.open(path, offset=offset, length=length)
        return await response.read(most)

    async def read_text(self, path: Path, *, encoding: str = "utf-8") -> str:
        return (await self.read(path)).decode(encoding)

    async def write(self, path: Path, data: Union[str, Source], *, mode: Optional[int] = None,
                    parents: Optional[bool] = None, if_match: Optional[str] = None) -> models.FileInfo:
        """A file whole: text, bytes, an open file, or an iterator. Readers see the old or the new one, never a part."""
        query = {**named("path", path), "mode": None if mode is None else f"{mode:04o}", "parents": parents}
        answer: models.FileInfo = await self._call(
            "writeFile", query, data.encode() if isinstance(data, str) else data, {"If-Match": if_match})
        return answer

    async def write_many(self, files: Mapping[str, Union[str, bytes]]) -> models.WriteBatchAnswer:
        """Many small files by path; the answer says of each whether it was written."""
        entries = [{"path": name, "text": data} if isinstance(data, str)
                   else {"path": name, "b64": base64.b64encode(data).decode()} for name, data in files.items()]
        answer: models.WriteBatchAnswer = await self._call("writeBatch", None, {"entries": entries})
        return answer

    async def list(self, path: Path = "") -> models.ListFilesAnswer:
        answer: models.ListFilesAnswer = await self._call("listFiles", named("path", path) if path else None)
        return answer

    async def stat(self, path: Path) -> models.FileInfo:
        """Of a link, the link itself."""
        answer: models.FileInfo = await self._call("statFile", named("path", path))
        return answer

    async def exists(self, path: Path) -> bool:
        try:
            await self.stat(path)
            return True
        except NotFoundError:
            await self._call("getSandbox")  # it may be the sandbox that is not there
            return False

    async def mkdir(self, path: Path, *, parents: Optional[bool] = None) -> None:
        body: Dict[str, Any] = dict(named("path", path))
        if parents is not None:
            body["parents"] = parents
        await self._call("makeDirectory", None, body)

    async def move(self, source: Path, destination: Path) -> None:
        await self._call("moveFile", None, {**named("from", source), **named("to", destination)})

    async def remove(self, path: Path, *, recursive: bool = False) -> None:
        await self._call("deleteFile", {**named("path", path), "recursive": recursive})

    async def find(self, path: Path = "", *, name: Optional[str] = None, kind: Optional[str] = None,
                   depth: Optional[int] = None, limit: Optional[int] = None) -> models.FindFilesAnswer:
        """Below a directory, by a pattern as a shell has it, and by kind."""
        where = named("path", path) if path else {}
        answer: models.FindFilesAnswer = await self._call(
            "findFiles", {**where, "name": name, "kind": kind, "depth": depth, "limit": limit})
        return answer

    async def grep(self, pattern: str, path: Path = "", *, fixed: bool = False, ignore_case: bool = False,
                   include: Optional[str] = None, limit: Optional[int] = None) -> models.GrepFilesAnswer:
        """Lines that match a POSIX extended regular expression, or a plain text with `fixed`."""
        where = named("path", path) if path else {}
        answer: models.GrepFilesAnswer = await self._call(
            "grepFiles", {**where, "pattern": pattern, "fixed": fixed, "ignore_case": ignore_case, "include": include,
                          "limit": limit})
        return answer

    async def watch(self, path: Path = "", *, recursive: bool = False) -> Watch:
        """What happens to files from now on."""
        where = named("path", path) if path else {}
        response = await self._transport.open(
            OPERATIONS["watchFiles"], path={"id": self._sandbox}, query={**where, "recursive": recursive},
            header={"Accept": "application/x-ndjson"}, timeout=float("inf"))
        watch = Watch(response)
        await watch.begin()
        return watch

    # Larger things.

    async def upload(self, local: str, path: Path, *, mode: Optional[int] = None, part: int = PART) -> None:
        """A file of this machine, in parts. One whose connection breaks goes on with what has come."""
        upload = secrets.token_hex(16)
        with open(local, "rb") as file:
            size, offset, failures = os.fstat(file.fileno()).st_size, 0, 0
            while True:
                file.seek(offset)
                query = {**named("path", path), "mode": None if mode is None else f"{mode:04o}", "upload": upload,
                         "offset": offset, "size": size}
                try:
                    answer = await self._call("writeFile", query, file.read(part))
                except ConnectionLostError:
                    failures += 1
                    if failures > 3:
                        raise
                    answer = await self._call("uploadStatus", {**named("path", path), "upload": upload})
                    if answer["offset"] == 0 and offset > 0:
                        return  # the last part has come, and the file is in place
                if "offset" not in answer:
                    return
                offset = answer["offset"]

    async def download(self, path: Path, local: str) -> None:
        """Into a file of this machine, which is there when all of it has come."""
        partial = f"{local}.{secrets.token_hex(4)}.partial"
        try:
            async with await self.open(path) as response:
                with open(partial, "xb") as file:
                    while piece := await response.some():
                        file.write(piece)
            os.replace(partial, local)
        finally:
            if os.path.exists(partial):
                os.unlink(partial)

    async def read_archive(self, path: Path = "", *, all_links: bool = False) -> Response:
        """A directory with everything in it as a tar archive, in pieces."""
        where = named("path", path) if path else {}
        return await self._transport.open(OPERATIONS["readArchive"], path={"id": self._sandbox},
                                          query={**where, "all_links": all_links or None})

    async def write_archive(self, archive: Source, path: Path = "") -> models.WriteArchiveAnswer:
        """Unpacks a tar archive into a directory: bytes, an open file, or an iterator."""
        answer: models.WriteArchiveAnswer = await self._call(
            "writeArchive", named("path", path) if path else None, archive, {"Content-Type": "application/x-tar"})
        return answer


class Watch:
    """Events of files: created, modified, deleted, moved, overflow. Close it when enough was seen."""

    def __init__(self, response: Response) -> None:
        self._response = response
        self._lines = response.lines()

    async def begin(self) -> None:
        await self.__anext__()  # ready: everything after it is told

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Dict[str, Any]:
        async for line in self._lines:
            if not line.strip():
                continue
            event: Dict[str, Any] = json.loads(line)
            if event["type"] == "error":
                await self.aclose()
                raise from_problem(event["problem"])
            if event["type"] == "end":
                break
            return event
        await self.aclose()
        raise StopAsyncIteration

    async def __aenter__(self) -> Watch:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._response.aclose()
