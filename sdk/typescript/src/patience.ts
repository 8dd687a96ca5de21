// Waiting, with a limit.

import { TimeoutExpired } from "./errors.js";

export interface Patience {
  /** Undefined or zero: as long as it takes. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** What comes first: the outcome, the end of our patience, or the signal. What is waited for goes on. */
export async function patiently<T>(outcome: Promise<T>, { timeoutMs, signal }: Patience): Promise<T> {
  outcome.catch(() => undefined); // if nobody waits any more
  signal?.throwIfAborted();
  let clock: ReturnType<typeof setTimeout> | undefined;
  let stop: (() => void) | undefined;
  const early = new Promise<never>((_, reject) => {
    if (timeoutMs) clock = setTimeout(() => reject(new TimeoutExpired(`it did not come within ${timeoutMs} ms`)), timeoutMs);
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
