import { hasRole } from '@financial-automation/spec/roles';
import { type HtmlContent, html } from '../../wire/html.ts';
import { type DataList, dataLists } from './catalog.ts';
import { rowTable } from './data-pages.ts';
import { containing, newestFirst } from './filter.ts';
import { card, framed } from './layout.ts';
import { flatRow } from './values.ts';
import { type ConsoleVisit, callOperation, nextPage, rowsIn } from './visit.ts';

/** Rows of each list. */
const maxRows = 5;
/** Shorter texts match too many rows, and no index helps to find them. */
const minLength = 3;

/** The fields by which people know rows: names, numbers, references, addresses. */
const known = /^(name|legalName|displayName|email|fileName|batchRef)$|Number$|^(client|job|staff|engagement|pms)Ref$/;

/** The request that finds rows by a part of their name, number or reference; undefined if the list has none of these. */
function findIn(list: DataList, text: string) {
  const { filters, label, byId } = list;
  if (byId === undefined || label === undefined) return undefined;
  const pageSize = maxRows;
  if (filters.some(({ name, operators }) => name === label && operators.has('=')))
    return { query: { pageSize: String(pageSize), [label]: text }, body: undefined };
  const names = filters.filter(({ name, operators }) => known.test(name) && operators.has('_ilike'));
  if (names.length === 0) return undefined;
  const order = newestFirst(list);
  const orderBy = order === undefined ? {} : { orderBy: [{ [order.column]: 'desc' }] };
  const where = { _or: names.map(({ name }) => ({ [name]: containing(text) })) };
  return { query: {}, body: { pageSize, where, ...orderBy } };
}

/** What has a name, number or reference with the text, of every list that the caller may search. */
export async function searchPage(visit: ConsoleVisit): Promise<string> {
  const text = visit.query.get('q')?.trim() ?? '';
  const found: HtmlContent[] = [];
  for (const list of text.length < minLength ? [] : dataLists.values()) {
    const input = findIn(list, text);
    if (input === undefined || !hasRole(visit.caller.roles, list.operation.roles)) continue;
    const body = await callOperation(visit, list.operation, input);
    const rows = rowsIn(body).map(flatRow);
    if (rows.length === 0) continue;
    const isCut = nextPage(body) !== undefined;
    const more = isCut && html`<p class="soft">There are more. Enter more of the name.</p>`;
    found.push(card(list.title, [await rowTable(visit, list, rows), more]));
  }
  const nothing =
    text.length < minLength ? `Enter at least ${minLength} characters.` : 'Nothing has this name or number.';
  return framed(visit.frame, {
    title: text === '' ? 'Search' : `Search: ${text}`,
    part: 'none',
    search: text,
    body: found.length > 0 ? found : html`<section class="card"><p>${nothing}</p></section>`,
  });
}
