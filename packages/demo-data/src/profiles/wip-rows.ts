import { type Books, instantsOf, lineId, money } from './bill-rows.ts';
import { type Bill, sharesOf } from './bills.ts';
import { dateText, instantAt, instantText } from './calendar.ts';
import type { EntityRow, Row } from './table-loader.ts';
import type { Work } from './time.ts';

export function* wipRows(
  { work, billed, writtenOff, clients, jobs, firm }: Books,
  rows: readonly number[],
): Generator<EntityRow> {
  for (const index of rows) {
    const id = work.ids[index] ?? '';
    const job = jobs[work.jobs[index] ?? 0];
    if (job === undefined) throw new Error('The work has no job.');
    const [day, amount, rate, hours] = [
      work.days[index] ?? 0,
      work.amounts[index] ?? 0,
      work.rates[index] ?? 0,
      work.hours[index] ?? 0,
    ];
    const on = billed.get(index);
    const isBilled = on?.bill.invoiceId !== undefined;
    const taken = isBilled ? on.billed : 0;
    const postedAt = instantAt(day, 20) + (index % 100_000);
    const kind = work.kinds[index] ?? 'TIME';
    const isTime = kind === 'TIME';
    const person = work.people[index];
    const off = writtenOff.get(index);
    const isWrittenDown = isBilled && taken < amount;
    yield {
      id,
      createdAt: postedAt,
      wip_type: kind,
      client_id: clients[job.client]?.id ?? '',
      job_id: job.id,
      staff_id: person === undefined ? null : (firm.people[person]?.id ?? null),
      task_id: null,
      code: work.codes[index] ?? null,
      work_date: dateText(day),
      hours: isTime ? (hours / 100).toFixed(2) : null,
      billing_rate: isTime ? money(rate) : null,
      amount: money(amount),
      time_entry_id: isTime ? (work.entryIds[index] ?? null) : null,
      expense_entry_id: kind === 'EXPENSE' ? (work.entryIds[index] ?? null) : null,
      status: off !== undefined ? 'WRITTEN_OFF' : on === undefined ? 'OPEN' : isBilled ? 'BILLED' : 'IN_DRAFT',
      currency: 'USD',
      billed_amount: money(taken),
      write_up_amount: money(isBilled ? Math.max(0, taken - amount) : 0),
      write_off_amount: money(off !== undefined ? amount : isWrittenDown ? amount - taken : 0),
      draft_invoice_id: on?.bill.draftId ?? null,
      invoice_id: on?.bill.invoiceId ?? null,
      posted_at: instantText(postedAt),
      billed_at: isBilled ? instantText(instantsOf(on.bill).decidedAt) : null,
      write_off_reason: off?.reason ?? (isWrittenDown ? (on.bill.writeDownReason ?? null) : null),
      updated_at: instantText(off === undefined ? postedAt : instantAt(off.day, 18)),
    };
  }
}

export function* lineWorkRows(bills: readonly Bill[], kind: number, work: Work): Generator<Row> {
  for (const bill of bills)
    for (const [position, line] of bill.lines.entries())
      for (const [place, index] of line.work.entries())
        yield { line_id: lineId(kind, bill, position), position: place, wip_entry_id: work.ids[index] ?? '' };
}

export function* reliefRows(bills: readonly Bill[], work: Work): Generator<Row> {
  for (const bill of bills)
    for (const line of bill.lines)
      for (const [index, taken] of sharesOf(work, line)) {
        const amount = work.amounts[index] ?? 0;
        yield {
          invoice_id: bill.invoiceId ?? '',
          wip_entry_id: work.ids[index] ?? '',
          billed: money(taken),
          write_up: money(Math.max(0, taken - amount)),
          write_off: money(Math.max(0, amount - taken)),
        };
      }
}
