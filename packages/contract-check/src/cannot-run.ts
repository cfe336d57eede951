/** The check cannot run. The message explains why, and what to do. */
export class CannotRun extends Error {}
