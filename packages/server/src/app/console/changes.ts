/** What a rehearsal would change, in figures. */
import { hasRole } from '@financial-automation/spec/roles';
import { sql } from 'kysely';
import { visibleTo } from '../../entity/field-access.ts';
import { entityOf } from '../../entity/registry.ts';
import type { AnyStoredRow } from '../../entity/row.ts';
import { formatDecimal, parseDecimal, sum } from '../../platform/decimal.ts';
import type { Transaction } from '../../platform/store/store.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { dataLists } from './catalog.ts';
import { decimal, none } from './formats.ts';
import { table } from './layout.ts';
import { namesIn } from './names.ts';
import { currencyOf, isTechnical, nameOf, type ShownRow, shownValue, type View } from './values.ts';
import type { ConsoleVisit } from './visit.ts';
import { fieldInWords } from './words.ts';

/** As the audit log records it. */
export interface Change {
  readonly type: string;
  readonly before: AnyStoredRow | null;
  readonly after: AnyStoredRow;
}

/** What a transaction has recorded, which it may not keep. */
export function recordedSince(transaction: Transaction, { tenant, exchange }: ConsoleVisit, start: string) {
  return transaction.all<Change>(sql`
    select entity_type as type, before, after from audit_log
    where tenant_id = ${tenant.id} and id > ${start} and request_id = ${exchange.id} order by id`);
}

/** With more changed rows, their sums are shown instead of each. */
const maxShown = 8;

export async function changeTable(visit: ConsoleVisit, changes: readonly Change[]): Promise<HtmlContent> {
  const shown = changes.flatMap((change) => visibleChange(visit, change));
  const isSummary = shown.length > maxShown;
  const fieldsOf = async (change: VisibleChange) =>
    changedFields({ visit, names: await namesIn(visit, [change.old, change.now], change.list.properties) }, change);
  const rows = isSummary ? sums(shown) : (await Promise.all(shown.map(fieldsOf))).flat();
  const heads = [isSummary ? 'Rows' : 'Row', isSummary ? 'What' : 'Field'];
  const sides = ['Before', 'After'].map((text) => ({ text, isNumber: true }));
  return rows.length === 0 ? html`<p>Nothing that you may read.</p>` : table('Changes', [...heads, ...sides], rows);
}

/** Both sides of a change, as far as the caller may read such rows. */
function visibleChange({ caller }: ConsoleVisit, { type, before, after }: Change) {
  const [entity, list] = [entityOf(type), dataLists.get(type)];
  const holds = (roles: readonly string[]) => hasRole(caller.roles, roles);
  if (entity === undefined || list === undefined || !holds(entity.readRoles ?? [])) return [];
  const old: ShownRow = before === null ? {} : visibleTo(holds, entity, before);
  const now: ShownRow = visibleTo(holds, entity, after);
  return [{ list, old, now, isNew: before === null }];
}

type VisibleChange = ReturnType<typeof visibleChange>[number];

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

/** The single values of a row that differ: of a new row, what people compare. */
function changedFields(view: View, { list, old, now, isNew }: VisibleChange): HtmlContent[][] {
  const isSingle = (value: unknown) => typeof value !== 'object' || value === null;
  const names = isNew ? list.columns : [...list.properties.keys()];
  return names.flatMap((name) => {
    const [from, value, schema] = [old[name], now[name], list.properties.get(name)];
    if (isTechnical(list.columns, name) || from === value || !isSingle(from) || !isSingle(value)) return [];
    // A row that does not exist yet has no name.
    const isNamed = schema?.['x-references'] === undefined || view.names.has(String(value));
    // The address of a new row is another one when it is written.
    if (isNew && (value === null || !isNamed || schema?.format === 'uri')) return [];
    const shown = (one: unknown) => (one === undefined ? none() : shownValue(view, one, schema, currencyOf(now)));
    return [[`${isNew ? 'New ' : ''}${nameOf(list, now)}`, fieldInWords(name), shown(from), shown(value)]];
  });
}
