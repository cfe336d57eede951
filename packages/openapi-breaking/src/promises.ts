/** What an operation promises in extensions, which Redocly does not compare: roles, repetition, and limits. */
import { isDeepStrictEqual } from 'node:util';
import { objectOf } from '../../../openapi/rules/contract.ts';
import { type Break, type Bundle, operationsOf, pointerTo } from './document.ts';

interface Promises {
  readonly at: string;
  readonly roles: readonly unknown[];
  /** One of these is required as well; none if empty. */
  readonly additionalRoles: readonly unknown[];
  /** `true`, `false`, or the word for how: an idempotency key. */
  readonly idempotent: unknown;
  readonly rate: { readonly limit: number; readonly window: number } | undefined;
  readonly bodyLimit: number | undefined;
}

/** The promises of operations that both documents have, in pairs. */
export function promiseBreaks(released: Bundle, present: Bundle): { breaks: Break[]; changed: string[] } {
  const after = new Map(promisesOf(present).map((one) => [one.at, one]));
  const both = promisesOf(released).flatMap((before) => {
    const now = after.get(before.at);
    return now === undefined || isDeepStrictEqual(before, now) ? [] : [{ before, now }];
  });
  return {
    breaks: [...both.flatMap(({ before, now }) => withdrawn(before, now)), ...tighterLimits(released, present)],
    changed: both.map(({ now }) => now.at),
  };
}

function promisesOf(bundle: Bundle): Promises[] {
  const rates = objectOf(bundle['x-rate-limit-policies']);
  const sizes = objectOf(bundle['x-body-limits']);
  return operationsOf(bundle, ['paths']).map(({ path, key, operation }) => {
    const { limit, window } = objectOf(rates[String(operation['x-rate-limit'])]);
    const size = sizes[String(operation['x-body-limit'])];
    return {
      at: pointerTo('paths', path, key),
      roles: Array.isArray(operation['x-roles']) ? operation['x-roles'] : [],
      additionalRoles: Array.isArray(operation['x-additional-roles']) ? operation['x-additional-roles'] : [],
      idempotent: operation['x-idempotent'],
      rate: typeof limit === 'number' && typeof window === 'number' ? { limit, window } : undefined,
      bodyLimit: typeof size === 'number' ? size : undefined,
    };
  });
}

function withdrawn(before: Promises, after: Promises): Break[] {
  const found: Break[] = [];
  const add = (rule: string, extension: string, says: string) =>
    found.push({ rule, at: `${before.at}/${extension}`, says });
  const excluded = excludedRoles(before.roles, after.roles);
  if (excluded.length > 0) add('roles-narrowed', 'x-roles', `No longer admitted: ${excluded.join(', ')}.`);
  const { additionalRoles: also } = after;
  if (
    also.length > 0 &&
    (before.additionalRoles.length === 0 || excludedRoles(before.additionalRoles, also).length > 0)
  )
    add('roles-narrowed', 'x-additional-roles', `A call requires one of these as well: ${also.join(', ')}.`);
  const couldRepeat = before.idempotent !== undefined && before.idempotent !== false;
  if (couldRepeat && before.idempotent !== after.idempotent && after.idempotent !== true) {
    const says = `A call could be repeated (${before.idempotent}), and now not so (${after.idempotent}).`;
    add('repetition-withdrawn', 'x-idempotent', says);
  }
  if (before.rate && after.rate && after.rate.limit / after.rate.window < before.rate.limit / before.rate.window) {
    const [was, is] = [before.rate, after.rate].map(({ limit, window }) => `${limit} in ${window} s`);
    add('rate-limit-lowered', 'x-rate-limit', `Calls went from ${was} to ${is}.`);
  }
  if (before.bodyLimit && after.bodyLimit && after.bodyLimit < before.bodyLimit) {
    const says = `A body may have ${after.bodyLimit} bytes instead of ${before.bodyLimit}.`;
    add('body-limit-lowered', 'x-body-limit', says);
  }
  return found;
}

function excludedRoles(before: readonly unknown[], after: readonly unknown[]): unknown[] {
  if (after.length === 0 || after.includes('PUBLIC') || (after.includes('ANY') && !before.includes('PUBLIC')))
    return [];
  return before.filter((role) => !after.includes(role));
}

/** Limits that the root has. */
const limits: Readonly<Record<string, [rule: string, says: (was: number, is: number) => string]>> = {
  'x-search-limits': ['search-limit-lowered', (was, is) => `The limit went from ${was} to ${is}.`],
  'x-write-limits': ['write-limit-lowered', (was, is) => `Writes are limited from ${is} items on instead of ${was}.`],
  'x-row-limits': ['row-limit-lowered', (was, is) => `A call can have ${is} rows instead of ${was}.`],
  'x-tenant-limits': ['tenant-limit-lowered', (was, is) => `A tenant can have ${is} instead of ${was}.`],
};

function tighterLimits(released: Bundle, present: Bundle): Break[] {
  const lowered = Object.entries(limits).flatMap(([key, [rule, says]]) =>
    numbers(released[key], present[key]).flatMap(([name, was, is]) =>
      is < was ? [{ rule, at: pointerTo(key, name), says: says(was, is) }] : [],
    ),
  );
  const [weights, weightsNow] = [released, present].map((bundle) => objectOf(bundle['x-search-limits']).weights);
  const raised = numbers(weights, weightsNow).flatMap(([name, was, is]) => {
    const says = `The weight went from ${was} to ${is}, so searches that were accepted cost too much.`;
    const at = pointerTo('x-search-limits', 'weights', name);
    return is > was ? [{ rule: 'search-weight-raised', at, says }] : [];
  });
  return [...lowered, ...raised];
}

/** The numbers of a name before and after, if both exist. */
function numbers(before: unknown, after: unknown): [name: string, was: number, is: number][] {
  const later = objectOf(after);
  return Object.entries(objectOf(before)).flatMap(([name, was]): [string, number, number][] => {
    const is = later[name];
    return typeof was === 'number' && typeof is === 'number' ? [[name, was, is]] : [];
  });
}
