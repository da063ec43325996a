// Files of a sandbox. Paths are relative to its workspace, or absolute in it; a path in bytes need not be UTF-8.
import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";

import { ConnectionLostError, NotFoundError, fromProblem, type ProblemLike } from "./errors.js";
import type { Answer, Source, Transport } from "./http.js";
import type {
  FileInfo,
  FindFilesAnswer,
  GrepFilesAnswer,
  ListFilesAnswer,
  WriteArchiveAnswer,
  WriteBatchAnswer,
} from "./models.js";
import type { Operations } from "./operations.js";
import type { Waiting } from "./patience.js";

export type Path = string | Uint8Array;

// So much of a large file goes in one request; what has come stays when the connection breaks.
const PART = 32 * 1024 * 1024;

function named(name: string, path: Path): Record<string, string> {
  if (typeof path === "string") return { [name]: path };
  return { [`${name}_b64`]: Buffer.from(path).toString("base64") };
}

function where(path: Path): Record<string, string> {
  return path.length > 0 ? named("path", path) : {};
}

function octal(mode: number | undefined): string | undefined {
  return mode === undefined ? undefined : mode.toString(8).padStart(4, "0");
}

/** Something that happened to a file; `type` is created, modified, deleted, moved or overflow. */
export interface FileEvent {
  type: string;
  kind?: string;
  path?: string;
  path_b64?: string;
  from?: string;
  from_b64?: string;
}

export class Files {
  constructor(
    private readonly transport: Transport,
    private readonly sandbox: string,
  ) {}

  private call<Name extends keyof Operations>(
    name: Name,
    waiting: Waiting,
    query?: Record<string, unknown>,
    body?: unknown,
    header?: Record<string, unknown>,
  ): Promise<Operations[Name]["answer"]> {
    return this.transport.call(name, { path: { id: this.sandbox }, query, body, header, ...waiting });
  }

  /** The bytes of a file in pieces, as they come: read it to its end, or close it. */
  open(path: Path, options: { offset?: number; length?: number } & Waiting = {}): Promise<Answer> {
    const { offset = 0, length, ...waiting } = options;
    const range = `bytes=${offset}-${length === undefined ? "" : offset + length - 1}`;
    const header = offset > 0 || length !== undefined ? { Range: range } : {};
    return this.transport.open("readFile", { path: { id: this.sandbox }, query: named("path", path), header, ...waiting });
  }

  /** All of a file, or a part. One that is longer than `most` is an error. */
  async read(path: Path, options: { offset?: number; length?: number; most?: number } & Waiting = {}): Promise<Uint8Array> {
    return (await this.open(path, options)).bytes(options.most);
  }

  async readText(path: Path, waiting: Waiting = {}): Promise<string> {
    return Buffer.from(await this.read(path, waiting)).toString("utf8");
  }

  /** A file whole: text, bytes, or a stream. Readers see the old or the new one, never a part. */
  async write(
    path: Path,
    data: Source,
    options: { mode?: number; parents?: boolean; ifMatch?: string } & Waiting = {},
  ): Promise<FileInfo> {
    const { mode, parents, ifMatch, ...waiting } = options;
    const query = { ...named("path", path), mode: octal(mode), parents };
    return (await this.call("writeFile", waiting, query, data, { "If-Match": ifMatch })) as FileInfo;
  }

  /** Many small files by path; the answer says of each whether it was written. */
  writeMany(files: Record<string, string | Uint8Array>, waiting: Waiting = {}): Promise<WriteBatchAnswer> {
    const entries = Object.entries(files).map(([name, data]) => {
      return typeof data === "string" ? { path: name, text: data } : { path: name, b64: Buffer.from(data).toString("base64") };
    });
    return this.call("writeBatch", waiting, undefined, { entries });
  }

  list(path: Path = "", waiting: Waiting = {}): Promise<ListFilesAnswer> {
    return this.call("listFiles", waiting, where(path));
  }

  /** Of a link, the link itself. */
  stat(path: Path, waiting: Waiting = {}): Promise<FileInfo> {
    return this.call("statFile", waiting, named("path", path));
  }

  async exists(path: Path, waiting: Waiting = {}): Promise<boolean> {
    try {
      await this.stat(path, waiting);
      return true;
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      await this.call("getSandbox", waiting); // it may be the sandbox that is not there
      return false;
    }
  }

  async mkdir(path: Path, options: { parents?: boolean } & Waiting = {}): Promise<void> {
    const { parents, ...waiting } = options;
    await this.call("makeDirectory", waiting, undefined, { ...named("path", path), parents });
  }

  async move(source: Path, destination: Path, waiting: Waiting = {}): Promise<void> {
    await this.call("moveFile", waiting, undefined, { ...named("from", source), ...named("to", destination) });
  }

  async remove(path: Path, options: { recursive?: boolean } & Waiting = {}): Promise<void> {
    const { recursive, ...waiting } = options;
    await this.call("deleteFile", waiting, { ...named("path", path), recursive });
  }

  /** Below a directory, by a pattern as a shell has it, and by kind. */
  find(
    path: Path = "",
    options: { name?: string; kind?: FileInfo["kind"]; depth?: number; limit?: number } & Waiting = {},
  ): Promise<FindFilesAnswer> {
    const { signal, timeoutMs, ...query } = options;
    return this.call("findFiles", { signal, timeoutMs }, { ...where(path), ...query });
  }

  /** Lines that match a POSIX extended regular expression, or a plain text with `fixed`. */
  grep(
    pattern: string,
    path: Path = "",
    options: { fixed?: boolean; ignoreCase?: boolean; include?: string; limit?: number } & Waiting = {},
  ): Promise<GrepFilesAnswer> {
    const { signal, timeoutMs, ignoreCase, ...query } = options;
    return this.call("grepFiles", { signal, timeoutMs }, { ...where(path), pattern, ignore_case: ignoreCase, ...query });
  }

  /** What happens to files from now on. */
  async watch(path: Path = "", options: { recursive?: boolean } & Waiting = {}): Promise<Watch> {
    const { recursive, signal, timeoutMs = Infinity } = options;
    const answer = await this.transport.open("watchFiles", {
      path: { id: this.sandbox },
      query: { ...where(path), recursive },
      header: { Accept: "application/x-ndjson" },
      signal,
      timeoutMs,
    });
    const watch = new Watch(answer);
    await watch.next(); // ready: everything after it is told
    return watch;
  }

  // Larger things.

  /** A file of this machine, in parts. One whose connection breaks goes on with what has come. */
  async upload(local: string, path: Path, options: { mode?: number; partBytes?: number } & Waiting = {}): Promise<void> {
    const { mode, partBytes = PART, ...waiting } = options;
    const upload = randomBytes(16).toString("hex");
    const file = await open(local, "r");
    try {
      const { size } = await file.stat();
      let offset = 0;
      let failures = 0;
      for (;;) {
        const part = Buffer.alloc(Math.min(partBytes, size - offset));
        const { bytesRead } = await file.read(part, 0, part.length, offset);
        const query = { ...named("path", path), mode: octal(mode), upload, offset, size };
        let answer: { offset?: number };
        try {
          answer = (await this.call("writeFile", waiting, query, part.subarray(0, bytesRead))) as { offset?: number };
        } catch (error) {
          if (!(error instanceof ConnectionLostError) || ++failures > 3) throw error;
          answer = await this.call("uploadStatus", waiting, { ...named("path", path), upload });
          if (answer.offset === 0 && offset > 0) return; // the last part has come, and the file is in place
        }
        if (answer.offset === undefined) return;
        offset = answer.offset;
      }
    } finally {
      await file.close();
    }
  }

  /** Into a file of this machine, which is there when all of it has come. */
  async download(path: Path, local: string, waiting: Waiting = {}): Promise<void> {
    const partial = `${local}.${randomBytes(4).toString("hex")}.partial`;
    try {
      const answer = await this.open(path, waiting);
      await pipeline(answer, createWriteStream(partial, { flags: "wx" }));
      await rename(partial, local);
    } finally {
      await rm(partial, { force: true });
    }
  }

  /** A directory with everything in it as a tar archive, in pieces. */
  readArchive(path: Path = "", options: { allLinks?: boolean } & Waiting = {}): Promise<Answer> {
    const { allLinks, ...waiting } = options;
    const query = { ...where(path), all_links: allLinks };
    return this.transport.open("readArchive", { path: { id: this.sandbox }, query, ...waiting });
  }

  /** Unpacks a tar archive into a directory: bytes, or a stream. */
  writeArchive(archive: Source, path: Path = "", waiting: Waiting = {}): Promise<WriteArchiveAnswer> {
    return this.call("writeArchive", waiting, where(path), archive, { "Content-Type": "application/x-tar" });
  }
}

/** Events of files. Close it when enough was seen. */
export class Watch implements AsyncIterableIterator<FileEvent> {
  private readonly lines: AsyncGenerator<unknown, void, undefined>;

  constructor(private readonly answer: Answer) {
    this.lines = answer.lines();
  }

  async next(): Promise<IteratorResult<FileEvent, undefined>> {
    const line = await this.lines.next();
    if (line.done) return { done: true, value: undefined };
    const event = line.value as FileEvent & { problem?: ProblemLike };
    if (event.type === "error") {
      this.close();
      throw fromProblem(event.problem ?? {});
    }
    if (event.type === "end") {
      this.close();
      return { done: true, value: undefined };
    }
    return { done: false, value: event };
  }

  async return(): Promise<IteratorResult<FileEvent, undefined>> {
    this.close();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  close(): void {
    this.answer.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}
