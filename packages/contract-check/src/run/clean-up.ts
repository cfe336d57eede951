import { emptyCall } from '../http/call.ts';
import { pathTexts } from '../http/deserialize.ts';
import { NotSent, RunStopped } from '../http/gate.ts';
import { deleterOf } from './footprint.ts';
import type { KnownRequests } from './known-requests.ts';
import { inParallel } from './parallel.ts';
import type { Session } from './session.ts';

/** How many resources are deleted at once. Later ones can depend on earlier ones, so the number is small. */
const deletionsAtOnce = 4;

/**
 * Deletes what the run created, and restores what it changed, as far as the API and the time allow. A failure of one
 * does not keep the others.
 */
export async function cleanUp(
  session: Session,
  requests: KnownRequests,
  onProgress: (done: number, all: number) => void,
): Promise<void> {
  const { footprint, transport } = session;
  if (!transport.hasResponded) return;
  transport.startCleaning();
  const attempt = async (target: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof RunStopped || error instanceof NotSent))
        session.noteFailure(`Cleaning up ${target}`, error);
    }
  };
  const created = footprint.created();
  let done = 0;
  await inParallel(created, deletionsAtOnce, async (target) => {
    await attempt(target, () => remove(session, requests, target));
    onProgress(++done, created.length);
  });
  for (const changed of footprint.changed())
    await attempt(changed.target, () => session.restore(changed, (writer) => requests.of(writer)?.call));
}

async function remove(session: Session, requests: KnownRequests, target: string): Promise<void> {
  const operation = deleterOf(session.operations, target);
  if (operation === undefined) return;
  const call = requests.of(operation)?.call ?? emptyCall(operation);
  const path = pathTexts(operation.path, target);
  const { response } = await session.send({ ...call, path, raw: { path: target } }, { isJudged: false });
  if (response.status < 300 || response.status === 404 || response.status === 410) session.footprint.gone(target);
}
