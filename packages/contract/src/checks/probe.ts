import type { Operation } from '../document/operation.ts';
import type { Baseline } from '../run/baseline.ts';
import { acceptBounds } from './acceptance.ts';
import type { CheckContext } from './checks.ts';
import { inParallel } from './parallel.ts';
import { refuseBreaks } from './refusals.ts';
import { surviveHostility } from './robustness.ts';
import { refuseStrangers } from './security.ts';

/** Probes each operation for itself: one thing of its baseline is changed at a time. */
export async function probeOperations(context: CheckContext): Promise<void> {
  const { session, baselines, onProgress } = context;
  let done = 0;
  await inParallel(session.judged, 2, async (operation) => {
    const baseline = session.isOver ? undefined : await baselines.alive(operation);
    if (baseline !== undefined) await probe(context, operation, baseline);
    done += 1;
    onProgress(done, session.judged.length);
  });
}

async function probe(context: CheckContext, operation: Operation, baseline: Baseline): Promise<void> {
  const { session } = context;
  // How the server refuses must be known before it can be told what it refuses wrongly.
  const refusal = await refuseBreaks(context, operation, baseline);
  if (session.wants('refusals')) await refuseStrangers(context, operation, baseline);
  if (session.wants('acceptance')) await acceptBounds(context, operation, baseline, refusal);
  if (session.wants('robustness')) await surviveHostility(context, operation, baseline);
}
