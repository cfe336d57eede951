import { type RawBuilder, sql } from 'kysely';
import provinces from 'provinces';
import { schemaOf } from '../../contract/contract.ts';
import { columnOf, propertiesOf } from '../../contract/fields.ts';
import type { Draft } from '../../entity/rules.ts';
import { sameValue } from '../../entity/unit-of-work.ts';

/** The parts of an address, in the contract's order; each has a column. */
const parts = Object.keys(propertiesOf(schemaOf('Address')));

/** The address of a row as one value. */
export function address(row: string): RawBuilder<unknown> {
  const members = parts.flatMap((part) => [sql.lit(part), sql.ref(`${row}.${columnOf(part)}`)]);
  return sql`json_build_object(${sql.join(members)})`;
}

/** Completes the address of a row, and puts its parts into their columns. */
export function spreadAddress(draft: Draft): void {
  const given = (draft.values.address ?? {}) as Record<string, string | null | undefined>;
  const complete: Record<string, string | null> = Object.fromEntries(parts.map((part) => [part, given[part] ?? null]));
  normalizeRegion(complete);
  draft.values.address = complete;
  if (sameValue(complete, draft.previous?.address)) return;
  for (const part of parts) draft.hidden[columnOf(part)] = complete[part];
}

/** Names of US states and Canadian provinces become their abbreviations; other countries keep what was written. */
export function normalizeRegion(values: Record<string, unknown>): void {
  const { country, state } = values;
  if (typeof state !== 'string' || (country !== 'US' && country !== 'CA')) return;
  const wanted = plain(state);
  const found = provinces.find(
    (region) => region.country === country && (plain(region.name) === wanted || region.short?.toLowerCase() === wanted),
  );
  if (found?.short !== undefined) values.state = found.short;
}

/** A name without case and accents: Québec is Quebec. */
function plain(name: string): string {
  return name.trim().normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
}
