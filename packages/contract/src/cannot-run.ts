/** A reason why a run could not begin: a sentence that says what to do. */
export class CannotRun extends Error {}
