// Which daemon is meant: the one that was named, or that of a state directory, as the command line finds it.
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

import { InvalidArgumentError } from "./errors.js";

export interface Target {
  /** The path of a socket; "" when it is a host. */
  socket: string;
  host: string;
  port: number;
  secure: boolean;
  /** Of every path, when a proxy serves the API below one. */
  prefix: string;
  key: string;
}

export interface TargetOptions {
  /** http://HOST:PORT, https://HOST or unix:/PATH/atoll.sock; otherwise ATOLL_URL. */
  url?: string | undefined;
  /** Otherwise ATOLL_API_KEY, or for this host the key file of the state directory. */
  apiKey?: string | undefined;
  /** The state directory whose daemon is meant; otherwise ATOLL_STATE, or the user's own. */
  state?: string | undefined;
}

type Environment = Record<string, string | undefined>;

function stateDirectory(state: string | undefined, environment: Environment): string {
  if (state) return state;
  if (environment["ATOLL_STATE"]) return environment["ATOLL_STATE"];
  if (process.geteuid?.() === 0) return "/var/lib/atoll";
  const base = environment["XDG_STATE_HOME"];
  if (base?.startsWith("/")) return join(base, "atoll");
  return join(environment["HOME"] || homedir(), ".local/state/atoll");
}

function readKey(directory: string): string {
  try {
    return readFileSync(join(directory, "admin.key"), "utf8").slice(0, 4096).trim();
  } catch {
    return "";
  }
}

/**
 * Options win over variables. A key file is read only for this host, or when its directory was named: a key never goes to
 * a host that it is not for.
 */
export function findTarget(options: TargetOptions, environment: Environment = process.env): Target {
  const given = options.apiKey || environment["ATOLL_API_KEY"] || "";
  const url = options.url || (options.state ? undefined : environment["ATOLL_URL"]);
  const directory = stateDirectory(options.state, environment);
  const nowhere = { socket: "", host: "", port: 0, secure: false, prefix: "", key: given };
  if (!url) return { ...nowhere, socket: resolve(directory, "atoll.sock") };
  if (url.startsWith("unix:")) return { ...nowhere, socket: resolve(url.slice("unix:".length)) };
  let parts: URL;
  try {
    parts = new URL(url);
  } catch {
    throw notAnAddress(url);
  }
  if ((parts.protocol !== "http:" && parts.protocol !== "https:") || !parts.hostname) throw notAnAddress(url);
  const secure = parts.protocol === "https:";
  const host = parts.hostname.replace(/^\[|\]$/g, "");
  const named = Boolean(options.state || environment["ATOLL_STATE"]);
  const local = ["localhost", "127.0.0.1", "::1"].includes(host);
  const key = given || (named || local ? readKey(directory) : "");
  return {
    socket: "",
    host,
    port: Number(parts.port) || (secure ? 443 : 80),
    secure,
    prefix: parts.pathname.replace(/\/+$/, ""),
    key,
  };
}

function notAnAddress(url: string): InvalidArgumentError {
  return new InvalidArgumentError(`${url}: not the address of a daemon`, {
    code: "invalid_argument",
    stage: "client",
    hint: "http://HOST:PORT, https://HOST or unix:/PATH/atoll.sock",
  });
}

export function describeTarget(target: Target): string {
  if (target.socket) return `unix:${target.socket}`;
  const host = target.host.includes(":") ? `[${target.host}]` : target.host;
  return `${target.secure ? "https" : "http"}://${host}:${target.port}${target.prefix}`;
}
