import { type Client, orThrow } from '../../../client/src/index.ts';
import { RowError } from '../errors.ts';
import type { Form } from './form.ts';
import { type ReferenceKind, systemRefOf } from './plan.ts';

/** A row that others refer to, with the keys that it can be named by, the surest first. */
interface Found {
  readonly id: string;
  readonly keys: readonly (string | null | undefined)[];
}

const nouns: Readonly<Record<ReferenceKind, string>> = {
  client: 'client',
  job: 'job',
  staff: 'staff member',
  staffType: 'staff type',
  invoice: 'invoice',
};
const maxKeys = 100;
/** Above this, names that were found are looked up again. */
const maxRemembered = 20_000;

/** Finds the rows that a file refers to: by the keys that an import gave them, or by their numbers and names. */
export class Directory {
  readonly #api: Client;
  readonly #form: Form;
  /** Clients, jobs and invoices of other orgs are not found. */
  readonly #ofOrg: { readonly orgId?: { readonly _eq: string } };
  readonly #ids = new Map<string, string | null>();

  constructor(api: Client, form: Form, orgId: string | undefined) {
    this.#api = api;
    this.#form = form;
    this.#ofOrg = orgId === undefined ? {} : { orgId: { _eq: orgId } };
  }

  /** Looks up keys, so that `idOf` finds them. */
  async load(kind: ReferenceKind, keys: Iterable<string>): Promise<void> {
    if (this.#ids.size > maxRemembered) this.#ids.clear();
    const missing = [...new Set(keys)].filter((key) => this.#ids.get(`${kind}:${key}`) === undefined);
    for (let index = 0; index < missing.length; index += maxKeys) {
      const part = missing.slice(index, index + maxKeys);
      const rows = await this.#find(kind, part);
      for (const key of part) {
        const names = [systemRefOf(this.#form, kind, key), key.toLowerCase()];
        // A key of this import is surer than a number, and a number than a name, which several rows can have.
        const place = Math.min(...rows.map(({ keys: own }) => own.findIndex((one) => named(one, names)) + 1 || 99));
        const matching = place === 99 ? [] : rows.filter(({ keys: own }) => named(own[place - 1], names));
        const [only, ...others] = matching;
        if (only !== undefined) this.#ids.set(`${kind}:${key}`, others.length === 0 ? only.id : null);
      }
    }
  }

  /** @throws RowError if there is no such row, or several */
  idOf(kind: ReferenceKind, key: string): string {
    const id = this.#ids.get(`${kind}:${key}`);
    if (id === null)
      throw new RowError(`Several ${nouns[kind]}s are named “${key}”. Use the number in the file instead.`);
    if (id === undefined)
      throw new RowError(`There is no ${nouns[kind]} “${key}”. Import or create it first, or correct the name.`);
    return id;
  }

  exists(kind: ReferenceKind, key: string): boolean {
    return this.#ids.has(`${kind}:${key}`);
  }

  async #find(kind: ReferenceKind, keys: string[]): Promise<Found[]> {
    const _in = keys;
    const systemRef = { _in: keys.map((key) => systemRefOf(this.#form, kind, key)) };
    switch (kind) {
      case 'client': {
        const where = {
          ...this.#ofOrg,
          _or: [{ systemRef }, { clientRef: { _in } }, { pmsRef: { _in } }, { name: { _in } }],
        };
        const fields = ['systemRef', 'clientRef', 'pmsRef', 'name'] as const;
        const rows = this.#api.searchClients.rows({ body: { where, fields: ['id', ...fields], pageSize: 500 } });
        return found(rows, (row) => fields.map((field) => row[field]));
      }
      case 'job': {
        const client = this.#ofOrg;
        const where = { client, _or: [{ systemRef }, { jobRef: { _in } }, { pmsRef: { _in } }, { name: { _in } }] };
        const fields = ['systemRef', 'jobRef', 'pmsRef', 'name'] as const;
        const rows = this.#api.searchProjects.rows({ body: { where, fields: ['id', ...fields], pageSize: 500 } });
        return found(rows, (row) => fields.map((field) => row[field]));
      }
      case 'staff': {
        const email = { _in: keys.map((key) => key.toLowerCase()) };
        const where = { _or: [{ systemRef }, { staffRef: { _in } }, { email }, { displayName: { _in } }] };
        const fields = ['systemRef', 'staffRef', 'email', 'displayName'] as const;
        const rows = this.#api.searchStaff.rows({ body: { where, fields: ['id', ...fields], pageSize: 500 } });
        return found(rows, (row) => fields.map((field) => row[field]));
      }
      case 'invoice': {
        const where = { ...this.#ofOrg, _or: [{ systemRef }, { invoiceNumber: { _in } }] };
        const fields = ['systemRef', 'invoiceNumber'] as const;
        const rows = this.#api.searchInvoices.rows({ body: { where, fields: ['id', ...fields], pageSize: 500 } });
        return found(rows, (row) => fields.map((field) => row[field]));
      }
      case 'staffType': {
        const { data } = await orThrow(this.#api.lookupStaffTypes({ body: {} }));
        return data.map((row) => ({ id: row.id, keys: [row.systemRef, row.code, row.name] }));
      }
    }
  }
}

function named(own: string | null | undefined, [systemRef, name]: readonly string[]): boolean {
  return own !== null && own !== undefined && (own === systemRef || own.toLowerCase() === name);
}

async function found<Row extends { id: string }>(
  rows: AsyncIterable<Row>,
  keysOf: (row: Row) => Found['keys'],
): Promise<Found[]> {
  const all: Found[] = [];
  for await (const row of rows) all.push({ id: row.id, keys: keysOf(row) });
  return all;
}
