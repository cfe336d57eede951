import type { Operation } from '../document/operation.ts';
import type { Call } from '../http/call.ts';
import { serialize } from '../http/serialize.ts';
import type { JsonObject } from '../json.ts';
import { isReadingPost, partsOf } from './names.ts';
import type { Session } from './session.ts';

/**
 * Ids that does not exist: to ask for one shows what a server returns for nothing, and to put one makes something new. And what a
 * made-up id must never do: change or delete what was there before the run.
 */

/** Ids in the form of a known one that is unlikely to exist, the unlikeliest first; none where it has no such form. */
export function unlikelyIds(known: unknown, seed: number): unknown[] {
  const dice = Math.abs(seed);
  if (typeof known === 'number')
    return [
      900_000_000 + (dice % 90_000_000),
      80_000_000 + (dice % 9_000_000),
      700_000 + (dice % 90_000),
      30_000 + (dice % 2000),
    ];
  if (typeof known !== 'string' || !hexadecimalEnd.test(known)) return [];
  return [known.replace(hexadecimalEnd, (dice % 0xffffffff).toString(16).padStart(8, '0'))];
}

const hexadecimalEnd = /[\da-f]{8}$/i;

/** An id that a schema allows and that is unlikely to exist; undefined where the schema leaves no choice. */
export function unknownId(
  { document, values, validators }: Session,
  schema: JsonObject,
  known: unknown,
  seed: number,
): unknown {
  if (partsOf(document, schema).some((part) => Array.isArray(part.enum) || 'const' in part)) return undefined;
  const candidates = [
    ...unlikelyIds(known, seed),
    ...(known === undefined ? [] : [values.fresh(schema, known, seed)]),
    values.sample(schema, 'request', 'some', seed)?.value,
  ];
  return candidates.find((one) => one !== undefined && one !== known && validators.accepts(schema, one, 'request'));
}

/**
 * Whether a call can do no harm to what was there before the run: it only reads, or what its path names was created by the run, or
 * is nobody's, as a read of it says. Where nothing reads it, only a name that nobody can have will do.
 *
 * @param known a call that may be sent: what it names may be named.
 */
export async function isHarmless(session: Session, call: Call, known?: Call): Promise<boolean> {
  const { operation, path } = call;
  if (['GET', 'HEAD', 'OPTIONS'].includes(operation.method) || isReadingPost(operation)) return true;
  const strange = Object.entries(path).filter(
    ([name, value]) => value !== known?.path[name] && !session.pool.isCreated(operation, name, value),
  );
  if (strange.length === 0 && call.raw?.path === undefined) return true;
  const read = readerOf(session.operations, operation.path);
  if (read === undefined) return strange.some(([, value]) => isUnlikely(value));
  const [whole = ''] = serialize({ ...call, body: undefined }).target.split('?');
  const target = whole.split('/').slice(0, read.path.split('/').length).join('/');
  const { response } = await session.sendRaw(
    { method: 'GET', target, headers: { accept: '*/*' }, body: undefined },
    read,
  );
  return response.status >= 400 && response.status < 500 && !inconclusive.includes(response.status);
}

/** What reads the resource that a path names, or all that is at the path. */
function readerOf(operations: readonly Operation[], path: string): Operation | undefined {
  const paths = [path, path.slice(0, path.lastIndexOf('}') + 1)];
  return operations.find((one) => one.method === 'GET' && paths.includes(one.path));
}

/** Statuses that tell nothing of whether there is such a resource. */
const inconclusive: readonly number[] = [401, 403, 405, 406, 429];

function isUnlikely(value: unknown): boolean {
  // What is no whole number may be read as the one that it begins with.
  return typeof value === 'number'
    ? Number.isSafeInteger(value) && value >= 80_000_000
    : /^[\da-f]{8}-[\da-f-]{27}$/i.test(String(value));
}
