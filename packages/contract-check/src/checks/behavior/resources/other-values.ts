import type { JsonObject } from '../../../json.ts';
import { isNoReference } from '../../../run/names.ts';
import type { Session } from '../../../run/session.ts';
import { hasEnum, targetOf } from '../../../schema/parts.ts';
import { isSame } from './compare.ts';

/** The body without optional properties. */
export function withoutOptional({ validators }: Session, schema: JsonObject, body: JsonObject): JsonObject {
  return Object.keys(body).reduce((least, name) => {
    const { [name]: _left, ...rest } = least;
    return validators.accepts(schema, rest, 'request') ? rest : least;
  }, body);
}

/** Other valid values for a scalar property, most likely accepted first. References are not changed. */
export function otherValues(
  session: Session,
  schemas: readonly JsonObject[],
  value: unknown,
  name: string,
  seed: number,
): unknown[] {
  const schema = targetOf(session.document, schemas);
  if (schema === undefined || !isNoReference(name)) return [];
  const { values } = session;
  const isWord = hasEnum(session.document, schemas);
  const words = (isWord ? (values.shape(schema).enum ?? []) : []).filter((one) => one !== null);
  const start = words.length === 0 ? 0 : Math.abs(seed) % words.length;
  const candidates = isWord
    ? [...words.slice(start), ...words.slice(0, start)]
    : [...near(value), values.fresh(schema, value, seed), values.sample(schema, 'request', 'some', seed)?.value];
  return candidates.filter(
    (one) => one !== null && one !== undefined && typeof one !== 'object' && !isSame(value, one, { name, isWord }),
  );
}

function near(value: unknown): unknown[] {
  if (typeof value === 'boolean') return [!value];
  if (typeof value === 'number') return [value + 1, value - 1, value + 0.5, value * 2];
  if (typeof value !== 'string' || !/^-?\d+(?:\.\d+)?$/.test(value)) return [];
  return [1, -1].map((step) => (Number(value) + step).toFixed(value.split('.')[1]?.length ?? 0));
}
