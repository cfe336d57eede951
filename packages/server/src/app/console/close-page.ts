import { operationOf } from '../../contract/contract.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { day } from './formats.ts';
import { queryForm } from './forms.ts';
import { type ConsolePage, card, keyField } from './layout.ts';
import { countsOf, type WaitingRows } from './overview-page.ts';
import { type ConsoleVisit, callOperation, rowsIn, todayOf } from './visit.ts';

/** What should be done before a period is closed: its time, expenses, drafts and payments. */
function checksOf(through: string): readonly WaitingRows[] {
  const until = { _lte: through };
  const isOpen = { status: { _in: ['DRAFT', 'SUBMITTED'] }, active: { _eq: true } };
  return [
    ['TimeEntry', 'Time entries that are not approved', { ...isOpen, workDate: until }],
    ['ExpenseEntry', 'Expenses that are not approved', { ...isOpen, expenseDate: until }],
    [
      'DraftInvoice',
      'Draft invoices that are not posted',
      { status: { _in: ['DRAFT', 'IN_REVIEW'] }, active: { _eq: true }, proposedInvoiceDate: until },
    ],
    ['Payment', 'Payments that are pending', { status: { _eq: 'PENDING' }, paymentDate: until }],
    ['Payment', 'Payments with money to apply', { unappliedAmount: { _gt: '0.00' }, paymentDate: until }],
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
  const checks = await countsOf(visit, checksOf(through));
  const orgs = rowsIn(await callOperation(visit, operationOf('listOrgs'), { body: { pageSize: 100 } }));
  return {
    title: 'Close a month',
    lead: 'After it is closed, nothing gets a day of the period, and its figures never change.',
    body: html`${await queryForm(visit, '/close', { through }, [{ path: 'through', schema: { format: 'date' } }], 'Check')}
${card(html`Still open through ${day(through)}`, checks.length === 0 ? html`<p>Nothing. The period is complete.</p>` : html`<ul class="links">${checks}</ul><p class="soft">What is done later counts for the first open day.</p>`)}
${orgs.map((org) => orgCard(visit, org, through))}`,
  };
}

function orgCard(
  { frame }: ConsoleVisit,
  { id, name, version, booksClosedThrough: closed }: Readonly<Record<string, unknown>>,
  through: string,
): HtmlContent {
  const start = html`<form method="post" action="${frame.base}/data/Org/${String(id)}/edit">${keyField(frame)}<input type="hidden" name="version" value="${String(version)}">`;
  const isClosed = typeof closed === 'string';
  return html`<section class="card"><h2>${String(name)}</h2><p>${isClosed ? html`Closed through ${day(closed)}.` : 'No period is closed.'}</p><div class="row">${
    (!isClosed || closed < through) &&
    html`${start}<input type="hidden" name="booksClosedThrough" value="${through}"><button>Close through ${day(through)}</button></form>`
  }${
    isClosed &&
    html`<details><summary>Open again</summary>${start}<label for="open-${String(id)}">Keep closed through <span class="hint">empty to open all periods</span></label><input type="date" id="open-${String(id)}" name="booksClosedThrough"><label for="reason-${String(id)}">Reason</label><input id="reason-${String(id)}" name="changeReason" required autocomplete="off"><div class="row"><button class="danger">Open again</button></div></form></details>`
  }</div></section>`;
}
