import type { JsonObject } from '../../../json.ts';
import { isOwnId, kindOfReference } from '../../../run/names.ts';
import type { Session } from '../../../run/session.ts';
import { isSame } from './compare.ts';
import { hasEnum, targetOf } from './schema.ts';

/** Other valid values for a scalar property, most likely accepted first. References are not changed. */
export function otherValues(
  session: Session,
  schemas: readonly JsonObject[],
  value: unknown,
  name: string,
  seed: number,
): unknown[] {
  const schema = targetOf(session.document, schemas);
  if (schema === undefined || isOwnId(name) || kindOfReference(name) !== undefined) return [];
  const { values } = session;
  const shape = values.shape(schema);
  const isWord = hasEnum(session.document, schemas);
  const candidates = isWord
    ? rotated(
        (shape.enum ?? []).filter((one) => one !== null),
        seed,
      )
    : [...near(value), values.fresh(schema, value, seed), values.sample(schema, 'request', 'some', seed)?.value];
  return candidates.filter(
    (one) => one !== null && one !== undefined && typeof one !== 'object' && !isSame(value, one, { name, isWord }),
  );
}

function near(value: unknown): unknown[] {
  if (typeof value === 'boolean') return [!value];
  if (typeof value === 'number') return [value + 1, value - 1, value + 0.5, value * 2];
  if (typeof value !== 'string' || !/^-?\d+(?:\.\d+)?$/.test(value)) return [];
  const decimals = value.split('.')[1]?.length ?? 0;
  return [(Number(value) + 1).toFixed(decimals), (Number(value) - 1).toFixed(decimals)];
}

function rotated(words: readonly unknown[], seed: number): unknown[] {
  const start = words.length === 0 ? 0 : Math.abs(seed) % words.length;
  return [...words.slice(start), ...words.slice(0, start)];
}
