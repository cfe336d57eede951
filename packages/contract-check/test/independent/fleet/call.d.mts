/** Sends a request to a server, and returns what a probe of a drift reads. */
export type Call = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<unknown>;

export declare function callerOf(url: string): Call;
