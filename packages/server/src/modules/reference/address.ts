/// <reference path="./provinces.d.ts" />
import type { components } from '@financial-automation/spec';
import provinces from 'provinces';
import { schemaOf } from '../../contract/contract.ts';
import { propertiesOf } from '../../contract/fields.ts';
import { invalidField } from '../../entity/invalid-field.ts';

type Address = components['schemas']['Address'];

/** An address with all parts null, in the contract's order. */
const empty = Object.fromEntries(Object.keys(propertiesOf(schemaOf('Address'))).map((part) => [part, null]));

/**
 * Completes an address: missing parts are null, and states are abbreviated.
 *
 * @param previous the stored address, whose state remains even if it does not exist.
 * @throws Rejection with the pointer `/state` if the country has no such state
 */
export function completeAddress(address: Address, previous?: Address): Address {
  const complete: Address = { ...empty, ...address };
  return { ...complete, state: abbreviatedState(complete, previous) };
}

/** The parts of an address, or of a tax region, that name a state. */
interface Region {
  readonly country?: string | null;
  readonly state?: string | null;
}

/**
 * Abbreviates the name of a US state or a Canadian province; values of other countries are unchanged.
 *
 * @throws Rejection with the pointer `/state` if the country has no such state, unless it is stored already
 */
export function abbreviatedState({ country, state = null }: Region, previous?: Region): string | null {
  const regions = statesOf.get(country ?? '');
  if (state === null || regions === undefined) return state;
  const name = withoutAccents(state);
  const found = regions.find((region) => withoutAccents(region.name) === name || region.short.toLowerCase() === name);
  if (found !== undefined) return found.short;
  if (previous?.state === state && previous.country === country) return state;
  const known = regions.map(({ short }) => short).join(', ');
  throw invalidField('state', `${country} has no such state or province. Send its name, or one of ${known}.`);
}

/** Addresses of the armed forces have these in place of a state. */
const armedForces = [
  { name: 'Armed Forces Americas', short: 'AA' },
  { name: 'Armed Forces Europe', short: 'AE' },
  { name: 'Armed Forces Pacific', short: 'AP' },
];

/** The states of the countries whose states are checked and abbreviated. */
const statesOf = new Map([
  ['US', [...regionsOf('US'), ...armedForces]],
  ['CA', regionsOf('CA')],
]);

function regionsOf(country: string): { readonly name: string; readonly short: string }[] {
  return provinces.flatMap(({ country: of, name, short }) =>
    of === country && short !== undefined ? [{ name, short }] : [],
  );
}

/** Normalizes a name without case and accents: Québec becomes quebec. */
function withoutAccents(name: string): string {
  return name.trim().normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
}
