import { isDay, isInstant, isScalar, numberOf } from './compare.ts';
import type { Condition } from './condition.ts';
import type { FullList, Listing } from './listing.ts';
import { distinct, type Property } from './properties.ts';
import type { Slot } from './slot.ts';

/** A condition whose meaning is only likely is not judged without a second one. */
export function inferred(conditions: readonly Condition[]): Condition[] {
  return conditions.flatMap((condition, index) => {
    const second = conditions.find((_other, at) => at !== index);
    return second === undefined ? [] : [{ ...condition, second }];
  });
}

/** One condition that must fail together with another one: where it holds, the other one is not requested. */
export function both(conditions: readonly Condition[]): Condition[] {
  return inferred(conditions.slice(0, 2)).slice(0, 1);
}

/** The values of a property, those within lists one by one. */
export function elements(list: FullList, property: Property): unknown[] {
  return [...new Set(distinct(list.rows, property).flat())].filter(isScalar);
}

/** From the middle of the list outwards: the first row and the last one are where mistakes are hidden. */
export function middleOut(values: readonly unknown[]): unknown[] {
  const middle = Math.floor(values.length / 2);
  return [...values.slice(middle), ...values.slice(0, middle)];
}

/** Values as the slot takes them. */
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
