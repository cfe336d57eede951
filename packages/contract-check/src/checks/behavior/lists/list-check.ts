import type { CheckName } from '../../../finding/rules.ts';
import { type BehaviorCheck, type Difference, differ, type Facts } from '../observe.ts';
import type { FullList, Listing } from './listing.ts';
import type { Slot } from './slots.ts';

/** What a check of lists gets. The list is read again before a finding is confirmed. */
export interface ListSubject {
  readonly listing: Listing;
  readonly list: FullList;
}

export type ListCheck = BehaviorCheck<ListSubject>;

/** A difference that is about a parameter, or about the operation as a whole. */
export function finding({ operation }: Listing, check: CheckName, slot: Slot | undefined, facts: Facts): Difference[] {
  const about = slot === undefined ? '' : `${slot.place} ${slot.name}`;
  return [differ(check, operation, about, { node: slot?.source, ...facts })];
}
