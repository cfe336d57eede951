/** The check cannot run. The message explains why, and what to do. */
export class CannotRun extends Error {}

/** The result of work without which the check cannot run. @param complaint precedes the reason if it fails. */
export async function required<Value>(work: () => Value | Promise<Value>, complaint = ''): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw new CannotRun(`${complaint}${error instanceof Error ? error.message : String(error)}`);
  }
}
