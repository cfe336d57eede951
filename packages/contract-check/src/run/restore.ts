import { isDeepStrictEqual } from 'node:util';
import type { OpenApiDocument } from '../document/document.ts';
import type { Operation } from '../document/operation.ts';
import { type Call, type Exchange, isJson } from '../http/call.ts';
import type { WireRequest } from '../http/serialize.ts';
import { isObject, type JsonObject } from '../json.ts';
import { shapeOf } from '../schema/shape.ts';
import type { Changed } from './footprint.ts';
import { ifSent } from './parallel.ts';

/** The parts of a session that restoring needs. */
interface Sender {
  readonly document: OpenApiDocument;
  readonly operations: readonly Operation[];
  send(call: Call, options: { readonly isJudged: boolean }): Promise<Exchange>;
  sendRaw(wire: WireRequest): Promise<Exchange>;
}

/** Writes the values from before the run, and reads whether they are back. */
export async function restore(
  session: Sender,
  changed: Changed,
  callOf: (writer: Operation) => Call | undefined,
): Promise<void> {
  const { target, operation } = changed;
  const before = (await changed.before)?.response;
  const value = before?.json?.value;
  if (before === undefined || before.status >= 300 || !isObject(value)) return;
  const writers = session.operations.filter(
    (one) => one.path === operation.path && ['PUT', 'PATCH', 'POST'].includes(one.method),
  );
  for (const writer of writers) {
    const content = writer.body?.contents.find(({ mediaType }) => isJson(mediaType));
    const known = callOf(writer);
    if (content?.schema === undefined || known === undefined) continue;
    const names = writableIn(session, content.schema);
    const body = Object.fromEntries(Object.entries(value).filter(([name]) => names.has(name)));
    if (Object.keys(body).length === 0) continue;
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

function read(session: Sender, target: string): Promise<Exchange> {
  return session.sendRaw({ method: 'GET', target, headers: { accept: '*/*' }, body: undefined });
}

function writableIn({ document }: Sender, schema: JsonObject): Set<string> {
  const properties = [...shapeOf(document, schema).properties];
  return new Set(properties.flatMap(([name, schemas]) => (shapeOf(document, ...schemas).readOnly ? [] : [name])));
}
