import type { ValidateFunction } from 'ajv/dist/2020.js';
import { sql } from 'kysely';
import { contractAjv } from '../contract/contract-ajv.ts';
import type { AnyEntity } from '../entity/entity.ts';
import { allEntities } from '../entity/registry.ts';
import type { AnyStoredRow } from '../entity/row.ts';
import { selection } from '../entity/select.ts';
import { type Operator, tenantNamed } from './tenants.ts';

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

/** Rows that one transaction reads. A large tenant must not hold a connection, or the process, for long. */
const pageSize = 200;

const ajv = contractAjv({ allErrors: true });

/**
 * Reads one page of a tenant's rows as responses include them, and compares them with the contract. Rows of custom types
 * have no schema in the contract.
 *
 * @throws Error with a sentence if the tenant or the type does not exist.
 */
export async function checkRows(
  operator: { readonly service: Pick<Operator['service'], 'store' | 'directory'> },
  { tenant: name, after }: RowsRequest,
): Promise<RowsReport> {
  const { id: tenantId } = await tenantNamed(operator, name);
  const entities = [...allEntities()].filter(({ isCustom }) => !isCustom);
  const index = after === null ? 0 : entities.findIndex(({ type }) => type === after.type);
  const entity = entities[index];
  if (entity === undefined) throw new Error(`There is no type ${after?.type}.`);
  const last = after?.id ?? null;
  const rows = await operator.service.store.read(tenantId, (session) =>
    session.all<AnyStoredRow>(sql`${selection(entity)} where ${entity.within('e', tenantId)}
      ${last === null ? sql`` : sql`and e.id > ${last}`} order by e.id limit ${pageSize}`),
  );
  const following = entities[index + 1];
  const end = rows.length < pageSize ? undefined : rows.at(-1);
  const next = end === undefined ? following && { type: following.type, id: null } : { type: entity.type, id: end.id };
  return { checked: rows.length, findings: rows.flatMap((row) => findingsOf(entity, row)), next: next ?? null };
}

function findingsOf({ type }: AnyEntity, row: AnyStoredRow): RowFinding[] {
  const validate = validatorOf(type);
  const isValid: boolean = validate(row);
  if (isValid) return [];
  return (validate.errors ?? []).map(({ instancePath, message = '' }) => ({
    type,
    id: row.id,
    pointer: instancePath,
    detail: message,
  }));
}

function validatorOf(type: string): ValidateFunction {
  const validate = ajv.getSchema(`#/components/schemas/${type}`);
  if (validate === undefined) throw new Error(`The contract has no schema ${type}.`);
  return validate;
}

/** Formats a finding as a line of text. */
export function describeFinding({ type, id, pointer, detail }: RowFinding): string {
  return `${type} ${id}: ${pointer === '' ? 'the row' : pointer} ${detail}.`;
}
