// Ports of a sandbox: a connection to one, or one of this machine that stands for it.
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";

import type { Transport } from "./http.js";
import type { Waiting } from "./patience.js";

export class Ports {
  constructor(
    private readonly transport: Transport,
    private readonly sandbox: string,
  ) {}

  /** A connection to a port on the sandbox's own loopback, byte for byte. The caller ends it. */
  async dial(port: number, waiting: Waiting = {}): Promise<Socket> {
    return (await this.transport.upgrade("dialPort", "tcp", { path: { id: this.sandbox, port }, ...waiting })).socket;
  }

  /** Listens on this machine until it is closed; `port` of what is returned tells where. */
  async forward(port: number, options: { localPort?: number; host?: string } = {}): Promise<Forward> {
    const forward = new Forward(() => this.dial(port));
    await forward.begin(options.localPort ?? 0, options.host ?? "127.0.0.1");
    return forward;
  }
}

export class Forward {
  private readonly server: Server;
  private readonly visitors = new Set<Socket>();
  /** Why the latest visitor could not be connected, if one could not. */
  error: Error | undefined;

  constructor(private readonly dial: () => Promise<Socket>) {
    this.server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (visitor) => void this.visit(visitor));
  }

  begin(port: number, host: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen(port, host, resolve);
    });
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  private async visit(visitor: Socket): Promise<void> {
    this.visitors.add(visitor);
    visitor.on("error", () => undefined);
    visitor.once("close", () => this.visitors.delete(visitor));
    try {
      const inside = await this.dial();
      inside.on("error", () => visitor.destroy());
      inside.once("close", () => visitor.end());
      visitor.once("close", () => inside.destroy());
      visitor.pipe(inside);
      inside.pipe(visitor);
      if (visitor.destroyed) inside.destroy();
    } catch (error) {
      this.error = error as Error;
      visitor.destroy();
    }
  }

  /** Stops listening and ends every connection. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => resolve());
      for (const visitor of this.visitors) visitor.destroy();
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
