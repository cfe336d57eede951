import { isObject, type JsonObject, withoutMember } from '../json.ts';
import type { Direction, Validators } from './validators.ts';

/** The value without optional properties that make it invalid. */
export function repaired(
  validators: Validators,
  schema: JsonObject,
  original: unknown,
  direction: Direction,
): { readonly value: unknown } | undefined {
  let value = original;
  let tries = 60;
  let breaches = validators.breaches(schema, value, direction).length;
  for (let isBetter = true; isBetter && tries > 0; ) {
    isBetter = false;
    for (const pruned of prunings(value)) {
      tries -= 1;
      if (tries < 0) break;
      const left = validators.breaches(schema, pruned, direction).length;
      if (left === 0) return { value: pruned };
      if (left >= breaches) continue;
      [value, breaches, isBetter] = [pruned, left, true];
      break;
    }
  }
  return undefined;
}

/** The value without one of its properties, for each property; outer ones first. */
function* prunings(value: unknown): Generator<unknown> {
  if (isObject(value)) {
    for (const name of Object.keys(value)) yield withoutMember(value, name);
    for (const [name, child] of Object.entries(value)) {
      for (const pruned of prunings(child)) yield { ...value, [name]: pruned };
    }
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) for (const pruned of prunings(item)) yield value.with(index, pruned);
  }
}
