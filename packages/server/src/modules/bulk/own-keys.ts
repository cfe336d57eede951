import type { components } from '@financial-automation/spec';
import { schemaOf } from '../../contract/contract.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import type { Plan } from '../../entity/plan.ts';
import type { AnyInput, AnyRow } from '../../entity/row.ts';

type SysRef = components['schemas']['SysRef'];

/** What a caller writes of any row beside its attributes. */
export interface OwnKeys {
  readonly sysRefs?: components['schemas']['SysRefList'];
  readonly metadata?: components['schemas']['MetadataInput'];
}

/** One record of a request; a deletion has no attributes. */
export interface RecordItem extends OwnKeys {
  readonly type: string;
  readonly systemRef?: string;
  /** The version that the row must have. */
  readonly ifVersion?: number;
  /** Set for the history of another system. */
  readonly source?: 'IMPORT';
  /** When things happened there, by the names of fields. */
  readonly instants?: Readonly<Record<string, string>>;
  readonly attributes?: AnyInput;
}

const maxRefs = schemaOf('CustomRecordRow').properties?.sysRefs?.maxItems ?? 0;
const maxNames = schemaOf('Metadata').maxProperties ?? 0;

/**
 * The keys in other systems and the metadata of a row after a write: what it does not name stays.
 *
 * @param row the row before; undefined for a new one, which gets its `systemRef` as a key in the system of its caller.
 * @throws Rejection if the row would have too many.
 */
export function withOwnKeys(
  { origin }: Plan,
  row: AnyRow | undefined,
  systemRef: string | undefined,
  { sysRefs, metadata }: OwnKeys,
): AnyInput {
  const values: Record<string, unknown> = {};
  if (sysRefs !== undefined) {
    const first = { system: origin.caller?.apiUserName ?? 'system', ref: systemRef };
    const before = row === undefined ? (systemRef === undefined ? [] : [first]) : (row.sysRefs as SysRef[]);
    const systems = new Set(sysRefs.map(({ system }) => system));
    const kept = [...before.filter(({ system }) => !systems.has(system)), ...sysRefs.filter(({ ref }) => ref !== null)];
    if (kept.length > maxRefs) throw invalidField('sysRefs', `A row has at most ${maxRefs} of them.`, 'BOUNDS');
    values.sysRefs = kept;
  }
  if (metadata !== undefined) {
    const merged = Object.entries({ ...(row?.metadata ?? {}), ...metadata }).filter(([, value]) => value !== null);
    if (merged.length > maxNames) throw invalidField('metadata', `A row has at most ${maxNames} names.`, 'BOUNDS');
    values.metadata = Object.fromEntries(merged);
  }
  return values;
}
