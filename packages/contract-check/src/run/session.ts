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
import { isMaking } from './names.ts';
import { Pool } from './pool.ts';
import { disagreeingReferences } from './references.ts';
import { seedOf } from './seed.ts';

/** Who sends a request. */
export type Identity = 'caller' | 'anonymous' | 'expired' | 'forbidden' | 'otherTenant';

export interface SendOptions {
  readonly identity?: Identity;
  /** Off for requests that are none of the contract's: of their responses, only that they are no fault is judged. */
  readonly isJudged?: boolean;
}

/** A call that shows a finding by itself. */
export interface Shown {
  readonly call: Call;
  /** A JSON Pointer to the part of the call that the finding tells of: it stays as it is. */
  readonly kept?: string;
  /** The finding as another exchange shows it; undefined where it does not. */
  found(exchange: Exchange): Candidate | undefined;
}

/** Calls that a run may send to make the calls smaller that show what it found. */
const mostShrinkings = 600;

interface OperationState {
  requests: number;
  isReached: boolean;
  isNotImplemented: boolean;
  reason: string | undefined;
  readonly observations: Record<Category, number>;
}

/**
 * One run against one server: sends requests, judges every response on the way, and keeps what was learnt. Checks see the
 * server through it only.
 */
export class Session {
  readonly document: OpenApiDocument;
  readonly options: CheckOptions;
  readonly operations: readonly Operation[];
  /** The operations that are judged. */
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
  /** Texts that stand for the ETag that a resource has when a call of it is sent: without that tag nothing of it can be changed. */
  readonly tagsToBe = new Set<string>();
  /** Values that a person gave, by name. */
  given: Readonly<Record<string, unknown>> = {};
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

  /** A seed for one purpose within the run. */
  seedFor(label: string): number {
    return seedOf(this.seed, label);
  }

  /** Whether the time that the run was given is over: no new probe begins then. */
  get isOver(): boolean {
    return performance.now() > this.#deadline || this.options.signal?.aborted === true;
  }

  /** Whether a sort of check is created in this run. */
  wants(category: Category): boolean {
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

  /** Counts an observation that could have become a finding. */
  observed(operation: Operation, category: Category): void {
    this.stateOf(operation).observations[category] += 1;
  }

  /** Sends a call and judges its response. A limit on the rate is waited for. */
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
      this.pool.learn(exchange, isMaking(call.operation));
    }
    if (this.isJudged(call.operation)) {
      const isOfContract = options.isJudged !== false;
      if (isOfContract) {
        this.coverage.saw(call, exchange);
        this.observed(call.operation, 'responses');
      }
      const candidates = this.#judged(exchange).filter(
        ({ cause, category }) =>
          !this.registry.has(cause) && (isOfContract || category === 'robustness') && this.wants(category),
      );
      if (candidates.length > 0) await this.#confirm(candidates, exchange, call, options);
    }
    return exchange;
  }

  /** Sends what no operation declares. Only a fault of the server counts by itself. */
  async sendRaw(wire: WireRequest, operation?: Operation, identity: Identity = 'caller'): Promise<Exchange> {
    return this.#exchange(operation, wire, { identity });
  }

  /**
   * Reports a difference that a check found, once it has happened a second time.
   *
   * @param again the same observation, made anew: the exchanges that show it, or undefined where it did not show.
   * @param one the call that shows it, where one does: the finding is shown by the smallest that does.
   */
  async report(
    candidate: Candidate,
    exchanges: readonly Exchange[],
    again?: () => Promise<readonly Exchange[] | undefined>,
    one?: Shown,
  ): Promise<void> {
    if (this.registry.has(candidate.cause) || !this.wants(candidate.category)) return;
    const confirmed = again === undefined ? exchanges : await again();
    if (confirmed === undefined) return this.registry.noteUnrepeated(candidate);
    const shown = confirmed.length > 0 ? confirmed : exchanges;
    const last = shown.at(-1);
    // What is told is of the exchange that is shown.
    const latest = one === undefined || last === undefined ? undefined : one.found(last);
    this.registry.write(latest?.cause === candidate.cause ? latest : candidate, shown);
    if (one !== undefined) await this.#shrink(candidate.cause, one, shown);
  }

  /** Has a finding show what the smallest call brings that shows it. */
  async #shrink(cause: string, { call, kept, found }: Shown, shown: readonly Exchange[]): Promise<void> {
    const breaches = breachesOf(this.validators, call, this.givenHeaders);
    let smallest: Candidate | undefined;
    const exchange = await shrink(call, {
      isLike: (smaller) =>
        (kept === undefined || isDeepStrictEqual(at(call, kept), at(smaller, kept))) &&
        breachesOf(this.validators, smaller, this.givenHeaders) === breaches,
      shows: async (smaller) => {
        if (this.isOver || this.#shrinkings >= mostShrinkings) return undefined;
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

  /** Signs in, so that what the caller's headers are is known before the first call. */
  async signIn(): Promise<void> {
    await this.#headersOf('caller');
    this.given = { ...this.options.values, ...(await this.options.auth?.values?.()) };
  }

  /** The headers that the caller sends with everything. */
  get givenHeaders(): string[] {
    return Object.keys(this.#signedIn.get('caller') ?? {});
  }

  /** The headers by which the caller says who it is. */
  get credentials(): Readonly<Record<string, string>> {
    const all = this.#signedIn.get('caller') ?? {};
    const others = withoutCredentials(all, this.document);
    return Object.fromEntries(Object.entries(all).filter(([name]) => !(name in others)));
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  /** The literal secrets that requests carried: reports replace them. */
  secrets(): string[] {
    return [...this.#signedIn.values()].flatMap((headers) => Object.values(headers));
  }

  /** Whether the auth module knows how to be this identity. */
  can(identity: Identity): boolean {
    if (identity === 'caller' || identity === 'anonymous') return true;
    return this.options.auth?.[identity] !== undefined;
  }

  /** How a response differs from what is declared, and from the responses before it that it must agree with. */
  #judged(exchange: Exchange): Candidate[] {
    return [
      ...this.judge.judge(exchange),
      ...this.#tags.judge(exchange),
      ...disagreeingReferences(this.document, exchange),
      ...miscalculated(this.document, exchange),
    ];
  }

  /** What is seen in an exchange is confirmed by sending the same again; a write is judged by the writes that follow it. */
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
    const seenAgain = again === undefined ? [] : this.#judged(again);
    for (const candidate of candidates) {
      const same = seenAgain.find(({ cause }) => cause === candidate.cause);
      if (again === undefined || same === undefined) {
        this.registry.noteSeen(candidate, exchange);
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
      // Headers that a call sets by itself win over those of the identity.
      const headers: Record<string, string> = { ...(await this.#headersOf(identity)), ...wire.headers };
      if (wire.cookie !== undefined)
        headers.cookie = headers.cookie === undefined ? wire.cookie : `${headers.cookie}; ${wire.cookie}`;
      for (const name of wire.without ?? []) delete headers[name];
      if (this.tagsToBe.has(headers['if-match'] ?? '')) headers['if-match'] = await this.#tagOf(wire, headers);
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

  /** The ETag of what a call is about, as it is now. */
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

/** A search or a list by POST reads: sent again, it does nothing new. */
function isReading({ request }: Exchange): boolean {
  return request.method === 'POST' && /search|query|list|lookup|find/i.test(new URL(request.url).pathname);
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** The headers that do not say who sends. */
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

/** The operations that patterns name by id, `METHOD /path`, path or tag. */
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
