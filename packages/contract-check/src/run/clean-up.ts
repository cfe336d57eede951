import type { Baselines } from './baseline.ts';
import type { Session } from './session.ts';

/** Deletes the resources that this run created, and reports those that the API cannot delete. */
export async function cleanUp(session: Session, baselines: Baselines): Promise<void> {
  const left = new Set<string>();
  for (const { operation, id, name } of session.pool.deletable(session.operations)) {
    const known = baselines.of(operation);
    if (known === undefined) continue;
    const { response } = await session.send(
      { ...known.call, path: { ...known.call.path, [name]: id } },
      { isJudged: false },
    );
    if (response.status >= 300 && response.status !== 404 && response.status !== 410) left.add(operation.path);
    session.pool.forget(id);
  }
  for (const path of session.pool.undeletable(session.operations)) left.add(path);
  if (left.size > 0)
    session.notices.add(
      `Data that this run created remains on the server, because the API cannot delete it: ${[...left].join(', ')}.`,
    );
}
