import { type Client, orThrow, type Schema } from '../../../client/src/index.ts';
import type { AnyRecord, Planned } from './plan.ts';

export interface Counts {
  created: number;
  updated: number;
  unchanged: number;
  /** Records that can only be checked when others are stored. */
  unchecked: number;
}

/** What became of a planned record; without a reason, it is stored. */
export interface Written {
  readonly reason: string | undefined;
}

type WriteResult = Pick<Schema<'RecordWriteItem'>, 'id' | 'status'> & { error: Schema<'RecordItemError'> | null };
const maxRecords = 100;

/** Writes records, or rehearses that: the service checks everything and stores nothing. */
export class Writer {
  readonly counts: Counts = { created: 0, updated: 0, unchanged: 0, unchecked: 0 };
  readonly #api: Client;
  readonly #apply: boolean;
  readonly #signal: AbortSignal;
  readonly #before = new Set<string>();

  constructor(api: Client, apply: boolean, signal: AbortSignal) {
    this.#api = api;
    this.#apply = apply;
    this.#signal = signal;
  }

  async write(planned: readonly Planned[]): Promise<Written[]> {
    const before = planned.flatMap((one) => {
      const ref = one.before?.systemRef;
      if (one.before === undefined || ref === undefined || this.#before.has(ref)) return [];
      this.#before.add(ref);
      return [one.before];
    });
    const failed = new Map<string | undefined, string>();
    for (const [index, result] of (await this.#send(before)).entries())
      if (result.error !== null) failed.set(before[index]?.systemRef, reasonOf(result.error, before[index]));
      else this.#count(result);

    // A rehearsal stores nothing that other records could refer to.
    const written: (Written | undefined)[] = planned.map((one) => {
      if (failed.has(one.before?.systemRef) && one.before !== undefined)
        return { reason: failed.get(one.before.systemRef) };
      if (this.#apply || one.before === undefined) return undefined;
      this.counts.unchecked += 1;
      return { reason: undefined };
    });
    const open = planned.flatMap((one, index) => (written[index] === undefined ? [{ ...one, index }] : []));
    const after: { record: AnyRecord; index: number }[] = [];
    for (const [place, result] of (await this.#send(open.map(({ record }) => record))).entries()) {
      const one = open[place];
      if (one === undefined) continue;
      written[one.index] = { reason: result.error === null ? undefined : reasonOf(result.error, one.record) };
      if (result.error !== null) continue;
      this.#count(result);
      if (one.after === undefined || result.id === null) continue;
      if (this.#apply || result.status !== 'CREATED') after.push({ record: one.after(result.id), index: one.index });
      else this.counts.unchecked += 1;
    }
    for (const [place, result] of (await this.#send(after.map(({ record }) => record))).entries()) {
      const one = after[place];
      if (one === undefined) continue;
      if (result.error === null) this.#count(result);
      else written[one.index] = { reason: `The ${one.record.type} of it: ${reasonOf(result.error, one.record)}` };
    }
    return written.map((one) => one ?? { reason: 'The service returned no result.' });
  }

  #count({ status }: WriteResult): void {
    if (status === 'CREATED') this.counts.created += 1;
    else if (status === 'UPDATED') this.counts.updated += 1;
    else this.counts.unchanged += 1;
  }

  async #send(records: readonly AnyRecord[]): Promise<WriteResult[]> {
    const results: WriteResult[] = [];
    for (let index = 0; index < records.length; index += maxRecords) {
      const part = records.slice(index, index + maxRecords);
      const common = { dryRun: !this.#apply, signal: this.#signal };
      const entries = part.filter((one) => one.type === 'TimeEntry');
      const others = part.filter((one) => one.type !== 'TimeEntry');
      // The records of a file are of one kind, so one of these is empty.
      if (entries.length > 0)
        results.push(...(await orThrow(this.#api.upsertEntries({ ...common, body: { records: entries } }))).records);
      if (others.length > 0)
        results.push(...(await orThrow(this.#api.upsertRecords({ ...common, body: { records: others } }))).records);
    }
    return results;
  }
}

/** What is wrong with a record, by field. A reference that was not found is named. */
function reasonOf({ errors, detail }: Schema<'RecordItemError'>, record: AnyRecord | undefined): string {
  const fields = new Map<string, unknown>(Object.entries(record?.attributes ?? {}));
  const reasons = errors.map((error) => {
    const [, field] = /\/attributes\/(.+)$/.exec(error.pointer ?? '') ?? [];
    const value = fields.get(field ?? '');
    const ref = typeof value === 'object' && value !== null && 'systemRef' in value ? String(value.systemRef) : '';
    const [, kind, key] = /^[^:]+:([^:]+):(.+)$/.exec(ref) ?? [];
    if (error.code === 'REFERENCE_NOT_FOUND' && kind !== undefined)
      return `There is no ${kind} “${key}”. Import or create it first, or correct the name.`;
    return field === undefined ? error.detail : `${field}: ${error.detail}`;
  });
  return reasons.length === 0 ? detail : [...new Set(reasons)].join(' ');
}
