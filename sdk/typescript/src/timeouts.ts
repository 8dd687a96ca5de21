// Waiting with a timeout.

import { TimeoutExpired } from "./errors.js";

export interface WaitLimits {
  /** Undefined or zero: no timeout. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** Waits for the outcome, the timeout or the signal, whichever comes first. The operation itself goes on. */
export async function withTimeout<T>(outcome: Promise<T>, { timeoutMs, signal }: WaitLimits): Promise<T> {
  outcome.catch(() => undefined); // it may fail after the timeout
  signal?.throwIfAborted();
  let clock: ReturnType<typeof setTimeout> | undefined;
  let stop: (() => void) | undefined;
  const early = new Promise<never>((_, reject) => {
    if (timeoutMs) clock = setTimeout(() => reject(new TimeoutExpired(`timed out after ${timeoutMs} ms`)), timeoutMs);
    stop = () => reject(signal?.reason);
    signal?.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([outcome, early]);
  } finally {
    clearTimeout(clock);
    if (stop !== undefined) signal?.removeEventListener("abort", stop);
  }
}
