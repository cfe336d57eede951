import { isDeepStrictEqual } from 'node:util';
import { type Exchange, emptyCall, isJson } from '../http/call.ts';
import { pathTexts } from '../http/deserialize.ts';
import { RunStopped } from '../http/not-sent.ts';
import { isObject, type JsonObject } from '../json.ts';
import type { Baselines } from './baseline.ts';
import { type Changed, deleterOf } from './footprint.ts';
import { partsOf } from './names.ts';
import { ifSent, inParallel } from './parallel.ts';
import type { Session } from './session.ts';

/** How many resources are deleted at once. Later ones can depend on earlier ones, so the number is small. */
const deletionsAtOnce = 4;

/** Deletes what the run created, and restores what it changed, as far as the API and the time allow. */
export async function cleanUp(session: Session, baselines: Baselines): Promise<void> {
  session.transport.startCleaning();
  try {
    await remove(session, baselines);
    for (const changed of session.footprint.changed()) await restore(session, baselines, changed);
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

/** Writes the values from before the run, and reads whether they are back. */
async function restore(session: Session, baselines: Baselines, changed: Changed): Promise<void> {
  const { target, operation } = changed;
  const before = (await changed.before)?.response;
  const value = before?.json?.value;
  if (before === undefined || before.status >= 300 || !isObject(value)) return;
  const writers = session.operations.filter(
    (one) => one.path === operation.path && ['PUT', 'PATCH'].includes(one.method),
  );
  for (const writer of writers) {
    const content = writer.body?.contents.find(({ mediaType }) => isJson(mediaType));
    const known = baselines.of(writer)?.call;
    if (content?.schema === undefined || known === undefined) continue;
    const names = writableIn(session, content.schema);
    const body = Object.fromEntries(Object.entries(value).filter(([name]) => names.has(name)));
    await ifSent(() =>
      session.send({ ...known, body, mediaType: content.mediaType, raw: { path: target } }, { isJudged: false }),
    );
    const after = await ifSent(() => read(session, target));
    const current = after?.response.json?.value;
    changed.isRestored =
      isObject(current) && Object.entries(body).every(([name, one]) => isDeepStrictEqual(current[name], one));
    if (changed.isRestored) return;
  }
}

function read(session: Session, target: string): Promise<Exchange> {
  return session.sendRaw({ method: 'GET', target, headers: { accept: '*/*' }, body: undefined });
}

function writableIn({ document }: Session, schema: JsonObject): Set<string> {
  const properties = partsOf(document, schema).flatMap((part) =>
    Object.entries(isObject(part.properties) ? part.properties : {}),
  );
  return new Set(properties.flatMap(([name, property]) => (document.object(property).readOnly === true ? [] : [name])));
}
