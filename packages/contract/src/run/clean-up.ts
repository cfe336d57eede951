import type { Baselines } from './baseline.ts';
import type { Session } from './session.ts';

/** Deletes what this run made, where the API can delete; what stays is said. */
export async function cleanUp(session: Session, baselines: Baselines): Promise<void> {
  const left = new Set<string>();
  for (const { operation, id, name } of session.pool.deletable(session.operations)) {
    const known = baselines.of(operation);
    if (known === undefined) continue;
    const { answer } = await session.send(
      { ...known.call, path: { ...known.call.path, [name]: id } },
      { isJudged: false },
    );
    if (answer.status >= 300 && answer.status !== 404 && answer.status !== 410) left.add(operation.path);
    session.pool.forget(id);
  }
  for (const path of session.pool.undeletable(session.operations)) left.add(path);
  if (left.size > 0)
    session.notices.add(
      `Data that this run made stays on the server: ${[...left].join(', ')} cannot be deleted again.`,
    );
}
