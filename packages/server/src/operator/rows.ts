import { sql } from 'kysely';
import { contractAjv } from '../contract/contract-ajv.ts';
import { distinct } from '../contract/wording.ts';
import type { AnyEntity } from '../entity/entity.ts';
import { allEntities } from '../entity/registry.ts';
import type { AnyStoredRow } from '../entity/row.ts';
import { readRows, selection } from '../entity/select.ts';
import {
  type CustomTypeRow,
  checkValues,
  customTypeNamed,
  customTypeNames,
  findMismatches,
  patternTest,
  recordTypeOf,
} from '../modules/records/index.ts';
import type { OperatorOf } from './operator.ts';
import { tenantNamed } from './tenants.ts';

/** The last row that has been checked. */
export interface RowPosition {
  readonly type: string;
  readonly id: string | null;
}

export interface RowsRequest {
  readonly tenant: string;
  /** Null for the first page. */
  readonly after: RowPosition | null;
}

/** A value that violates the contract. */
export interface RowFinding {
  readonly type: string;
  readonly id: string;
  readonly pointer: string;
  readonly detail: string;
}

export interface RowsReport {
  /** Number of rows on this page. */
  readonly checked: number;
  readonly findings: readonly RowFinding[];
  /** Position for the next page; null after the last one. */
  readonly next: RowPosition | null;
}

/** The rows of one type, and what each of them violates. */
interface CheckedType {
  readonly entity: AnyEntity;
  readonly faultsOf: (row: AnyStoredRow) => Promise<readonly Fault[]>;
}

type Fault = Pick<RowFinding, 'pointer' | 'detail'>;

/** Rows that one transaction reads. A large tenant must not hold a connection, or the process, for long. */
const pageSize = 200;

/**
 * Reads one page of a tenant's rows as responses include them, and compares them with the contract, and those of custom
 * types with the fields that the tenant has defined.
 *
 * @throws Error with a sentence if the tenant or the type does not exist.
 */
export async function checkRows(
  operator: OperatorOf<'store' | 'directory'>,
  { tenant: name, after }: RowsRequest,
): Promise<RowsReport> {
  const { id: tenantId } = await tenantNamed(operator, name);
  return operator.service.store.read(tenantId, async (session) => {
    // Always in the same order: the types of the contract, and the custom ones by name.
    const own = [...allEntities()];
    const names = [...own.map(({ type }) => type), ...(await customTypeNames(session, tenantId, true))];
    const index = after === null ? 0 : names.indexOf(after.type);
    const name = names[index];
    if (name === undefined) throw new Error(`There is no type ${after?.type}.`);
    const standard = own.find(({ type }) => type === name);
    const { entity, faultsOf } =
      standard === undefined
        ? customType(tenantId, await customTypeNamed(session, tenantId, name))
        : { entity: standard, faultsOf: faultsOfSchema(name) };
    const last = after?.id ?? null;
    const rows = await readRows(
      session,
      sql`${selection(entity)} where ${entity.within('e', tenantId)}
      ${last === null ? sql`` : sql`and e.id > ${last}`} order by e.id limit ${pageSize}`,
    );
    const following = names[index + 1];
    const end = rows.length < pageSize ? undefined : rows.at(-1);
    const next =
      end === undefined ? following !== undefined && { type: following, id: null } : { type: entity.type, id: end.id };
    const findings: RowFinding[] = [];
    for (const row of rows)
      for (const fault of await faultsOf(row)) findings.push({ type: entity.type, id: row.id, ...fault });
    return { checked: rows.length, findings, next: next || null };
  });
}

function customType(tenantId: number, row: CustomTypeRow): CheckedType {
  const { entity } = recordTypeOf(tenantId, row);
  const fields = row.fields.filter(({ active }) => active);
  const ofSchema = faultsOfSchema('CustomRecordRow');
  const check = checkValues(fields);
  return {
    entity,
    async faultsOf(record) {
      const stored = new Map(Object.entries(record.attributes ?? {}));
      // Records that are older than a field have null in it, also if it is not nullable.
      const written = fields.filter(({ name }) => (stored.get(name) ?? null) !== null);
      const invalid = check(Object.fromEntries(written.map(({ name }) => [name, stored.get(name)])));
      const faults = [
        ...(await ofSchema(record)),
        ...invalid.map(({ pointer = '', message }) => ({ pointer: `/attributes${pointer}`, detail: message })),
      ];
      for (const field of written) {
        const test = patternTest(field, stored.get(field.name));
        // One by one: the time for many of them together is limited.
        const [detail] = test === undefined ? [] : (await findMismatches(tenantId, [test])).values();
        if (detail !== undefined) faults.push({ pointer: `/attributes/${field.name}`, detail });
      }
      return faults;
    },
  };
}

function faultsOfSchema(name: string): CheckedType['faultsOf'] {
  return async (row) => {
    const validate = contractAjv({ allErrors: true, useDefaults: false, verbose: true }).getSchema(
      `#/components/schemas/${name}`,
    );
    if (validate === undefined) throw new Error(`The contract has no schema ${name}.`);
    if (validate(row)) return [];
    return distinct(validate.errors ?? []).map(({ error, detail }) => ({ pointer: error.instancePath, detail }));
  };
}

/** Formats a finding as a line of text. */
export function describeFinding({ type, id, pointer, detail }: RowFinding): string {
  return `${type} ${id}${pointer}: ${detail}`;
}
