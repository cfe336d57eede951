import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { sql } from 'kysely';
import { contractAjv } from '../contract/contract-ajv.ts';
import type { AnyEntity } from '../entity/entity.ts';
import { allEntities } from '../entity/registry.ts';
import type { AnyStoredRow } from '../entity/row.ts';
import { selection } from '../entity/select.ts';
import { type CustomTypeRow, listCustomTypes, recordTypeOf } from '../modules/records/custom-type.ts';
import { compileFields } from '../modules/records/custom-values.ts';
import type { Session } from '../platform/store/store.ts';
import type { Operator } from './operator.ts';
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

/** The rows of one type, and what a row violates. */
interface CheckedType {
  readonly entity: AnyEntity;
  readonly faultsOf: (row: AnyStoredRow) => readonly ErrorObject[];
}

/** Rows that one transaction reads. A large tenant must not hold a connection, or the process, for long. */
const pageSize = 200;

const ajv = contractAjv({ allErrors: true, useDefaults: false, verbose: false });

/**
 * Reads one page of a tenant's rows as responses include them, and compares them with the contract, and those of custom
 * types with the fields that the tenant has defined.
 *
 * @throws Error with a sentence if the tenant or the type does not exist.
 */
export async function checkRows(
  operator: { readonly service: Pick<Operator['service'], 'store' | 'directory'> },
  { tenant: name, after }: RowsRequest,
): Promise<RowsReport> {
  const { id: tenantId } = await tenantNamed(operator, name);
  return operator.service.store.read(tenantId, async (session) => {
    const types = await checkedTypes(session, tenantId);
    const index = after === null ? 0 : types.findIndex(({ entity }) => entity.type === after.type);
    const type = types[index];
    if (type === undefined) throw new Error(`There is no type ${after?.type}.`);
    const { entity, faultsOf } = type;
    const last = after?.id ?? null;
    const rows = await session.all<AnyStoredRow>(sql`${selection(entity)} where ${entity.within('e', tenantId)}
      ${last === null ? sql`` : sql`and e.id > ${last}`} order by e.id limit ${pageSize}`);
    const following = types[index + 1];
    const end = rows.length < pageSize ? undefined : rows.at(-1);
    const next =
      end === undefined ? following && { type: following.entity.type, id: null } : { type: entity.type, id: end.id };
    const findings = rows.flatMap((row) =>
      faultsOf(row).map(({ instancePath: pointer, message: detail = '' }) => ({
        type: entity.type,
        id: row.id,
        pointer,
        detail,
      })),
    );
    return { checked: rows.length, findings, next: next ?? null };
  });
}

/** All types of a tenant, always in the same order: those of the contract, and its custom types by name. */
async function checkedTypes(session: Session, tenantId: number): Promise<readonly CheckedType[]> {
  const own = [...allEntities()].map((entity) => ({ entity, faultsOf: faultsOfSchema(entity.type) }));
  const custom = await listCustomTypes(session, tenantId, true);
  return [...own, ...custom.map((row) => customType(tenantId, row))];
}

function customType(tenantId: number, row: CustomTypeRow): CheckedType {
  const { entity } = recordTypeOf(tenantId, row);
  const fields = row.fields.filter(({ active }) => active);
  const ofSchema = faultsOfSchema('CustomRecordRow');
  let validate: ValidateFunction | undefined;
  return {
    entity,
    faultsOf(record) {
      // Compiled for the types whose rows are read.
      validate ??= compileFields(fields);
      const stored = new Map(Object.entries(record.attributes ?? {}));
      // Records that are older than a field have null in it, also if it is not nullable.
      const written = fields.filter(({ name }) => (stored.get(name) ?? null) !== null);
      const attributes = Object.fromEntries(written.map(({ name }) => [name, stored.get(name)]));
      const faults = faultsIn(validate, attributes).map((fault) => ({
        ...fault,
        instancePath: `/attributes${fault.instancePath}`,
      }));
      return [...ofSchema(record), ...faults];
    },
  };
}

function faultsOfSchema(name: string): CheckedType['faultsOf'] {
  return (row) => {
    const validate = ajv.getSchema(`#/components/schemas/${name}`);
    if (validate === undefined) throw new Error(`The contract has no schema ${name}.`);
    return faultsIn(validate, row);
  };
}

function faultsIn(validate: ValidateFunction, value: unknown): readonly ErrorObject[] {
  const isValid: boolean = validate(value);
  return isValid ? [] : (validate.errors ?? []);
}

/** Formats a finding as a line of text. */
export function describeFinding({ type, id, pointer, detail }: RowFinding): string {
  return `${type} ${id}: ${pointer === '' ? 'the row' : pointer} ${detail}.`;
}
