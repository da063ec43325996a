// How long somebody waits, and that they may be told to stop.
import { DeadlineExceededError } from "./errors.js";

export interface Waiting {
  /** Milliseconds; Infinity is for ever. */
  timeoutMs?: number | undefined;
  /** Aborted, it ends the call; the daemon notices. */
  signal?: AbortSignal | undefined;
}

/** Either for a call as a whole, or for each silence in it: a call that carries data may take as long as data comes. */
export class Patience {
  private readonly end: number | undefined;

  constructor(
    readonly milliseconds: number,
    whole: boolean,
    readonly signal?: AbortSignal | undefined,
  ) {
    if (!(milliseconds > 0)) {
      throw new RangeError(`timeoutMs: ${milliseconds} is not a time to wait; it is in milliseconds`);
    }
    this.end = whole && milliseconds !== Infinity ? Date.now() + milliseconds : undefined;
  }

  /** Milliseconds for the next wait. */
  remaining(): number {
    this.signal?.throwIfAborted();
    if (this.end === undefined) return this.milliseconds;
    const left = this.end - Date.now();
    if (left <= 0) throw this.exhausted();
    return left;
  }

  exhausted(): DeadlineExceededError {
    return new DeadlineExceededError(`the daemon has not answered within ${this.milliseconds} ms`, {
      code: "deadline_exceeded",
      stage: "client",
      hint: "give the call more time with timeoutMs",
    });
  }

  /** Calls `late` when the next wait has taken too long; what is returned ends the watch. */
  watch(late: (error: DeadlineExceededError) => void): () => void {
    const left = this.remaining();
    // Timers count to 2^31 - 1; longer than that nobody waits for one answer.
    if (left > 2_147_483_647) return () => undefined;
    const timer = setTimeout(() => late(this.exhausted()), left);
    return () => clearTimeout(timer);
  }
}

export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
