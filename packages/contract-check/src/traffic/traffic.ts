import { CannotRun } from '../cannot-run.ts';
import { documentOf } from '../check.ts';
import type { OpenApiDocument } from '../document/document.ts';
import { type Operation, operationsOf } from '../document/operation.ts';
import { type Candidate, candidateOf } from '../finding/finding.ts';
import { FindingRegistry } from '../finding/finding-registry.ts';
import type { Exchange } from '../http/call.ts';
import { isJson } from '../http/call.ts';
import { deserialize, pathPattern } from '../http/deserialize.ts';
import { general, Judge } from '../judge/judge.ts';
import { requestBreaches } from '../judge/request.ts';
import type { CheckOptions } from '../options.ts';
import { nothingLeft, type Report } from '../report/report.ts';
import { CoverageBook } from '../run/coverage.ts';
import { chosen } from '../run/plan.ts';
import { resultsOf, States } from '../run/results.ts';
import { Validators } from '../schema/validators.ts';

/** Checks traffic of other clients against the contract, without sending requests. */
export class TrafficJudge {
  readonly #document: OpenApiDocument;
  readonly #options: CheckOptions;
  readonly #operations: readonly Operation[];
  readonly #judged: readonly Operation[];
  readonly #validators: Validators;
  readonly #judge: Judge;
  readonly #registry = new FindingRegistry();
  readonly #coverage: CoverageBook;
  readonly #states = new States();
  readonly #started = performance.now();
  #exchanges = 0;
  #unmatched = 0;

  private constructor(document: OpenApiDocument, options: CheckOptions) {
    this.#document = document;
    this.#options = options;
    this.#operations = operationsOf(document);
    this.#judged = chosen(this.#operations, options);
    if (this.#judged.length === 0) throw new CannotRun('No operation is selected. Check --only and --exclude.');
    this.#validators = Validators.of(document);
    this.#judge = new Judge(document, this.#validators, options);
    this.#coverage = new CoverageBook(document, this.#judged);
    for (const operation of this.#judged) this.#states.of(operation).reason = 'the traffic has no request for it';
  }

  static async create(options: CheckOptions): Promise<TrafficJudge> {
    return new TrafficJudge(await documentOf(options.spec), options);
  }

  /** Checks one exchange. Returns the findings that are new. */
  add(request: Exchange['request'], response: Exchange['response']): Candidate[] {
    const url = new URL(request.url);
    const paths = this.#pathsOf(url.pathname);
    const operation = this.#match(request.method, paths);
    this.#exchanges += 1;
    const exchange: Exchange = { operation, request, response };
    if (operation === undefined) {
      this.#unmatched += 1;
      return this.#write(this.#undeclared(exchange, paths), exchange);
    }
    if (!this.#judged.includes(operation)) return [];
    const state = this.#states.of(operation);
    state.requests += 1;
    state.observations.responses += 1;
    state.reason = 'no request succeeded';
    const path = paths.find((one) => pathPattern(operation.path).test(one)) ?? url.pathname;
    const call = deserialize(this.#document, operation, {
      path,
      query: url.searchParams,
      headers: request.headers,
      body: request.body,
    });
    this.#coverage.recordExchange(call, exchange);
    if (response.status >= 200 && response.status < 400) state.isReached = true;
    return this.#write([...this.#judge.judge(exchange), ...this.#accepted(operation, call, exchange)], exchange);
  }

  report(url: string): Report {
    const results = {
      document: this.#document,
      judged: this.#judged,
      states: this.#states,
      registry: this.#registry,
      coverage: this.#coverage,
    };
    return {
      ...resultsOf(results, this.#options.minCoverage ?? 0),
      ...{ url, seed: 0, milliseconds: performance.now() - this.#started, requests: this.#exchanges },
      ...{ plan: [], stopped: undefined, left: nothingLeft },
      notices: this.#unmatched === 0 ? [] : [`${this.#unmatched} requests match no operation of the contract.`],
    };
  }

  /** Candidates for the contract's path: without the base path of each known server, and unchanged. */
  #pathsOf(path: string): string[] {
    const servers = Array.isArray(this.#document.root.servers) ? this.#document.root.servers : [];
    const urls = [this.#options.url, ...servers.map((server) => this.#document.object(server).url)];
    const bases = urls
      .filter((url) => typeof url === 'string')
      .map((url) => url.replace(/^[a-z]+:\/\/[^/]*/i, '').replace(/\/$/, ''))
      .filter((base) => base !== '' && path.startsWith(`${base}/`));
    return [...bases.map((base) => path.slice(base.length)), path];
  }

  /** The operation of a path. Templates with fewer parameters take precedence. */
  #match(method: string, paths: readonly string[]): Operation | undefined {
    return this.#operations
      .filter(
        (operation) => operation.method === method && paths.some((path) => pathPattern(operation.path).test(path)),
      )
      .sort((left, right) => parametersIn(left) - parametersIn(right))[0];
  }

  #undeclared({ request, response }: Exchange, [path = '']: readonly string[]): Candidate[] {
    const [first] = this.#judged;
    // An error does not prove that the endpoint exists. Only paths near those of the contract count.
    const isNear = this.#operations.some((operation) =>
      path.startsWith(operation.path.split('/').slice(0, 2).join('/')),
    );
    if (response.status >= 400 || first === undefined || !isNear) return [];
    const address = `${request.method} ${path}`;
    const found = candidateOf('undeclared-operation', first, address, {
      actual: String(response.status),
      place: this.#document.placeOf(this.#document.root, 'paths'),
    });
    return [{ ...found, cause: `undeclared-operation ${address}` }];
  }

  /** Reports an invalid request that is accepted. */
  #accepted(operation: Operation, call: ReturnType<typeof deserialize>, { response }: Exchange): Candidate[] {
    if (response.status >= 400) return [];
    const content = operation.body?.contents.find(({ mediaType }) => mediaType.split(';')[0] === call.mediaType);
    const isReadable = content !== undefined && isJson(content.mediaType);
    const found = requestBreaches(this.#validators, { ...call, mediaType: content?.mediaType }).filter(
      ({ at }) => !at.startsWith('body') || (isReadable && call.body !== undefined),
    );
    // Of each parameter and of the body, the first.
    const first = [...new Map(found.toReversed().map((one) => [/^\w+(?:\.[^/]*)?/.exec(one.at)?.[0], one])).values()];
    return first.toReversed().map(({ at, keyword, message, place }) =>
      candidateOf(`reject-${keyword}`, operation, general(at), {
        title: `${at} ${message}, but the request is accepted`,
        expected: 'a declared 4xx',
        actual: String(response.status),
        place: place ?? this.#document.placeOf(operation.node),
      }),
    );
  }

  #write(candidates: readonly Candidate[], exchange: Exchange): Candidate[] {
    const fresh = candidates.filter(({ cause }) => !this.#registry.has(cause));
    for (const candidate of fresh) this.#registry.write(candidate, [exchange]);
    return fresh;
  }
}

function parametersIn({ path }: Operation): number {
  return path.split('{').length;
}
