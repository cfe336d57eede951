import { isDay, isInstant, isScalar, numberOf } from './compare.ts';
import type { Condition } from './condition.ts';
import type { FullList, Listing } from './listing.ts';
import { distinct, type Property } from './properties.ts';
import type { Slot } from './slot.ts';

/** Requires a second failing condition for a meaning that is only inferred. */
export function inferred(conditions: readonly Condition[]): Condition[] {
  return conditions.flatMap((condition, index) => {
    const second = conditions.find((_other, at) => at !== index);
    return second === undefined ? [] : [{ ...condition, second }];
  });
}

/** Two conditions of which both must fail. The second is requested only if the first fails. */
export function both(conditions: readonly Condition[]): Condition[] {
  return inferred(conditions.slice(0, 2)).slice(0, 1);
}

/** The values of a property, with lists flattened. */
export function elements(list: FullList, property: Property): unknown[] {
  return [...new Set(distinct(list.rows, property).flat())].filter(isScalar);
}

/** Starts in the middle of the list: errors at its ends are harder to notice. */
export function middleOut(values: readonly unknown[]): unknown[] {
  const middle = Math.floor(values.length / 2);
  return [...values.slice(middle), ...values.slice(0, middle)];
}

/** Values converted to a type that the slot accepts. */
export function usable({ reader }: Listing, slot: Slot, values: readonly unknown[], isList: boolean): unknown[] {
  return values
    .flatMap((value) =>
      [value, ...otherForms(value)]
        .filter((form) => reader.callOf([[slot, isList ? [form] : form]]) !== undefined)
        .slice(0, 1),
    )
    .filter((value) => value !== '');
}

function otherForms(value: unknown): unknown[] {
  const number = typeof value === 'string' ? numberOf(value) : undefined;
  if (number !== undefined) return [number];
  if (isInstant(value)) return [String(value).slice(0, 10)];
  if (isDay(value)) return [`${value}T00:00:00Z`];
  return typeof value === 'number' || typeof value === 'boolean' ? [String(value)] : [];
}
