import type { components, Readable } from '@financial-automation/spec';
import type { Row } from '../../query/read.ts';
import { baseFields, type RecordType } from './record-type.ts';

/** A row as a record. That its base fields are what the contract says is checked where answers are validated. */
export function recordRow(type: RecordType, row: Row): Readable<components['schemas']['RecordRow']> {
  const base = Object.entries(row).filter(([name]) => baseFields.has(name));
  return {
    ...(Object.fromEntries(base) as Readable<components['schemas']['EntityBase']>),
    type: type.name,
    attributes: type.attributesOf(row),
  };
}
