/** A request that was not sent. What needs it is skipped, and the run continues. */
export class NotSent extends Error {}

/** A request that the scope of the run does not allow. */
export class NotAllowed extends NotSent {}

/** A request to an operation that the server asked not to call for a while. */
export class RateLimited extends NotSent {
  /** Waits until the operation can be called again; false if the run does not wait that long. */
  readonly wait: () => Promise<boolean>;

  constructor(message: string, wait: () => Promise<boolean>) {
    super(message);
    this.wait = wait;
  }
}

/** The run is over: its time is up, it was interrupted, or the server died. Nothing is sent any more. */
export class RunStopped extends Error {}
