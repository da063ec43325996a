// Sandboxes for code that nobody vouched for.
import "./dispose.js";

export { Batch, Client, Events, Keys, run, type ClientOptions, type RunOptions } from "./client.js";
export { CommandStream, Process, Processes } from "./commands.js";
export * from "./errors.js";
export { Files, Watch, type FileEvent, type Path } from "./files.js";
export { Answer, type Source } from "./http.js";
export type * as models from "./models.js";
export type { Operations } from "./operations.js";
export type { Waiting } from "./patience.js";
export { Forward, Ports } from "./ports.js";
export { Result, type BatchResult, type Command, type CommandOptions, type Gap, type Output } from "./results.js";
export { Sandbox, type ExecOptions, type StreamOptions, type TerminalOptions } from "./sandbox.js";
export type { TargetOptions } from "./target.js";
export { Terminal } from "./terminal.js";
export { VERSION } from "./version.js";
