import { resolve } from 'node:path';
import { CannotRun } from './cannot-run.ts';
import { checks } from './checks/checks.ts';
import { OpenApiDocument } from './document/document.ts';
import { type Category, categories } from './finding/finding.ts';
import { noResponse } from './http/client.ts';
import type { CheckOptions } from './options.ts';
import type { OperationReport, Report, Tally } from './report/report.ts';
import { Baselines } from './run/baseline.ts';
import { cleanUp } from './run/clean-up.ts';
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
  const session = new Session(document, url, options);
  try {
    await reachable(session, url);
    const progress = (phase: string) => (done: number, all: number) =>
      options.onProgress?.({ phase, done, all, requests: session.requests, findings: session.registry.size });
    const baselines = new Baselines(session);
    await baselines.find(progress('Finding a request that succeeds for each operation'));
    for (const { phase, finds, run } of checks) {
      if (finds.some((category) => session.includesCategory(category))) {
        await run({ session, baselines, onProgress: progress(phase) });
      }
    }
    await cleanUp(session, baselines);
    return reportOf(session, url, performance.now() - started);
  } finally {
    await session.close();
  }
}

export async function documentOf(spec: string): Promise<OpenApiDocument> {
  const address = /^https?:\/\//.test(spec) ? spec : resolve(spec);
  try {
    return await OpenApiDocument.load(address);
  } catch (error) {
    throw new CannotRun(error instanceof Error ? error.message : String(error));
  }
}

function firstServer(document: OpenApiDocument): string {
  const servers = Array.isArray(document.root.servers) ? document.root.servers : [];
  const { url, variables } = document.object(servers[0]);
  const filled = String(url ?? '').replaceAll(/\{([^}]+)\}/g, (_whole, name: string) =>
    String(document.object(document.object(variables)[name]).default ?? ''),
  );
  if (!/^https?:\/\//.test(filled)) throw new CannotRun('The document has no server with an absolute URL. Pass --url.');
  return filled;
}

async function reachable(session: Session, url: string): Promise<void> {
  if (session.judged.length === 0) throw new CannotRun('No operation is selected. Check --only and --exclude.');
  const { response } = await signedIn(() =>
    session.sendRaw({ method: 'GET', target: '/', headers: {}, body: undefined }, undefined, 'anonymous'),
  );
  if (response.status === noResponse)
    throw new CannotRun(
      `The server at ${url} does not respond (${response.text}). Start it, or pass its URL with --url.`,
    );
  await signedIn(() => session.signIn());
}

/** Every request calls the auth module, even one without credentials, to know which headers to omit. */
async function signedIn<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw new CannotRun(`The auth module failed to sign in: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function reportOf(session: Session, url: string, milliseconds: number): Report {
  const findings = session.registry.findings();
  const operations: OperationReport[] = session.judged.map((operation) => {
    const state = session.stateOf(operation);
    const ownFindings = findings.filter(
      (finding) => finding.operation === operation.id || finding.also.includes(operation.id),
    );
    const tally = (category: Category): Tally => ({
      observations: state.observations[category],
      findings: ownFindings.filter((finding) => finding.category === category).length,
    });
    return {
      id: operation.id,
      method: operation.method,
      path: operation.path,
      reached: state.isReached,
      reason: state.isReached ? undefined : state.reason,
      requests: state.requests,
      checks: Object.fromEntries(
        categories.map((category) => [category, tally(category)]),
      ) as OperationReport['checks'],
    };
  });
  const reasons = new Map(operations.map(({ id, reason }) => [id, reason]));
  const info = session.document.object(session.document.root.info);
  return {
    spec: session.document.rootAddress,
    title: String(info.title ?? ''),
    url,
    seed: session.seed,
    milliseconds,
    requests: session.requests,
    operations,
    findings,
    coverage: session.coverage.coverage((operation) => reasons.get(operation)),
    notices: [...session.notices, ...session.registry.unrepeated()],
  };
}
