import { type JsonObject, propertiesIn, removed } from '../json.ts';
import type { Direction, Validators } from './validators.ts';

const maxTries = 60;
const deepest = 40;

/** The value without optional properties that make it invalid. */
export function repaired(
  validators: Validators,
  schema: JsonObject,
  original: unknown,
  direction: Direction,
): { readonly value: unknown } | undefined {
  const breachesOf = (value: unknown) => validators.breaches(schema, value, direction).length;
  let best = { value: original, breaches: breachesOf(original) };
  for (let tries = 0; ; ) {
    const { value, breaches } = best;
    for (const pointer of propertiesIn(value, deepest, true)) {
      tries += 1;
      if (tries > maxTries) return undefined;
      const pruned = removed(value, pointer);
      const left = breachesOf(pruned);
      if (left < breaches) best = { value: pruned, breaches: left };
      if (left === 0) return { value: pruned };
      if (left < breaches) break;
    }
    if (best.value === value) return undefined;
  }
}
