/** A reason why the check cannot run, with what to do. */
export class CannotRun extends Error {}
