import type { components } from '@financial-automation/spec';
import { sql } from 'kysely';
import { contract } from '../../contract/contract.ts';
import type { Input } from '../../contract/handler.ts';
import { Rejection } from '../../contract/rejection.ts';
import type { Handler } from '../../entity/context.ts';
import type { Plan } from '../../entity/plan.ts';
import type { AnyRow, Row } from '../../entity/row.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { checkNotArchived, client, hasDocuments } from '../clients/index.ts';
import { contactClient, mergeContacts } from '../contacts/index.ts';
import { type CustomReference, customReferences } from '../records/index.ts';
import { storeBookChange } from '../reference/index.ts';
import { clientReferences } from './client-references.ts';

type Body = Input<'mergeClients'>['body'];
type Moved = components['schemas']['ClientMergeResult']['moved'];

const maxMovedRows = contract['x-row-limits'].merge;

/** Moves all rows of a client to another one, and deactivates it. */
export const mergeClients: Handler<'mergeClients'> = (context, { body }) =>
  context.write(async (unit) => {
    const { from, into } = body;
    await lockAgainstReferences(unit, body);
    const custom = await customReferences(unit, 'Client', from);
    await checkNumber(unit, from);
    const counts = await unit.plan((plan) => merge(plan, body, custom));
    for (const { entity, column } of clientReferences().filter(({ entity }) => entity.isAppendOnly))
      add(counts, entity.type, await moveEntries(unit, entity.table, column, body));
    const moved: Moved = [...counts].sort().map(([type, rows]) => ({ type, rows }));
    return { status: 200, body: { from, into, moved } };
  });

/** Locks both clients so that no transaction can add a row that refers to them until this one ends. */
async function lockAgainstReferences({ transaction, tenantId }: UnitOfWork, { from, into }: Body): Promise<void> {
  await transaction.all(sql`
    select id from client where tenant_id = ${tenantId} and id in (${from}, ${into}) order by id for update`);
}

/** @throws Rejection if a client has more rows than a transaction can move */
async function checkNumber({ transaction, tenantId }: UnitOfWork, from: string): Promise<void> {
  const counts = clientReferences()
    .filter(({ entity }) => !entity.isAppendOnly)
    .map(
      ({ entity, column }) => sql`(select count(*) from (select from ${sql.table(entity.table)}
        where tenant_id = ${tenantId} and ${sql.ref(column)} = ${from} limit ${maxMovedRows + 1}) found)`,
    );
  const [found] = await transaction.all<{ rows: string }>(sql`select ${sql.join(counts, sql` + `)} as rows`);
  if (Number(found?.rows) > maxMovedRows)
    throw new Rejection('INVALID_STATE', `More than ${maxMovedRows} rows would move.`, '/from');
}

function merge(plan: Plan, body: Body, custom: readonly CustomReference[]): Map<string, number> {
  const { from, into, reason } = body;
  const target = checkClients(plan, body);
  const counts = new Map<string, number>();
  // The jobs of a client without documents get the currency of the client first, as in any change of it.
  plan.set(client, from, { currency: target.currency });
  const references = clientReferences().filter(
    ({ entity }) => !entity.isAppendOnly && entity.type !== contactClient.type,
  );
  const load = ({ entity, field }: (typeof references)[number]) => plan.untyped.allForUpdate(entity, field, from);
  plan.together(
    ...references.map((reference) => () => load(reference)),
    ...custom.map(
      ({ entity, id }) =>
        () =>
          plan.untyped.allForUpdate(entity, 'id', id),
    ),
  );
  checkNoPayment(plan, from);
  const contacts = mergeContacts(plan, from, into);
  for (const [type, rows] of Object.entries(contacts)) add(counts, type, rows);
  for (const reference of references) {
    const { entity, field } = reference;
    const rows = load(reference);
    // A client has at most one reminder of a day.
    const isReminder = ({ reminderDate }: AnyRow) => typeof reminderDate === 'string';
    const others = rows.some(isReminder) ? plan.untyped.allForUpdate(entity, field, into) : [];
    const days = new Set(others.map(({ reminderDate }) => reminderDate));
    for (const row of rows) {
      const isSecond = isReminder(row) && days.has(row.reminderDate);
      plan.untyped.refer(entity, row.id, { [field]: into, ...(isSecond && { reminderDate: null }) });
    }
    add(counts, entity.type, rows.length);
  }
  for (const { entity, id, names } of custom) {
    const [row] = plan.untyped.allForUpdate(entity, 'id', id);
    const attributes = { ...attributesOf(row), ...Object.fromEntries(names.map((name) => [name, into])) };
    plan.untyped.update(entity, id, { attributes }, {});
    add(counts, entity.type, 1);
  }
  plan.set(client, from, { active: false, mergedIntoId: into });
  storeBookChange(plan, { entity: client, id: from }, { changeReason: reason });
  return counts;
}

/** Returns the client that gets the rows. @throws Rejection if the two cannot be merged */
function checkClients(plan: Plan, { from, into }: Body): Row<'Client'> {
  const rows = plan.getManyForUpdate(client, [from, into]);
  const [source, target] = [present(rows.get(from), '/from'), present(rows.get(into), '/into')];
  if (from === into) throw new Rejection('INVALID_STATE', 'A client cannot be merged into itself.', '/into');
  checkNotArchived(target, '/into');
  if (source.orgId !== target.orgId)
    throw new Rejection('INVALID_STATE', 'The clients belong to different orgs, whose books are separate.', '/into');
  if (source.currency !== target.currency && hasDocuments(plan, from)) {
    const detail = `The client is billed in ${target.currency}, and the other one has documents in ${source.currency}.`;
    throw new Rejection('INVALID_STATE', detail, '/into');
  }
  for (let ancestor = target.parentClientId; ancestor !== null; ) {
    if (ancestor === from)
      throw new Rejection('INVALID_STATE', 'The client is a descendant of the one to merge into it.', '/into');
    ancestor = plan.getForShare(client, ancestor)?.parentClientId ?? null;
  }
  return target;
}

function present(row: Row<'Client'> | undefined, pointer: string): Row<'Client'> {
  if (row === undefined) {
    const detail = 'Your tenant has no client with this ID.';
    throw new Rejection('NOT_FOUND', detail, { errors: [{ in: 'body', pointer, code: 'NOT_FOUND', detail }] });
  }
  if (row.mergedIntoId !== null)
    throw new Rejection('INVALID_STATE', `The client was merged into ${row.mergedIntoId} before.`, pointer);
  if (!row.active) throw new Rejection('INVALID_STATE', 'The client is inactive. Activate it first.', pointer);
  return row;
}

/** @throws Rejection while money of a client is on its way */
function checkNoPayment(plan: Plan, from: string): void {
  const inProgress = (type: string, status: string) =>
    clientReferences()
      .filter(({ entity }) => entity.type === type)
      .some(({ entity, field }) => plan.untyped.allForUpdate(entity, field, from).some((row) => row.status === status));
  if (inProgress('Payment', 'PENDING') || inProgress('QuickPaymentLink', 'PROCESSING'))
    throw new Rejection(
      'INVALID_STATE',
      'A payment of the client is in progress. Repeat the merge when it has ended.',
      '/from',
    );
}

/** Moves rows that otherwise never change: the database accepts the client that theirs was merged into. @returns their number */
async function moveEntries(
  { transaction, tenantId }: UnitOfWork,
  table: string,
  column: string,
  { from, into }: Body,
): Promise<number> {
  const [found] = await transaction.all<{ rows: string }>(sql`
    with moved as (
      update ${sql.table(table)} set ${sql.ref(column)} = ${into}
      where tenant_id = ${tenantId} and ${sql.ref(column)} = ${from} returning 1)
    select count(*) as rows from moved`);
  return Number(found?.rows);
}

function attributesOf(row: AnyRow | undefined): object {
  return typeof row?.attributes === 'object' && row.attributes !== null ? row.attributes : {};
}

function add(counts: Map<string, number>, type: string, rows: number): void {
  if (rows > 0) counts.set(type, (counts.get(type) ?? 0) + rows);
}
