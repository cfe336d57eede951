import { check } from '../../src/check.ts';
import type { Finding } from '../../src/finding/finding.ts';
import type { Auth } from '../../src/options.ts';
import type { Report } from '../../src/report/report.ts';
import type { Drift } from './drift.ts';
import type { Front } from './front.ts';

/** Where drifts are switched on: one server for all of them, and for each a world in which nobody else writes. */
export interface Stage<World> {
  readonly spec: string;
  readonly front: Front;
  makeWorld(): Promise<World>;
  authOf(world: World): Auth | undefined;
}

/** What a check found of a drift. */
export interface Verdict<World> {
  readonly drift: Drift<World>;
  readonly findings: readonly Finding[];
  /** Whether the operation was called with success at all. */
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
  stage.front.use(undefined);
  return checkOn(stage, await stage.makeWorld(), seed, only);
}

/**
 * Checks the server with one drift, as far as the drift goes.
 *
 * @param known the causes that are found on the correct server too.
 */
export async function judge<World>(
  stage: Stage<World>,
  drift: Drift<World>,
  seed: number,
  known: ReadonlySet<string> = new Set(),
): Promise<Verdict<World>> {
  const world = await stage.makeWorld();
  stage.front.use(drift.alter(world));
  try {
    const report = await checkOn(stage, world, seed, [drift.operation, ...(drift.needs ?? [])]);
    const { findings: all, operations, requests, milliseconds } = report;
    const isReached = operations.some(({ id, reached }) => id === drift.operation && reached);
    const findings = all.filter(({ operation, cause }) => !known.has(`${operation} ${cause}`));
    return { drift, findings, isReached, requests, milliseconds };
  } finally {
    stage.front.use(undefined);
  }
}

function checkOn<World>(
  { spec, front, authOf }: Stage<World>,
  world: World,
  seed: number,
  only?: readonly string[],
): Promise<Report> {
  const auth = authOf(world);
  return check({
    spec,
    url: front.url,
    seed,
    ...(auth === undefined ? {} : { auth }),
    ...(only === undefined ? {} : { only }),
  });
}
