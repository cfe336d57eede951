import { sql } from 'kysely';
import type { Lookup } from './loaded-rows.ts';
import type { Plan } from './plan.ts';
import { isFieldChanged } from './row-changes.ts';
import type { AnyPendingChange } from './rules.ts';

/** What approvers decide about. */
interface Approvable {
  /** The type of the rows in the audit log. */
  readonly type: string;
  /** Their table, with the column `created_by_api_user_id`. */
  readonly table: string;
  /** The status of rows that wait for approval. */
  readonly waiting: string;
  /** Fields that callers write, of which an approver must have written none. */
  readonly fields: readonly string[];
}

/**
 * Creates the check of the separation of duties: whether whoever approves a row wrote one of the fields since somebody else reviewed it,
 * as this API user or as another one of the same staff member, by the audit log and by the changes of this transaction. The tenant can
 * allow that.
 */
export function writtenByApprover(approvable: Approvable) {
  const written = auditedWrites(approvable);
  return ({ entity, id, values }: Pick<AnyPendingChange, 'entity' | 'id' | 'values'>, plan: Plan): boolean => {
    const { caller } = plan.origin;
    if (caller === undefined || plan.tenant.settings.selfApproval) return false;
    const original = plan.untyped.original(entity, id);
    const isWritten = (name: string) => {
      const field = entity.fields.get(name);
      return original === undefined || field === undefined || isFieldChanged(entity, field, original, values);
    };
    return approvable.fields.some(isWritten) || plan.lookup(written, `${caller.apiUserId} ${id}`) === true;
  };
}

/**
 * Whether an API user wrote a row since its last review, by the IDs of both. A rejection after which nobody else wrote anything is no
 * review: what was rejected is submitted again.
 */
function auditedWrites({ type, table, waiting, fields }: Approvable): Lookup<boolean> {
  const differs = (row: string) =>
    sql.join(
      fields.map((field) => {
        const [before, after] = [sql.ref(`${row}.before`), sql.ref(`${row}.after`)];
        return sql`${before} -> ${sql.lit(field)} is distinct from ${after} -> ${sql.lit(field)}`;
      }),
      sql` or `,
    );
  return {
    name: `writes of ${type} by approvers`,
    async load(transaction, tenantId, keys) {
      const [apiUserId] = keys[0]?.split(' ') ?? [];
      const ids = keys.map((key) => key.slice(key.indexOf(' ') + 1));
      const ofRow = (row: string) => sql`${sql.ref(`${row}.tenant_id`)} = ${tenantId}
        and ${sql.ref(`${row}.entity_type`)} = ${type} and ${sql.ref(`${row}.entity_id`)} = e.id`;
      // Months of the audit log from before the oldest row are not read.
      const oldest = sql`first_id_at(instant_of_id(${ids.toSorted()[0]}::uuid) - interval '1 day')`;
      const rows = await transaction.all<{ key: string }>(sql`
        with author as materialized (
          select other.id from api_user own
          join api_user other on other.tenant_id = own.tenant_id and (other.id = own.id or other.staff_id = own.staff_id)
          where own.tenant_id = ${tenantId} and own.id = ${apiUserId}
        )
        select ${apiUserId} || ' ' || e.id as key
        from ${sql.table(table)} e
        -- A row can be older than its creation is kept in the audit log.
        cross join lateral (select coalesce(
          (select write.id from audit_log write
            where ${ofRow('write')} and write.id >= ${oldest} and write.api_user_id = any (array(select id from author))
              and (write.before is null or ${differs('write')})
            order by write.id desc limit 1),
          (select e.id from author where author.id = e.created_by_api_user_id)) as id) own
        where e.tenant_id = ${tenantId} and e.id = any(${ids}) and own.id is not null and not exists (
          select from audit_log review
          where ${ofRow('review')} and review.id > own.id and review.api_user_id <> all (array(select id from author))
            and review.before ->> 'status' = ${waiting} and review.after ->> 'status' <> ${waiting}
            and (review.after ->> 'status' = 'APPROVED' or exists (
              select from audit_log later where ${ofRow('later')} and later.id >= review.id and (${differs('later')}))))`);
      return new Map(rows.map(({ key }) => [key, true]));
    },
  };
}
