/** The command cannot go on. The message says what to do. */
export class BridgeError extends Error {}

/** One row cannot be read or stored; the others can. */
export class RowError extends Error {}
