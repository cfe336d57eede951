import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { findAllForUpdate, findForUpdate } from '../../entity/write.ts';
import type { Row } from '../../query/read.ts';
import type { RecordType } from './record-type.ts';

/** A record that a call names. */
export interface RecordKey {
  readonly type: string;
  readonly systemRef?: string;
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

  static async lock(
    unit: UnitOfWork,
    types: ReadonlyMap<string, RecordType>,
    keys: readonly RecordKey[],
  ): Promise<KnownRows> {
    const known = new KnownRows(unit);
    const wanted = Map.groupBy(keys, (key) => key.type);
    // In one order, as the rows of a type are, so that two calls cannot each wait for the other.
    for (const name of [...wanted.keys()].sort()) {
      const type = types.get(name);
      const systemRefs = new Set(wanted.get(name)?.flatMap((key) => key.systemRef ?? []));
      if (type === undefined || systemRefs.size === 0) continue;
      for (const row of await findAllForUpdate(unit, type.entity, [...systemRefs]))
        known.#rows.set(`${name}/${row.systemRef}`, row);
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
