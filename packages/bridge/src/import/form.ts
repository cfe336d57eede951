/** How the columns of a file become fields: what the forms of known systems and the files of `--mapping` contain. */
import { readFile } from 'node:fs/promises';
import { BridgeError } from '../errors.ts';

export const recordKinds = ['clients', 'jobs', 'staff', 'time', 'invoices', 'payments'] as const;
export type RecordKind = (typeof recordKinds)[number];

export interface Form<Kind extends string = RecordKind> {
  readonly records: Kind;
  /** System that the file comes from, part of the key of each record. */
  readonly system: string;
  /** Names that the column of a field can have. */
  readonly columns: Readonly<Record<string, readonly string[]>>;
  /** Fields whose columns the file must have, because a mapping names them. */
  readonly required?: readonly string[] | undefined;
  /** Values of the file and what they mean, by field. `*` is any other value. */
  readonly values?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
  /** Separates a client from its project in the name of a customer. */
  readonly projectSeparator?: string | undefined;
  /** Values of fields that the file has no column for, or that are empty. */
  readonly constants?: Readonly<Record<string, string>> | undefined;
}

/**
 * Reads a mapping: JSON with `records`, `system`, `columns`, and optionally `values` and `constants`.
 *
 * @param fieldsOf the fields of each kind of records
 * @throws BridgeError with what to correct
 */
export async function readMapping<Kind extends string>(
  path: string,
  fieldsOf: Readonly<Record<Kind, readonly string[]>>,
): Promise<Form<Kind>> {
  const content = await readFile(path, 'utf8').catch((error) => {
    throw new BridgeError(
      error.code === 'ENOENT' ? `There is no file ${path}.` : `${path} cannot be read: ${error.message}`,
    );
  });
  let value: unknown;
  try {
    value = JSON.parse(content.replace(/^\ufeff/, ''));
  } catch (error) {
    throw new BridgeError(`${path} is not JSON: ${error instanceof Error ? error.message : error}`);
  }
  const fault = (text: string) => new BridgeError(`${path}: ${text}`);
  if (!isObject(value)) throw fault('The mapping must be an object.');
  const { system, columns, values = {}, constants = {}, records: kind } = value;
  const unknown = Object.keys(value).find(
    (name) => !['records', 'system', 'columns', 'values', 'constants'].includes(name),
  );
  if (unknown !== undefined)
    throw fault(`“${unknown}” is unknown. A mapping has records, system, columns, values and constants.`);
  const kinds = Object.keys(fieldsOf);
  if (!isKeyOf(fieldsOf, kind))
    throw fault(`“records” must be ${kinds.length === 1 ? kinds[0] : `one of ${kinds.join(', ')}`}.`);
  const records = kind;
  if (typeof system !== 'string' || !/^[a-z0-9-]{1,30}$/.test(system))
    throw fault(
      '“system” must be a short name of the system that the file comes from, of small letters, digits and hyphens.',
    );
  if (
    !isTable<string | string[]>(
      columns,
      (one) => typeof one === 'string' || (Array.isArray(one) && one.every((name) => typeof name === 'string')),
    )
  )
    throw fault('“columns” must name the column of each field, such as { "name": "Client name" }.');
  if (!isTable<string>(constants, (one) => typeof one === 'string'))
    throw fault('“constants” must have a text for each field.');
  if (!isTable<Record<string, string>>(values, (one) => isTable(one, (text) => typeof text === 'string')))
    throw fault('“values” must have an object for each field, such as { "status": { "Live": "ACTIVE" } }.');
  const known = fieldsOf[records];
  for (const name of [columns, values, constants].flatMap((one) => Object.keys(one)))
    if (!known.includes(name)) throw fault(`${records} have no field “${name}”. They have ${known.join(', ')}.`);
  const lists = Object.entries(columns).map(([field, names]) => [field, [names].flat()]);
  return { records, system, columns: Object.fromEntries(lists), required: Object.keys(columns), values, constants };
}

function isKeyOf<Key extends string>(table: Readonly<Record<Key, unknown>>, key: unknown): key is Key {
  return typeof key === 'string' && Object.hasOwn(table, key);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTable<Value>(value: unknown, holds: (one: unknown) => boolean): value is Record<string, Value> {
  return isObject(value) && Object.values(value).every(holds);
}
