/** What a rehearsal would change, and what others have changed, in figures. */
import { isDeepStrictEqual } from 'node:util';
import { hasRole, mayCall } from '@financial-automation/spec/roles';
import { sql } from 'kysely';
import { visibleTo } from '../../entity/field-access.ts';
import { entityOf } from '../../entity/registry.ts';
import type { AnyStoredRow } from '../../entity/row.ts';
import { formatDecimal, parseDecimal, sum } from '../../platform/decimal.ts';
import type { Transaction } from '../../platform/store/store.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { type DataList, dataLists, otherListsOf } from './catalog.ts';
import { decimal, none, when } from './formats.ts';
import { card, table } from './layout.ts';
import { namesIn } from './names.ts';
import { currencyOf, flatRow, isTechnical, nameOf, type ShownRow, shownValue, type View } from './values.ts';
import type { ConsoleVisit } from './visit.ts';
import { fieldInWords } from './words.ts';

/** As the audit log records it. */
interface Change {
  readonly type: string;
  readonly before: AnyStoredRow | null;
  readonly after: AnyStoredRow;
}

/** What a transaction has recorded, which it may not keep. */
export async function recordedSince(transaction: Transaction, visit: ConsoleVisit, start: string, list?: DataList) {
  const { tenant, exchange } = visit;
  const changes = await transaction.all<Change>(sql`
    select entity_type as type, before, after from audit_log
    where tenant_id = ${tenant.id} and id > ${start} and request_id = ${exchange.id} order by id`);
  return changes.flatMap((change) => visibleChange(visit, change, list));
}

function auditOf({ tenant }: ConsoleVisit, list: DataList, id: unknown) {
  const types = [list, ...otherListsOf(list)].map(({ type }) => type);
  return sql`audit_log where tenant_id = ${tenant.id} and entity_type = any(${types}) and entity_id = ${id}`;
}

/** What has changed a row since the version of the form that was sent about it, as one change; none if that is not known. */
export async function changedMeanwhile(visit: ConsoleVisit, list: DataList, { id, version = 0 }: ShownRow) {
  const { service, tenant } = visit;
  const shown = visit.fields.get('_version');
  if (shown === null || shown === String(version)) return [];
  const audit = auditOf(visit, list, id);
  const changes = await service.store.read(tenant.id, (session) =>
    session.all<Change>(sql`
      select entity_type as type, before, (select after from ${audit} order by id desc limit 1)
      from ${audit} and before ->> 'version' = ${shown} limit 1`),
  );
  return changes.flatMap((change) => visibleChange(visit, change, list));
}

/** For whoever sent a form about a row that somebody else has changed. */
export async function meanwhileCard(visit: ConsoleVisit, changes: readonly VisibleChange[]): Promise<HtmlContent> {
  return changes.length > 0 && card('What has changed since you opened the page', await changeTable(visit, changes));
}

/** With more changed rows, their sums are shown instead of each. */
const maxShown = 8;

export async function changeTable(visit: ConsoleVisit, shown: readonly VisibleChange[]): Promise<HtmlContent> {
  const isSummary = shown.length > maxShown;
  const fieldsOf = async (change: VisibleChange) =>
    changedFields({ visit, names: await namesIn(visit, [change.old, change.now], change.list.properties) }, change);
  const rows = isSummary ? sums(shown) : (await Promise.all(shown.map(fieldsOf))).flat();
  const heads = [isSummary ? 'Rows' : 'Row', isSummary ? 'What' : 'Field'];
  const sides = ['Before', 'After'].map((text) => ({ text, isNumber: true }));
  return rows.length === 0 ? html`<p>Nothing that is shown here.</p>` : table('Changes', [...heads, ...sides], rows);
}

/** Both sides of a change, as far as the caller may read such rows. @param own the list of the row that was written, which can be of a custom type */
function visibleChange({ caller }: ConsoleVisit, { type, before, after }: Change, own?: DataList) {
  const [entity, list] = [entityOf(type), own?.type === type ? own : dataLists.get(type)];
  const holds = (roles: readonly string[]) => hasRole(caller.roles, roles);
  const isReadable = entity ? holds(entity.readRoles ?? []) : list && mayCall(list.operation, caller.roles);
  if (list === undefined || !isReadable) return [];
  const [old, now] = [before ?? {}, after].map((row) => flatRow(entity ? visibleTo(holds, entity, row) : row));
  return [{ list, old: old ?? {}, now: now ?? {}, isNew: before === null }];
}

export type VisibleChange = ReturnType<typeof visibleChange>[number];

/** Of each type, how many rows change, and the sums of their amounts and hours before and after. */
function sums(changes: readonly VisibleChange[]): HtmlContent[][] {
  const groups = Map.groupBy(changes, ({ list, isNew }) => `${isNew ? 'New ' : ''}${list.title}`);
  return [...groups].flatMap(([title, of]) => {
    const [first] = of;
    const totals = [...(first?.list.properties ?? [])].flatMap(([name, schema]) => {
      if (schema.format !== 'decimal' || /Rate$|Percent$/.test(name)) return [];
      const total = (side: 'old' | 'now') => sum(of.map((one) => parseDecimal(String(one[side][name] ?? '0'))));
      const [before, after] = [total('old'), total('now')].map((one) => decimal(formatDecimal(one, 2)));
      return before === after ? [] : [['', fieldInWords(name), before, after]];
    });
    return [[title, 'Rows', first?.isNew === true ? '0' : String(of.length), String(of.length)], ...totals];
  });
}

/** The fields of a row that differ: of a new row, what people compare. */
function changedFields(view: View, { list, old, now, isNew }: VisibleChange): HtmlContent[][] {
  const names = isNew ? list.columns : [...list.properties.keys()];
  return names.flatMap((name) => {
    const [from, value, schema] = [old[name], now[name], list.properties.get(name)];
    if (isTechnical(list.columns, name) || isDeepStrictEqual(from ?? null, value ?? null)) return [];
    // A row that does not exist yet has no name.
    const isNamed = schema?.['x-references'] === undefined || view.names.has(String(value));
    // The address of a new row is another one when it is written.
    if (isNew && (value === null || !isNamed || schema?.format === 'uri')) return [];
    const isLong = [from, value].flat().some((one) => typeof one === 'object' && one !== null);
    const shown = (one: unknown) => (one === undefined ? none() : shownValue(view, one, schema, currencyOf(now)));
    const sides = isLong ? ['', 'changed'] : [shown(from), shown(value)];
    return [[`${isNew ? 'New ' : ''}${nameOf(list, now)}`, fieldInWords(name), ...sides]];
  });
}

/** Changes of a row that its page shows. */
const maxHistory = 20;

/** What differs from the other side of a change, with the currency of its amounts: an invoice can have hundreds of lines that no payment changes. */
function differing(side: 'before' | 'after', other: 'before' | 'after') {
  const values = sql`select jsonb_object_agg(key, value) from jsonb_each(${sql.ref(side)})
    where key = 'currency' or value is distinct from ${sql.ref(other)} -> key`;
  return sql`case when ${sql.ref(side)} is not null then coalesce((${values}), '{}') end as ${sql.ref(side)}`;
}

/** The latest changes of a row: when and who, and both sides of what people read. */
export async function historyTable(visit: ConsoleVisit, list: DataList, id: string): Promise<HtmlContent> {
  const { service, tenant } = visit;
  const found = await service.store.read(tenant.id, (session) =>
    session.all<Change & { readonly at: string; readonly actor: string }>(sql`
      select entity_type as type, ${differing('before', 'after')}, ${differing('after', 'before')}, occurred_at as at, actor
      from ${auditOf(visit, list, id)} order by id desc limit ${maxHistory}`),
  );
  const changes = found.flatMap((change) => visibleChange(visit, change, list).map((one) => ({ ...change, ...one })));
  const sides = changes.flatMap(({ old, now }) => [old, now]);
  const names = await namesIn(visit, sides, list.properties);
  const rows = changes.flatMap((change) => {
    const fields = changedFields({ visit, names }, change).map(([, ...field]) => field);
    const made = fields.length > 0 ? fields : [[change.isNew ? 'New' : 'Other fields', '', '']];
    return made.map((field) => [when(tenant, change.at), change.actor, ...field]);
  });
  return table('History', ['Time', 'By', 'Field', 'Before', 'After'], rows);
}
