import { operationOf } from '../../contract/contract.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { formStart } from './action-pages.ts';
import { writingOf } from './actions.ts';
import { listOf } from './catalog.ts';
import { day } from './formats.ts';
import { queryForm } from './forms.ts';
import { type ConsolePage, card, linkList } from './layout.ts';
import { countsOf, type WaitingRows } from './overview-page.ts';
import { type ShownRow, urlOf } from './values.ts';
import { type ConsoleVisit, callOperation, rowsIn, todayOf } from './visit.ts';

/** What should be done before a period is closed: its time, expenses, drafts and payments, of an org or of a firm with only one. */
function checksOf(through: string, orgId?: string): readonly WaitingRows[] {
  const until = { _lte: through };
  const ofClient = orgId !== undefined && { client: { orgId: { _eq: orgId } } };
  const isOpen = { status: { _in: ['DRAFT', 'SUBMITTED'] }, active: { _eq: true }, ...ofClient };
  // A payment of an unknown payer has no client, but an org.
  const ofOrg = ofClient && { _or: [ofClient, { clientId: { _is_null: true }, orgId: { _eq: orgId } }] };
  return [
    ['TimeEntry', 'Time entries that are not approved', { ...isOpen, workDate: until }],
    ['ExpenseEntry', 'Expenses that are not approved', { ...isOpen, expenseDate: until }],
    [
      'DraftInvoice',
      'Draft invoices that are not posted',
      {
        status: { _nin: ['POSTED', 'REJECTED', 'DELETED'] },
        active: { _eq: true },
        proposedInvoiceDate: until,
        ...ofClient,
      },
    ],
    ['Payment', 'Payments that are pending', { status: { _eq: 'PENDING' }, paymentDate: until, ...ofOrg }],
    ['Payment', 'Payments with money to apply', { unappliedAmount: { _gt: '0.00' }, paymentDate: until, ...ofOrg }],
  ];
}

/** Closes the books of each legal entity through a day, once the check list of the period is looked at, and opens them again. */
export async function closePage(visit: ConsoleVisit): Promise<ConsolePage> {
  const { query } = visit;
  const lastOfMonth = Temporal.PlainDate.from(await todayOf(visit))
    .with({ day: 1 })
    .subtract({ days: 1 })
    .toString();
  const through = query.get('through')?.trim() || lastOfMonth;
  const orgs = rowsIn(await callOperation(visit, operationOf('listOrgs'), { body: { pageSize: 100 } }));
  const checks = orgs.map(({ id }) => countsOf(visit, checksOf(through, orgs.length > 1 ? String(id) : undefined)));
  const found = await Promise.all(checks);
  return {
    title: 'Close a month',
    lead: 'After it is closed, nothing gets a day of the period, and its figures never change.',
    body: html`${await queryForm(visit, '/close', { through }, [{ path: 'through', schema: { format: 'date' } }], 'Check')}
${orgs.map((org, index) => orgCard(visit, org, { through, checks: found[index] ?? [] }))}`,
  };
}

function orgCard(
  visit: ConsoleVisit,
  org: ShownRow,
  { through, checks }: { readonly through: string; readonly checks: readonly HtmlContent[] },
): HtmlContent {
  const { id, name, booksClosedThrough: closed } = org;
  const list = listOf('Org');
  const canClose = writingOf(list, org, visit.caller)?.inputs.some(({ path }) => path === 'booksClosedThrough');
  const start = formStart(visit, `${urlOf(list, org)}/edit`, org);
  const isClosed = typeof closed === 'string';
  const close = html`${start}<input type="hidden" name="booksClosedThrough" value="${through}"><button>Close through ${day(through)}</button></form>`;
  const open = html`<details><summary>Open again</summary>${start}<label for="open-${String(id)}">Keep closed through <span class="hint">empty to open all periods</span></label><input type="date" id="open-${String(id)}" name="booksClosedThrough"><label for="reason-${String(id)}">Reason</label><input id="reason-${String(id)}" name="changeReason" required autocomplete="off"><div class="row"><button class="danger">Open again</button></div></form></details>`;
  const forms = html`<div class="row">${(!isClosed || closed < through) && close}${isClosed && open}</div>`;
  const state = html`<p>${isClosed ? html`Closed through ${day(closed)}.` : 'No period is closed.'}</p>`;
  const left = html`<h3>Still open through ${day(through)}</h3>${checks.length === 0 ? html`<p>Nothing. The period is complete.</p>` : [linkList(checks), html`<p class="soft">What is done later counts for the first open day.</p>`]}`;
  return card(String(name), [
    left,
    state,
    canClose ? forms : html`<p class="soft">Closing it requires the role BOOKS_CLOSE.</p>`,
  ]);
}
