/** A worker process of `drifts.ts`: opens the stage of one suite, and runs its jobs one after another. */
import type { Finding } from '../src/finding/finding.ts';
import type { Drift } from '../test/drifts/drift.ts';
import { checkCorrect, judge } from '../test/drifts/run.ts';
import { serviceDrifts } from '../test/drifts/service/drifts.ts';
import { type OpenStage, openServiceStage, openWorkshopStage } from '../test/drifts/stages.ts';
import { workshopDrifts } from '../test/drifts/workshop/drifts.ts';

/** Checks the correct server, or some of its operations, under a seed, or the server with one drift. Known findings do not count. */
export type Job =
  | { readonly seed: number; readonly only?: readonly string[] | undefined }
  | { readonly drift: string; readonly seed: number; readonly known: readonly string[] };

/** Findings and cost of a job. */
export interface Done {
  readonly findings: readonly Pick<Finding, 'operation' | 'check' | 'category' | 'cause' | 'title' | 'actual'>[];
  /** Whether a call of the drift's operation succeeded. */
  readonly isReached: boolean;
  readonly requests: number;
  readonly milliseconds: number;
}

if (process.argv[2] === 'workshop') await work(workshopDrifts, await openWorkshopStage());
else await work(serviceDrifts, await openServiceStage({ databaseUrl: process.env.DRIFTS_DATABASE_URL }));

async function work<World>(drifts: readonly Drift<World>[], stage: OpenStage<World>): Promise<void> {
  process.on('message', async (job: Job) => {
    try {
      const result = await done(drifts, stage, job);
      if (process.connected) process.send?.(result);
    } catch (error) {
      console.error(error);
      process.exit(1);
    }
  });
  process.on('disconnect', async () => {
    await stage.close();
    process.exit();
  });
  process.send?.('ready');
}

async function done<World>(drifts: readonly Drift<World>[], stage: OpenStage<World>, job: Job): Promise<Done> {
  const { findings, isReached, requests, milliseconds } =
    'drift' in job
      ? await judge(stage, named(drifts, job.drift), job.seed, new Set(job.known))
      : { isReached: true, ...(await checkCorrect(stage, job.seed, job.only)) };
  return {
    findings: findings.map(({ operation, check, category, cause, title, actual }) => ({
      operation,
      check,
      category,
      cause,
      title,
      actual,
    })),
    isReached,
    requests,
    milliseconds,
  };
}

function named<World>(drifts: readonly Drift<World>[], name: string): Drift<World> {
  const drift = drifts.find((one) => one.name === name);
  if (drift === undefined) throw new Error(`There is no drift "${name}".`);
  return drift;
}
