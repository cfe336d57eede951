/** Waits for a promise. If the signal is aborted first, rejects with its reason. */
export function untilAborted<Value>(signal: AbortSignal, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Waits for some milliseconds. If the signal is aborted first, rejects with its reason. */
export async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  // The timer would keep a process alive.
  await untilAborted(signal, over).finally(() => clearTimeout(timer));
}

/**
 * A signal that is aborted together with another one, or after some milliseconds with a `TimeoutError`. Call `release` at the end:
 * `AbortSignal.timeout` and `AbortSignal.any` would keep a timer and a reference to the caller's signal long after the call.
 */
export function limit(
  milliseconds: number,
  signal: AbortSignal | undefined,
): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const onAbort = () => controller.abort(signal?.reason);
  const onTime = () => controller.abort(new DOMException(`No response within ${milliseconds} ms.`, 'TimeoutError'));
  const timer = setTimeout(onTime, milliseconds);
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    release: () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    },
  };
}
