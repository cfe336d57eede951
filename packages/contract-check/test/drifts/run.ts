import { check } from '../../src/check.ts';
import type { Finding } from '../../src/finding/finding.ts';
import type { Auth } from '../../src/run/options.ts';
import type { Report } from '../../src/run/report.ts';
import type { Drift } from './drift.ts';
import type { AlteringProxy } from './front.ts';

/** The servers of drifts: one server for all of them, and a separate world for each run. */
export interface Stage<World> {
  readonly spec: string;
  readonly proxy: AlteringProxy;
  createWorld(): Promise<World>;
  authOf(world: World): Auth | undefined;
}

/** The findings of a check of one drift. */
export interface Verdict<World> {
  readonly drift: Drift<World>;
  readonly findings: readonly Finding[];
  /** Whether a call of the operation succeeded. */
  readonly isReached: boolean;
  readonly requests: number;
  readonly milliseconds: number;
}

/** Checks the correct server. */
export async function checkCorrect<World>(
  stage: Stage<World>,
  seed: number,
  only?: readonly string[],
): Promise<Report> {
  stage.proxy.use(undefined);
  return checkOn(stage, await stage.createWorld(), seed, only);
}

/**
 * Checks the server with one drift, limited to the operations of the drift.
 *
 * @param known the causes that are also found on the correct server.
 */
export async function judge<World>(
  stage: Stage<World>,
  drift: Drift<World>,
  seed: number,
  known: ReadonlySet<string> = new Set(),
): Promise<Verdict<World>> {
  const world = await stage.createWorld();
  stage.proxy.use(drift.alter(world));
  try {
    const report = await checkOn(stage, world, seed, [drift.operation, ...(drift.needs ?? [])]);
    const { findings: all, operations, requests, milliseconds } = report;
    const isReached = operations.some(({ id, reached }) => id === drift.operation && reached);
    const findings = all.filter(({ operation, cause }) => !known.has(`${operation} ${cause}`));
    return { drift, findings, isReached, requests, milliseconds };
  } finally {
    stage.proxy.use(undefined);
  }
}

function checkOn<World>(
  { spec, proxy, authOf }: Stage<World>,
  world: World,
  seed: number,
  only?: readonly string[],
): Promise<Report> {
  const auth = authOf(world);
  return check({
    spec,
    url: proxy.url,
    seed,
    ...(auth === undefined ? {} : { auth }),
    disposable: true,
    ...(only === undefined ? {} : { focus: only }),
  });
}
