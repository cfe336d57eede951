import { emptyCall } from '../http/call.ts';
import { pathTexts } from '../http/deserialize.ts';
import { RunStopped } from '../http/not-sent.ts';
import type { Baselines } from './baseline.ts';
import { deleterOf } from './footprint.ts';
import { inParallel } from './parallel.ts';
import { restore } from './restore.ts';
import type { Session } from './session.ts';

/** How many resources are deleted at once. Later ones can depend on earlier ones, so the number is small. */
const deletionsAtOnce = 4;

/** Deletes what the run created, and restores what it changed, as far as the API and the time allow. */
export async function cleanUp(session: Session, baselines: Baselines): Promise<void> {
  session.transport.startCleaning();
  try {
    await remove(session, baselines);
    for (const changed of session.footprint.changed())
      await restore(session, changed, (writer) => baselines.of(writer)?.call);
  } catch (error) {
    if (!(error instanceof RunStopped)) throw error;
  }
}

async function remove(session: Session, baselines: Baselines): Promise<void> {
  await inParallel(session.footprint.created(), deletionsAtOnce, async ({ target }) => {
    const operation = deleterOf(session.operations, target);
    const known = operation === undefined ? undefined : baselines.of(operation)?.call;
    if (operation === undefined) return;
    const call = known ?? emptyCall(operation);
    const path = pathTexts(operation.path, target);
    const { response } = await session.send({ ...call, path, raw: { path: target } }, { isJudged: false });
    if (response.status < 300 || response.status === 404 || response.status === 410) session.footprint.gone(target);
  });
}
