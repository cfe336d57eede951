import { emptyCall } from '../http/call.ts';
import { pathTexts } from '../http/deserialize.ts';
import { RunStopped } from '../http/gate.ts';
import { deleterOf } from './footprint.ts';
import type { KnownRequests } from './known-requests.ts';
import { inParallel } from './parallel.ts';
import type { Session } from './session.ts';

/** How many resources are deleted at once. Later ones can depend on earlier ones, so the number is small. */
const deletionsAtOnce = 4;

/** Deletes what the run created, and restores what it changed, as far as the API and the time allow. */
export async function cleanUp(session: Session, requests: KnownRequests): Promise<void> {
  session.transport.startCleaning();
  try {
    await remove(session, requests);
    for (const changed of session.footprint.changed())
      await session.restore(changed, (writer) => requests.of(writer)?.call);
  } catch (error) {
    if (!(error instanceof RunStopped)) throw error;
  }
}

async function remove(session: Session, requests: KnownRequests): Promise<void> {
  await inParallel(session.footprint.created(), deletionsAtOnce, async (target) => {
    const operation = deleterOf(session.operations, target);
    if (operation === undefined) return;
    const call = requests.of(operation)?.call ?? emptyCall(operation);
    const path = pathTexts(operation.path, target);
    const { response } = await session.send({ ...call, path, raw: { path: target } }, { isJudged: false });
    if (response.status < 300 || response.status === 404 || response.status === 410) session.footprint.gone(target);
  });
}
