import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, fetch, Response } from 'undici';

/** What callers saw of one act of the month. */
export interface Phase {
  readonly name: string;
  /** Requests by what came back: a status of the service, or what else. */
  readonly results: Map<string, number>;
  /** The longest time between two successes of all callers, and of a request, in milliseconds. */
  longestGap: number;
  longestRequest: number;
  /** Names of rows whose creation was acknowledged. */
  readonly acknowledged: string[];
}

/** Callers of a firm, as the guides describe them: each write has a `systemRef` or a key, and is repeated until it succeeds. */
export class Load {
  readonly #address: string;
  readonly #tenant: string;
  readonly #phases: Phase[] = [];
  #headers: Record<string, string> = {};
  #lastSuccess = performance.now();
  #isOver = false;
  #underWay = 0;
  /** Open while an act runs: between two, no request is under way. */
  #gate = Promise.withResolvers<void>();
  #callers: Promise<void>[] = [];

  readonly #dispatcher: Agent;

  /** @param from the address from which the callers connect: nginx limits what one may do */
  constructor(address: string, tenant: string, from = '127.0.0.1') {
    this.#address = address;
    this.#tenant = tenant;
    this.#dispatcher = new Agent({ localAddress: from });
  }

  /** Exchanges a key for the token that all callers use from now on. */
  async signIn(apiKey: string): Promise<void> {
    const headers = { 'Content-Type': 'application/json', Tenant: this.#tenant };
    for (;;) {
      const response = await fetch(`${this.#address}/v1/auth/token`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ apiKey }),
        dispatcher: this.#dispatcher,
      }).catch(() => undefined);
      const body = Object(await response?.json().catch(() => undefined));
      if (response?.status === 200) {
        this.#headers = { ...headers, Authorization: `Bearer ${body.access_token}` };
        return;
      }
      await pause(100);
    }
  }

  /** @param between how long each caller waits between two requests, in milliseconds */
  start(callers: number, between: number): void {
    this.#gate.resolve();
    this.#callers = Array.from({ length: callers }, (_, index) => this.#call(index, between));
  }

  async end(): Promise<readonly Phase[]> {
    this.#isOver = true;
    this.#gate.resolve();
    await Promise.all(this.#callers);
    return this.#phases;
  }

  /** Runs an act of the month. It is over at the first success after it, when what was sent meanwhile has a response. */
  async phase<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    this.#phases.push({ name, results: new Map(), longestGap: 0, longestRequest: 0, acknowledged: [] });
    // The time between two acts is in neither of them.
    this.#lastSuccess = performance.now();
    this.#gate.resolve();
    const result = await work();
    const ended = performance.now();
    while (this.#lastSuccess < ended) await pause(10);
    this.#gate = Promise.withResolvers();
    while (this.#underWay > 0) await pause(10);
    const { longestGap, results } = this.#phases.at(-1) ?? {};
    console.info(
      `${name}: ${Math.round(longestGap ?? 0)} ms without a success, ${JSON.stringify([...(results ?? [])])}`,
    );
    return result;
  }

  async #call(caller: number, between: number): Promise<void> {
    for (let count = 1; !this.#isOver; count++) {
      const name = `Load ${caller} ${count}`;
      if (caller % 3 === 0) await this.#send('/gql/v1/clients/search', { pageSize: 20 });
      else if (caller % 3 === 1) {
        const records = [{ type: 'Client', systemRef: name, attributes: { name } }];
        await this.#untilDone(name, '/api/v1/records', { records });
      } else {
        const key = { 'Idempotency-Key': randomUUID() };
        await this.#untilDone(name, '/api/v1/clients/v1/onboard', { name, address: {} }, key);
      }
      await pause(between);
    }
  }

  async #untilDone(name: string, path: string, body: object, more: Record<string, string> = {}): Promise<void> {
    while (!(await this.#send(path, body, more))) await pause(100);
    this.#phases.at(-1)?.acknowledged.push(name);
  }

  /** @returns whether it succeeded */
  async #send(path: string, body: object, more: Record<string, string> = {}): Promise<boolean> {
    await this.#gate.promise;
    const phase = this.#phases.at(-1);
    this.#underWay += 1;
    const sent = performance.now();
    const response = await fetch(this.#address + path, {
      method: 'POST',
      headers: { ...this.#headers, ...more },
      body: JSON.stringify(body),
      dispatcher: this.#dispatcher,
      signal: AbortSignal.timeout(20_000),
    }).catch((error: Error) => error);
    const text = response instanceof Response ? await response.text().catch(String) : '';
    const now = performance.now();
    this.#underWay -= 1;
    const result =
      response instanceof Response
        ? `${response.status}${response.headers.has('x-request-id') ? '' : ' of nginx'}`
        : 'no response';
    const isDone = /^20[01]$/.test(result) && !/"status":"FAILED"/.test(text);
    if (phase !== undefined) {
      phase.results.set(result, (phase.results.get(result) ?? 0) + 1);
      phase.longestRequest = Math.max(phase.longestRequest, now - sent);
      if (isDone) phase.longestGap = Math.max(phase.longestGap, now - this.#lastSuccess);
    }
    if (isDone) this.#lastSuccess = now;
    return isDone;
  }
}
