import { CannotRun } from '../cannot-run.ts';
import { documentOf } from '../check.ts';
import type { OpenApiDocument } from '../document/document.ts';
import { type Operation, operationsOf } from '../document/operation.ts';
import { type Candidate, type Category, candidateOf, categories } from '../finding/finding.ts';
import { FindingRegistry } from '../finding/finding-registry.ts';
import type { Exchange } from '../http/call.ts';
import { deserialize, pathPattern } from '../http/deserialize.ts';
import { isJson } from '../http/serialize.ts';
import { general, Judge } from '../judge/judge.ts';
import type { CheckOptions } from '../options.ts';
import { shortfallOf } from '../report/coverage-table.ts';
import { nothingLeft, type OperationReport, type Report, type Tally } from '../report/report.ts';
import { CoverageBook } from '../run/coverage.ts';
import { chosen } from '../run/plan.ts';
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
  readonly #tallies = new Map<
    string,
    { requests: number; isReached: boolean; observations: Record<Category, number> }
  >();
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
    const tally = this.#tallyOf(operation);
    tally.requests += 1;
    tally.observations.responses += 1;
    const path = paths.find((one) => pathPattern(operation.path).test(one)) ?? url.pathname;
    const call = deserialize(this.#document, operation, {
      path,
      query: url.searchParams,
      headers: request.headers,
      body: request.body,
    });
    this.#coverage.recordExchange(call, exchange);
    if (response.status >= 200 && response.status < 400) tally.isReached = true;
    return this.#write([...this.#judge.judge(exchange), ...this.#accepted(operation, call, exchange)], exchange);
  }

  report(url: string): Report {
    const findings = this.#registry.findings();
    const operations = this.#judged.map((operation): OperationReport => {
      const { requests, isReached, observations } = this.#tallyOf(operation);
      const ownFindings = findings.filter(
        (finding) => finding.operation === operation.id || finding.also.includes(operation.id),
      );
      const tally = (category: Category): Tally => ({
        observations: observations[category],
        findings: ownFindings.filter((one) => one.category === category).length,
      });
      return {
        id: operation.id,
        method: operation.method,
        path: operation.path,
        reached: isReached,
        reason: isReached ? undefined : requests === 0 ? 'the traffic has no request for it' : 'no request succeeded',
        requests,
        checks: Object.fromEntries(
          categories.map((category) => [category, tally(category)]),
        ) as OperationReport['checks'],
      };
    });
    const reasons = new Map(operations.map(({ id, reason }) => [id, reason]));
    const coverage = this.#coverage.coverage((operation) => reasons.get(operation));
    return {
      spec: this.#document.rootAddress,
      title: String(this.#document.object(this.#document.root.info).title ?? ''),
      url,
      seed: 0,
      milliseconds: performance.now() - this.#started,
      requests: this.#exchanges,
      operations,
      findings,
      coverage,
      shortfall: shortfallOf(coverage, this.#options.minCoverage ?? 0),
      plan: [],
      stopped: undefined,
      left: nothingLeft,
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
    const found = candidateOf('undeclared-operation', first, '', {
      title: `${address} returns ${response.status}, but is not in the contract`,
      expected: 'only the operations of the contract',
      actual: String(response.status),
      place: this.#document.placeOf(this.#document.root, 'paths'),
    });
    return [{ ...found, cause: `undeclared-operation ${address}` }];
  }

  /** Reports an invalid request that is accepted. */
  #accepted(operation: Operation, call: ReturnType<typeof deserialize>, { response }: Exchange): Candidate[] {
    if (response.status >= 400) return [];
    const groups = { path: call.path, query: call.query, header: call.headers, cookie: call.cookies };
    const ofParameters = operation.parameters.flatMap(({ name, in: place, required, schema, node }) => {
      const value = groups[place][name];
      if (value === undefined) {
        if (!required) return [];
        return [
          {
            at: `${place}.${name}`,
            keyword: 'required',
            message: 'is required',
            place: this.#document.placeOf(node, 'required'),
          },
        ];
      }
      return this.#validators
        .breaches(schema, value, 'request')
        .slice(0, 1)
        .map((breach) => ({ ...breach, at: `${place}.${name}` }));
    });
    const content = operation.body?.contents.find(({ mediaType }) => mediaType.split(';')[0] === call.mediaType);
    const ofBody =
      content?.schema === undefined || call.body === undefined || !isJson(content.mediaType)
        ? []
        : this.#validators
            .breaches(content.schema, call.body, 'request')
            .slice(0, 1)
            .map((breach) => ({ ...breach, at: `body${breach.pointer}` }));
    return [...ofParameters, ...ofBody].map(({ at, keyword, message, place }) =>
      candidateOf(`reject-${keyword}`, operation, general(at), {
        title: `${at} ${message}, but the request is accepted`,
        expected: 'a declared 4xx',
        actual: String(response.status),
        place,
      }),
    );
  }

  #write(candidates: readonly Candidate[], exchange: Exchange): Candidate[] {
    const fresh = candidates.filter(({ cause }) => !this.#registry.has(cause));
    for (const candidate of fresh) this.#registry.write(candidate, [exchange]);
    return fresh;
  }

  #tallyOf({ id }: Operation): { requests: number; isReached: boolean; observations: Record<Category, number> } {
    let tally = this.#tallies.get(id);
    if (tally === undefined) {
      tally = {
        requests: 0,
        isReached: false,
        observations: Object.fromEntries(categories.map((category) => [category, 0])) as Record<Category, number>,
      };
      this.#tallies.set(id, tally);
    }
    return tally;
  }
}

function parametersIn({ path }: Operation): number {
  return path.split('{').length;
}
