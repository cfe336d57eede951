import { resolve } from 'node:path';
import { CannotRun, required } from './cannot-run.ts';
import { checks } from './checks/checks.ts';
import type { Check, CheckContext } from './checks/observe.ts';
import { OpenApiDocument } from './document/document.ts';
import { addressOf, operationsOf } from './document/operation.ts';
import { skippedPatterns } from './document/patterns.ts';
import { candidateOf } from './finding/finding.ts';
import { type Exchange, emptyCall } from './http/call.ts';
import { RunStopped } from './http/gate.ts';
import { jsonText, parsedJson } from './json.ts';
import { cleanUp } from './run/clean-up.ts';
import { KnownRequests } from './run/known-requests.ts';
import type { CheckOptions } from './run/options.ts';
import { Plan } from './run/plan.ts';
import { atEveryDepth, renewed } from './run/renewal.ts';
import { type OperationReport, type PlanEntry, type Report, type Stopped, shortfallOf } from './run/report.ts';
import { Session } from './run/session.ts';

/**
 * Compares a server with its contract: finds a successful call for each operation, then changes one part at a time.
 *
 * @throws CannotRun if the document cannot be read, or the server does not respond.
 */
export async function check(options: CheckOptions): Promise<Report> {
  const started = performance.now();
  const document = await documentOf(options.spec);
  const url = options.url ?? firstServer(document);
  if (!/^https?:/.test(url) || !URL.canParse(url))
    throw new CannotRun(`The URL "${url}" must start with http:// or https://. Pass --url.`);
  const session = new Session(document, url, options);
  try {
    options.onPlan?.(session.plan.entries);
    await reachable(session, url);
    const requests = new KnownRequests(session);
    const missed = await runPhases(session, requests, url).finally(() =>
      withProgress(session, 'Deleting what the run created', (onProgress) => cleanUp(session, requests, onProgress)),
    );
    if (!session.transport.hasResponded)
      throw new CannotRun(`The server at ${url} accepts connections, but responded to no request.`);
    return reportOf(session, url, performance.now() - started, missed);
  } finally {
    await session.transport.close();
  }
}

/** Runs all phases until the run ends, also after one that fails; returns those that did not complete. */
async function runPhases(session: Session, requests: KnownRequests, url: string): Promise<string[]> {
  const finding: Pick<Check, 'phase' | 'run'> = {
    phase: 'Finding a request that succeeds for each operation',
    run: ({ onProgress }) => requests.find(onProgress),
  };
  const isIncluded = ({ finds }: Check) => finds.some((category) => session.includesCategory(category));
  const phases = [finding, ...checks.filter(isIncluded)];
  const { transport } = session;
  const failed: string[] = [];
  for (const [index, { phase, run }] of phases.entries()) {
    try {
      await withProgress(session, phase, (onProgress) => run({ session, requests, onProgress }));
    } catch (error) {
      if (!(error instanceof RunStopped)) {
        failed.push(phase);
        session.noteFailure(phase, error);
      }
    }
    if (index === 0 && transport.hasResponded && !session.isOver) session.reach.check(url);
    if (session.isOver) return [...new Set([...failed, ...phases.slice(index).map((one) => one.phase)])];
  }
  return failed;
}

/** Reports the progress of work, also while one of its items takes long. */
async function withProgress(
  { options, transport, registry }: Session,
  phase: string,
  work: (onProgress: CheckContext['onProgress']) => Promise<void>,
): Promise<void> {
  let counts = { done: 0, all: 0 };
  const show = () => options.onProgress?.({ phase, ...counts, requests: transport.requests, findings: registry.size });
  const ticking = setInterval(show, 500);
  try {
    await work((done, all) => {
      counts = { done, all };
      show();
    });
  } finally {
    clearInterval(ticking);
  }
}

/** In percent of the operations. */
const defaultMinimum = 50;

/** What a run would call. Sends nothing. */
export async function planOf(options: CheckOptions): Promise<readonly PlanEntry[]> {
  const document = await documentOf(options.spec);
  return new Plan(document, operationsOf(document), options).entries;
}

export async function documentOf(spec: string): Promise<OpenApiDocument> {
  const address = /^https?:\/\//.test(spec) ? spec : resolve(spec);
  return required(() => OpenApiDocument.load(address));
}

/** A relative URL is relative to that of the document. */
function firstServer(document: OpenApiDocument): string {
  const servers = Array.isArray(document.root.servers) ? document.root.servers : [];
  const { url = '/', variables } = document.object(servers[0]);
  const address = String(url).replaceAll(/\{([^}]+)\}/g, (_whole, name: string) =>
    String(document.object(document.object(variables)[name]).default ?? ''),
  );
  const base = /^https?:/.test(document.rootAddress) ? document.rootAddress : undefined;
  return URL.parse(address, base)?.href ?? address;
}

async function reachable(session: Session, url: string): Promise<void> {
  if (session.judged.length === 0)
    throw new CannotRun('No operation is selected. Check --only, --exclude and --focus.');
  if (!(await session.transport.isAlive()))
    throw new CannotRun(`The server at ${url} does not respond. Start it, or pass its URL with --url.`);
  await session.identities.signIn();
}

function reportOf(session: Session, url: string, milliseconds: number, missed: readonly string[]): Report {
  reportFaults(session);
  const { document, judged, seed, transport, plan, footprint, registry, options } = session;
  const findings = registry.findings().map((one) => {
    const fresh = (exchange: Exchange) => freshBody(session, exchange, one.cause);
    return { ...one, setup: footprint.setupFor(one.exchanges, fresh) };
  });
  const operations = judged.map((operation): OperationReport => {
    const { id, method } = operation;
    const path = addressOf(operation);
    const { isReached: reached, reason, requests } = session.stateOf(operation);
    return { id, method, path, reached, reason: reached ? undefined : reason, requests };
  });
  const reasons = new Map(operations.map(({ id, reason }) => [id, reason]));
  const coverage = session.coverage.coverage((operation) => reasons.get(operation));
  return {
    spec: document.rootAddress,
    title: String(document.object(document.root.info).title ?? ''),
    url,
    seed,
    milliseconds,
    requests: transport.requests,
    operations,
    findings,
    accepted: [],
    plan: plan.entries,
    coverage,
    shortfall: shortfallOf(coverage, options.minCoverage ?? defaultMinimum),
    stopped: stoppedOf(session, missed),
    left: footprint.left(),
    notices: [...transport.notices, ...[...skippedPatterns].map(patternNote), ...registry.unrepeated()],
  };
}

/** The JSON body of a request with other texts for each finding; undefined if it has none. */
function freshBody(session: Session, { operation, request }: Exchange, cause: string): string | undefined {
  const sent = parsedJson(request.body);
  if (operation === undefined || sent === undefined) return undefined;
  const call = { ...emptyCall(operation), body: sent.value };
  return jsonText(renewed(session, call, `repeated ${request.body} ${cause}`, atEveryDepth).body);
}

/**
 * The finding of a server that died or hangs, with the request that was open, or several if it is unknown which of them it
 * was; otherwise that of responses that were lost on the way, which is not repeated: clients lose some now and then, too.
 */
function reportFaults({ transport, registry, judged, includesCategory }: Session): void {
  const { lost, fatal, requests } = transport;
  const isDead = fatal.length > 0;
  const [first] = isDead ? fatal.slice(-1) : includesCategory('robustness') ? lost : [];
  if (first === undefined) return;
  const { operation, request, response } = first;
  const at = `${request.method} ${new URL(request.url).pathname}`;
  const facts = isDead
    ? {
        title: `The server stopped responding during ${fatal.length === 1 ? '' : `one of ${fatal.length} requests, such as `}${at}`,
        expected: 'a response to every request',
        actual: `${response.text}; the server has responded to no request since`,
      }
    : {
        title: `A connection was closed without a response, first during ${at}`,
        actual: `${lost.length} of ${requests} requests: ${response.lost}`,
      };
  const cause = isDead ? 'server-died' : 'lost-response';
  const { id = '' } = operation ?? judged[0] ?? {};
  const candidate = candidateOf(cause, { id }, '', { ...facts, place: undefined });
  registry.write({ ...candidate, cause }, isDead ? fatal : lost.slice(0, 3));
}

const patternNote = (pattern: string) =>
  `The pattern ${pattern} is no regular expression of ECMA-262, and is not checked.`;

function stoppedOf(session: Session, missed: readonly string[]): Stopped | undefined {
  const { judged, plan, hasFailed } = session;
  const unchecked = judged.filter((one) => plan.isCalled(one) && !session.stateOf(one).isChecked).map(({ id }) => id);
  const reason = session.transport.stopped ?? (hasFailed ? 'failed' : undefined);
  return reason && { reason, missedPhases: missed, unchecked };
}
