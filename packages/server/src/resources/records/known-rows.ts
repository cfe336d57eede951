import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { findAllForUpdate, findForUpdate } from '../../entity/write.ts';
import type { Row } from '../../query/read.ts';
import type { RecordType } from './record-type.ts';

/** A record that a call names; without `systemRef` it is new. */
export interface NamedRecord {
  readonly type: RecordType;
  readonly systemRef: string | undefined;
}

/** The rows that a call names, read and locked with one query per type, and kept true while the call changes them. */
export class KnownRows {
  readonly #unit: UnitOfWork;
  readonly #rows = new Map<string, Row>();
  /** Records that this call has made or changed: what was read before may not be so any more. */
  readonly #touched = new Set<string>();

  private constructor(unit: UnitOfWork) {
    this.#unit = unit;
  }

  static async lock(unit: UnitOfWork, named: readonly NamedRecord[]): Promise<KnownRows> {
    const known = new KnownRows(unit);
    const byType = [...Map.groupBy(named, (record) => record.type)];
    // In one order, as the rows of a type are, so that two calls cannot each wait for the other.
    for (const [type, records] of byType.sort(([left], [right]) => (left.name < right.name ? -1 : 1))) {
      const systemRefs = new Set(records.flatMap((record) => record.systemRef ?? []));
      if (systemRefs.size === 0) continue;
      for (const row of await findAllForUpdate(unit, type.entity, [...systemRefs]))
        known.#rows.set(`${type.name}/${row.systemRef}`, row);
    }
    return known;
  }

  /** The row as it is now, also an inactive one. */
  async find(type: RecordType, systemRef: string): Promise<Row | undefined> {
    const key = `${type.name}/${systemRef}`;
    const row = this.#rows.get(key);
    const isStale = this.#touched.has(key) || (row !== undefined && this.#unit.hasChanged(type.entity, row.id));
    return isStale ? findForUpdate(this.#unit, type.entity, { systemRef }) : row;
  }

  touch(type: RecordType, systemRef: string): void {
    this.#touched.add(`${type.name}/${systemRef}`);
  }
}
