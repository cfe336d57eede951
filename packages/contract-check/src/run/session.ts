import { isDeepStrictEqual } from 'node:util';
import type { OpenApiDocument } from '../document/document.ts';
import { type Operation, operationsOf } from '../document/operation.ts';
import { type Category, categories } from '../finding/finding.ts';
import { FindingRegistry } from '../finding/finding-registry.ts';
import { shrink } from '../finding/shrink.ts';
import type { Call, Exchange } from '../http/call.ts';
import { HttpClient, noResponse } from '../http/client.ts';
import { serialize, type WireRequest } from '../http/serialize.ts';
import { at } from '../json.ts';
import { type Candidate, isNotImplemented, Judge } from '../judge/judge.ts';
import { breachesOf } from '../judge/request.ts';
import type { Auth, CheckOptions } from '../options.ts';
import { Validators } from '../schema/validators.ts';
import { Values } from '../schema/values.ts';
import { miscalculated } from './arithmetic.ts';
import { CoverageBook } from './coverage.ts';
import { EtagRegistry } from './etag-registry.ts';
import { isCreating } from './names.ts';
import { Pool } from './pool.ts';
import { disagreeingReferences } from './references.ts';
import { seedOf } from './seed.ts';

export type Identity = 'caller' | 'anonymous' | 'expired' | 'forbidden' | 'otherTenant';

export interface SendOptions {
  readonly identity?: Identity;
  /** False for requests outside the contract: their responses are checked for server faults only. */
  readonly isJudged?: boolean;
}

/** A single call that reproduces a finding. */
export interface Shown {
  readonly call: Call;
  /** JSON Pointer to the part of the call that the finding is about. Shrinking keeps it. */
  readonly kept?: string;
  /** The finding in another exchange; undefined if it is not reproduced. */
  found(exchange: Exchange): Candidate | undefined;
}

/** Maximum number of calls that one run spends on shrinking. */
const maxShrinkings = 600;

interface OperationState {
  requests: number;
  isReached: boolean;
  isNotImplemented: boolean;
  reason: string | undefined;
  readonly observations: Record<Category, number>;
}

/**
 * One run against one server. Sends requests, checks every response, and collects what it learns. Checks access the
 * server only through it.
 */
export class Session {
  readonly document: OpenApiDocument;
  readonly options: CheckOptions;
  readonly operations: readonly Operation[];
  /** The operations that are in scope. */
  readonly judged: readonly Operation[];
  readonly validators: Validators;
  readonly values: Values;
  readonly judge: Judge;
  readonly pool: Pool;
  readonly registry = new FindingRegistry();
  readonly coverage: CoverageBook;
  readonly notices = new Set<string>();
  readonly seed: number;
  requests = 0;
  /**
   * Placeholders that are replaced with the resource's current ETag when a call is sent. A stale tag would be rejected.
   */
  readonly placeholderTags = new Set<string>();
  /** Values that the user provided, by parameter name. */
  providedValues: Readonly<Record<string, unknown>> = {};
  readonly #tags: EtagRegistry;
  readonly #client: HttpClient;
  #shrinkings = 0;
  readonly #states = new Map<string, OperationState>();
  readonly #signedIn = new Map<Identity, Readonly<Record<string, string>>>();
  readonly #deadline: number;

  constructor(document: OpenApiDocument, url: string, options: CheckOptions) {
    this.document = document;
    this.options = options;
    this.seed = options.seed ?? 1;
    this.operations = operationsOf(document);
    this.judged = chosen(this.operations, options);
    this.validators = Validators.of(document);
    this.values = new Values(document, this.validators);
    this.judge = new Judge(document, this.validators);
    this.#tags = new EtagRegistry(document);
    this.pool = new Pool(document);
    this.coverage = new CoverageBook(document, this.judged);
    this.#client = new HttpClient(url, options.concurrency ?? 8, options.timeout ?? 10);
    this.#deadline = options.time === undefined ? Number.POSITIVE_INFINITY : performance.now() + options.time * 1000;
  }

  seedFor(label: string): number {
    return seedOf(this.seed, label);
  }

  /** Whether the time limit is reached. No new probe starts then. */
  get isOver(): boolean {
    return performance.now() > this.#deadline || this.options.signal?.aborted === true;
  }

  /** Whether this run includes a category of checks. */
  includesCategory(category: Category): boolean {
    return this.options.checks?.includes(category) ?? true;
  }

  isJudged(operation: Operation): boolean {
    return this.judged.includes(operation);
  }

  stateOf(operation: Operation): OperationState {
    let state = this.#states.get(operation.id);
    if (state === undefined) {
      const observations = Object.fromEntries(categories.map((category) => [category, 0])) as Record<Category, number>;
      state = { requests: 0, isReached: false, isNotImplemented: false, reason: undefined, observations };
      this.#states.set(operation.id, state);
    }
    return state;
  }

  /** Counts an observation that could have produced a finding. */
  observed(operation: Operation, category: Category): void {
    this.stateOf(operation).observations[category] += 1;
  }

  /** Sends a call and checks its response. Waits if the server limits the rate. */
  async send(call: Call, options: SendOptions = {}): Promise<Exchange> {
    const wire = serialize(call);
    const exchange = await this.#exchange(call.operation, wire, options);
    const state = this.stateOf(call.operation);
    state.requests += 1;
    const { status } = exchange.response;
    if (isNotImplemented(exchange)) state.isNotImplemented = true;
    const isSuccess = status >= 200 && status < 400;
    if (isSuccess && (options.identity ?? 'caller') === 'caller') {
      state.isReached = true;
      this.pool.learn(exchange, isCreating(call.operation));
    }
    if (this.isJudged(call.operation)) {
      const isOfContract = options.isJudged !== false;
      if (isOfContract) {
        this.coverage.recordExchange(call, exchange);
        this.observed(call.operation, 'responses');
      }
      const candidates = this.#judged(exchange).filter(
        ({ cause, category }) =>
          !this.registry.has(cause) && (isOfContract || category === 'robustness') && this.includesCategory(category),
      );
      if (candidates.length > 0) await this.#confirm(candidates, exchange, call, options);
    }
    return exchange;
  }

  /** Sends a request that no operation declares. Only server faults count here. */
  async sendRaw(wire: WireRequest, operation?: Operation, identity: Identity = 'caller'): Promise<Exchange> {
    return this.#exchange(operation, wire, { identity });
  }

  /**
   * Reports a difference that a check found, once it is confirmed by a second observation.
   *
   * @param again repeats the observation; returns the exchanges that show it, or undefined if it did not recur.
   * @param one the single call that shows it, if any: the report contains the smallest call that does.
   */
  async report(
    candidate: Candidate,
    exchanges: readonly Exchange[],
    again?: () => Promise<readonly Exchange[] | undefined>,
    one?: Shown,
  ): Promise<void> {
    if (this.registry.has(candidate.cause) || !this.includesCategory(candidate.category)) return;
    const confirmed = again === undefined ? exchanges : await again();
    if (confirmed === undefined) return this.registry.noteUnrepeated(candidate);
    const shown = confirmed.length > 0 ? confirmed : exchanges;
    const last = shown.at(-1);
    // The text must describe the exchange that the report contains.
    const latest = one === undefined || last === undefined ? undefined : one.found(last);
    this.registry.write(latest?.cause === candidate.cause ? latest : candidate, shown);
    if (one !== undefined) await this.#shrink(candidate.cause, one, shown);
  }

  /** Replaces the exchange of a finding with the smallest call that reproduces it. */
  async #shrink(cause: string, { call, kept, found }: Shown, shown: readonly Exchange[]): Promise<void> {
    const breaches = breachesOf(this.validators, call, this.callerHeaders);
    let smallest: Candidate | undefined;
    const exchange = await shrink(call, {
      isLike: (smaller) =>
        (kept === undefined || isDeepStrictEqual(at(call, kept), at(smaller, kept))) &&
        breachesOf(this.validators, smaller, this.callerHeaders) === breaches,
      shows: async (smaller) => {
        if (this.isOver || this.#shrinkings >= maxShrinkings) return undefined;
        this.#shrinkings += 1;
        const other = await this.#exchange(call.operation, serialize(smaller), {});
        const candidate = found(other);
        if (candidate?.cause !== cause) return undefined;
        smallest = candidate;
        return other;
      },
      tries: 30,
    });
    if (smallest !== undefined && exchange !== undefined)
      this.registry.rewrite(smallest, [...shown.slice(0, -1), exchange]);
  }

  /** Signs in, so that the caller's headers are known before the first call. */
  async signIn(): Promise<void> {
    await this.#headersOf('caller');
    this.providedValues = { ...this.options.values, ...(await this.options.auth?.values?.()) };
  }

  get callerHeaders(): string[] {
    return Object.keys(this.#signedIn.get('caller') ?? {});
  }

  /** The headers that authenticate the caller. */
  get credentials(): Readonly<Record<string, string>> {
    const all = this.#signedIn.get('caller') ?? {};
    const others = withoutCredentials(all, this.document);
    return Object.fromEntries(Object.entries(all).filter(([name]) => !(name in others)));
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  /** Secrets in requests. Reports mask them. */
  secrets(): string[] {
    return [...this.#signedIn.values()].flatMap((headers) => Object.values(headers));
  }

  /** Whether the auth module supports an identity. */
  can(identity: Identity): boolean {
    if (identity === 'caller' || identity === 'anonymous') return true;
    return this.options.auth?.[identity] !== undefined;
  }

  /** Compares a response with its declaration and with earlier responses. */
  #judged(exchange: Exchange): Candidate[] {
    return [
      ...this.judge.judge(exchange),
      ...this.#tags.judge(exchange),
      ...disagreeingReferences(this.document, exchange),
      ...miscalculated(this.document, exchange),
    ];
  }

  /** Confirms candidates by repeating the request. A write is not repeated: a later write confirms it. */
  async #confirm(
    candidates: readonly Candidate[],
    exchange: Exchange,
    call: Call,
    options: SendOptions,
  ): Promise<void> {
    const isRepeatable =
      ['GET', 'HEAD', 'OPTIONS', 'PUT'].includes(exchange.request.method) ||
      exchange.response.status >= 400 ||
      exchange.response.status === noResponse;
    const again =
      isRepeatable || isReading(exchange)
        ? await this.#exchange(exchange.operation, serialize(call), options)
        : undefined;
    const repeated = again === undefined ? [] : this.#judged(again);
    for (const candidate of candidates) {
      const same = repeated.find(({ cause }) => cause === candidate.cause);
      if (again === undefined || same === undefined) {
        this.registry.noteUnconfirmed(candidate, exchange);
        continue;
      }
      this.registry.write(same, [again]);
      const found = (other: Exchange) => this.#judged(other).find(({ cause }) => cause === candidate.cause);
      if ((options.identity ?? 'caller') === 'caller') await this.#shrink(candidate.cause, { call, found }, [again]);
    }
  }

  async #exchange(operation: Operation | undefined, wire: WireRequest, options: SendOptions): Promise<Exchange> {
    const identity = options.identity ?? 'caller';
    for (let attempt = 0; ; attempt += 1) {
      // Headers of the call override those of the identity.
      const headers: Record<string, string> = { ...(await this.#headersOf(identity)), ...wire.headers };
      if (wire.cookie !== undefined)
        headers.cookie = headers.cookie === undefined ? wire.cookie : `${headers.cookie}; ${wire.cookie}`;
      for (const name of wire.without ?? []) delete headers[name];
      if (this.placeholderTags.has(headers['if-match'] ?? '')) headers['if-match'] = await this.#tagOf(wire, headers);
      this.requests += 1;
      const exchange = await this.#client.send(operation, { ...wire, headers });
      const { status } = exchange.response;
      if (status === 429 && attempt < 5 && !this.isOver) {
        const seconds = Math.min(60, Number(exchange.response.headers['retry-after'] ?? 1) || 1);
        this.notices.add(
          `The server limits the rate of requests (429), and the run had to wait. A higher limit makes it faster.`,
        );
        await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
        continue;
      }
      if (
        status === 401 &&
        identity === 'caller' &&
        attempt === 0 &&
        this.options.auth !== undefined &&
        !('authorization' in wire.headers)
      ) {
        this.#signedIn.delete(identity);
        continue;
      }
      return exchange;
    }
  }

  /** The current ETag of the resource that a call addresses. */
  async #tagOf({ target }: WireRequest, headers: Readonly<Record<string, string>>): Promise<string> {
    const { 'if-match': expected = '', 'content-type': _type, ...others } = headers;
    this.requests += 1;
    const [path = target] = target.split('?');
    const { response } = await this.#client.send(undefined, {
      method: 'GET',
      target: path,
      headers: { ...others, accept: '*/*' },
      body: undefined,
    });
    return response.headers.etag ?? expected;
  }

  async #headersOf(identity: Identity): Promise<Readonly<Record<string, string>>> {
    const known = this.#signedIn.get(identity);
    if (known !== undefined) return known;
    const own = lowerCase(this.options.headers ?? {});
    const headers =
      identity === 'anonymous'
        ? withoutCredentials(await this.#headersOf('caller'), this.document)
        : { ...own, ...lowerCase(await signedIn(this.options.auth, identity)) };
    this.#signedIn.set(identity, headers);
    return headers;
  }
}

async function signedIn(
  auth: Auth | undefined,
  identity: Exclude<Identity, 'anonymous'>,
): Promise<Readonly<Record<string, string>>> {
  return (await auth?.[identity]?.()) ?? {};
}

/** A POST that searches or lists has no side effects, so it can be repeated. */
function isReading({ request }: Exchange): boolean {
  return request.method === 'POST' && /search|query|list|lookup|find/i.test(new URL(request.url).pathname);
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** The headers without credentials. */
function withoutCredentials(
  headers: Readonly<Record<string, string>>,
  document: OpenApiDocument,
): Record<string, string> {
  const schemes = Object.values(document.object(document.object(document.root.components).securitySchemes)).map(
    (scheme) => document.object(scheme),
  );
  const keys = schemes.filter((scheme) => scheme.in === 'header').map(({ name }) => String(name).toLowerCase());
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !['authorization', 'cookie', ...keys].includes(name)),
  );
}

/** The operations that match patterns by ID, `METHOD /path`, path or tag. */
export function chosen(operations: readonly Operation[], { only, exclude }: CheckOptions): Operation[] {
  const matches = (patterns: readonly string[], operation: Operation) =>
    patterns.some((pattern) => {
      const expression = new RegExp(`^${pattern.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`, 'i');
      return [operation.id, `${operation.method} ${operation.path}`, operation.path, ...operation.tags].some((name) =>
        expression.test(name),
      );
    });
  return operations.filter(
    (operation) =>
      (only === undefined || only.length === 0 || matches(only, operation)) && !matches(exclude ?? [], operation),
  );
}
