import type { components } from '@financial-automation/spec';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { firm } from '../../../../test/modules/billing.ts';
import type { WriteItem } from '../../../../test/modules/records.ts';
import { sharedService } from '../../../../test/service.ts';
import { findBreaches } from '../ledger/invariants.ts';
import { differencesOf } from '../ledger/kept-sums.ts';

const service = await sharedService();
const { approving, client, draftOf, newJob, post, preparer, records, wip, workFor } = await firm(service);

async function project(id: string): Promise<components['schemas']['Project']> {
  return (await preparer.call<components['schemas']['Project']>('GET', `/gql/v1/project/${id}`)).body;
}

async function jobWithFee(feeAmount: string): Promise<string> {
  const { id } = await records.make('Job', {
    name: 'Audit 2026',
    clientId: client.id,
    status: 'PLANNED',
    billingType: 'FIXED_FEE',
    feeAmount,
  });
  return id;
}

const fee = (jobId: string, unitAmount: string, more: object = {}) =>
  ({ lineType: 'FIXED_FEE', jobId, unitAmount, ...more }) as const;

function review({ systemRef }: Pick<WriteItem, 'systemRef'>) {
  return records.update([{ type: 'DraftInvoice', systemRef, attributes: { status: 'IN_REVIEW' } }]);
}

describe('the relief of a line', () => {
  test('leaves or writes down what a line does not bill of its work', async () => {
    const [time, rest, covered, all] = [
      await workFor('1.00'),
      await workFor('1.00'),
      await workFor('1.00'),
      await workFor('1.00'),
    ];
    const { attributes } = await postLines([
      { lineType: 'TIME', unitAmount: '100.00', wipIds: [time] },
      { lineType: 'TIME', unitAmount: '100.00', wipIds: [rest], relief: 'PART' },
      { lineType: 'FIXED_FEE', unitAmount: '100.00', wipIds: [covered] },
      { lineType: 'FIXED_FEE', unitAmount: '100.00', wipIds: [all], relief: 'FULL' },
    ]);
    expect(attributes?.lines).toMatchObject([
      { relief: 'FULL' },
      { relief: 'PART' },
      { relief: 'PART' },
      { relief: 'FULL' },
    ]);
    const down = { status: 'BILLED', billedAmount: '100.00', writeOffAmount: '90.00', outstandingAmount: '0.00' };
    const part = {
      status: 'PARTIALLY_BILLED',
      billedAmount: '100.00',
      writeOffAmount: '0.00',
      outstandingAmount: '90.00',
    };
    expect(await Promise.all([time, rest, covered, all].map((id) => wip(id)))).toMatchObject([down, part, part, down]);
  });

  test('writes up what a line bills beyond its work', async () => {
    const work = await workFor('1.00');
    await postLines([{ lineType: 'FIXED_FEE', unitAmount: '300.00', wipIds: [work] }]);
    expect(await wip(work)).toMatchObject({ status: 'BILLED', writeUpAmount: '110.00', outstandingAmount: '0.00' });
  });

  test('remains when the same lines are sent again without it', async () => {
    const work = await workFor('1.00');
    const draft = await draftOf([{ lineType: 'TIME', unitAmount: '100.00', wipIds: [work], relief: 'PART' }]);
    const line = { lineType: 'TIME', description: 'Work', quantity: '1', unitAmount: '100.00', taxable: false };
    const lines = [{ ...line, wipIds: [work] }];
    const [again] = await records.update([{ type: 'DraftInvoice', systemRef: draft.systemRef, attributes: { lines } }]);
    expect(again).toMatchObject({ status: 'UNCHANGED', attributes: { lines: [{ relief: 'PART' }] } });
  });

  async function postLines(lines: Parameters<typeof draftOf>[0]) {
    const draft = await draftOf(lines);
    await post(draft);
    return draft;
  }
});

describe('the billed amount of a project', () => {
  test('is less a discount, which lowers the realization', async () => {
    const jobId = await newJob(client.id);
    const work = await workFor('10.00', jobId);
    await post(
      await draftOf([
        { lineType: 'TIME', jobId, unitAmount: '1900.00', wipIds: [work] },
        { lineType: 'DISCOUNT', unitAmount: '-950.00' },
      ]),
    );
    expect(await project(jobId)).toMatchObject({
      billedAmount: '950.00',
      standardAmount: '1900.00',
      realizationPercent: '50',
      feeRemaining: null,
    });
  });

  test('is less its share of a discount for the whole document, to the cent', async () => {
    const [one, other] = [await newJob(client.id), await newJob(client.id)];
    const invoiceId = await post(
      await draftOf([
        { jobId: one, unitAmount: '100.00' },
        { jobId: other, unitAmount: '100.00' },
        { unitAmount: '100.00' },
        { lineType: 'DISCOUNT', jobId: other, unitAmount: '-5.00' },
        { lineType: 'DISCOUNT', unitAmount: '-100.00' },
      ]),
    );
    // 33.33 each; the line without a job takes the remaining cent.
    expect(await project(one)).toMatchObject({ billedAmount: '66.67' });
    expect(await project(other)).toMatchObject({ billedAmount: '61.67' });
    const attributes = { status: 'VOIDED', voidReason: 'Wrong client' };
    await records.update([{ type: 'Invoice', systemRef: invoiceId, attributes }]);
    expect(await project(one)).toMatchObject({ billedAmount: '0.00' });
  });

  test('includes lines without a job that bill its work, and imported invoices', async () => {
    const [one, other] = [await newJob(client.id), await newJob(client.id)];
    const works = [await workFor('1.00', one), await workFor('3.00', other)];
    await post(await draftOf([{ lineType: 'TIME', unitAmount: '380.00', wipIds: works }]));
    expect(await project(one)).toMatchObject({ billedAmount: '95.00', realizationPercent: '50' });
    expect(await project(other)).toMatchObject({ billedAmount: '285.00', realizationPercent: '50' });
    const line = { lineType: 'OTHER', description: 'Work', quantity: '1', taxable: false };
    await records.make('Invoice', {
      pmsRef: 'OLD-1',
      clientId: client.id,
      invoiceDate: '2026-01-31',
      dueDate: '2026-03-02',
      lines: [{ ...line, jobId: one, unitAmount: '5.00' }],
    });
    expect(await project(one)).toMatchObject({ billedAmount: '100.00' });
  });
});

describe('a fixed fee', () => {
  test('counts as billed without work, and cannot be billed again', async () => {
    const jobId = await jobWithFee('1000.00');
    expect(await project(jobId)).toMatchObject({ billedAmount: '0.00', feeRemaining: '1000.00' });
    const invoiceId = await post(await draftOf([fee(jobId, '600.00'), fee(jobId, '400.00', { lineType: 'PROGRESS' })]));
    const billed = {
      billedAmount: '1000.00',
      standardAmount: '1000.00',
      feeRemaining: '0.00',
      realizationPercent: '100',
    };
    expect(await project(jobId)).toMatchObject(billed);
    const draft = await draftOf([fee(jobId, '0.00'), fee(jobId, '0.01')]);
    const [refused] = await review(draft);
    expect(refused).toMatchObject({
      status: 'FAILED',
      error: { code: 'FEE_EXCEEDED', pointer: expect.stringMatching(/\/lines\/1\/unitAmount$/) },
    });
    // Whoever cancels a job that is billed loses the sight of it.
    const [cancelled] = await records.update([{ type: 'Job', systemRef: jobId, attributes: { status: 'CANCELLED' } }]);
    expect(cancelled).toMatchObject({ status: 'FAILED', error: { code: 'INVALID_STATE' } });
    const attributes = { status: 'VOIDED', voidReason: 'Wrong client' };
    await records.update([{ type: 'Invoice', systemRef: invoiceId, attributes }]);
    expect(await project(jobId)).toMatchObject({ billedAmount: '0.00', feeRemaining: '1000.00' });
    expect(await review(draft)).toMatchObject([{ status: 'UPDATED' }]);
  });

  test('is exceeded by a line that says so', async () => {
    const jobId = await jobWithFee('1000.00');
    await post(await draftOf([fee(jobId, '200.00', { exceedsFee: true }), fee(jobId, '1000.00')]));
    expect(await project(jobId)).toMatchObject({ billedAmount: '1200.00', feeRemaining: '-200.00' });
  });

  test('is checked for the job of work that a line without a job bills', async () => {
    const jobId = await jobWithFee('100.00');
    const work = await workFor('1.00', jobId);
    const draft = await draftOf([{ lineType: 'FIXED_FEE', unitAmount: '190.00', wipIds: [work] }]);
    expect(await review(draft)).toMatchObject([{ error: { code: 'FEE_EXCEEDED' } }]);
  });

  test('is billed once if two drafts of it are approved at the same time, or in one call', async () => {
    const ways = [
      (drafts: WriteItem[]) => Promise.all(drafts.map((draft) => approving.update([approval(draft)]))),
      (drafts: WriteItem[]) => approving.update(drafts.map(approval)),
    ];
    for (const approve of ways) {
      const jobId = await jobWithFee('1000.00');
      const drafts = [await draftOf([fee(jobId, '600.00')]), await draftOf([fee(jobId, '600.00')])];
      for (const draft of drafts) expect(await review(draft)).toMatchObject([{ status: 'UPDATED' }]);
      const results = (await approve(drafts)).flat();
      expect(results.map(({ error }) => error?.code ?? 'none').sort()).toEqual(['FEE_EXCEEDED', 'none']);
      expect(await project(jobId)).toMatchObject({ feeRemaining: '400.00' });
    }
    function approval({ systemRef }: WriteItem) {
      return { type: 'DraftInvoice', systemRef, attributes: { status: 'APPROVED' } };
    }
  });
});

test('sums of jobs agree with the lines of their invoices', async () => {
  const tenantId = service.tenant.id;
  const check = () =>
    service.store.read(tenantId, async (session) => [
      ...(await differencesOf(session, tenantId)),
      ...(await findBreaches(session, tenantId)),
    ]);
  expect(await check()).toEqual([]);
  const [billing] = await service.store.read(tenantId, (session) =>
    session.all<{ id: string }>(sql`select invoice_id as id from invoice_billing order by fee desc limit 1`),
  );
  await service.store.ownerStatements(`
    begin;
    set local app.tenant_id = '${tenantId}';
    update invoice_billing set fee_without_work = fee_without_work + 1 where invoice_id = '${billing?.id}';
    commit`);
  expect(await check()).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ rule: 'what an invoice bills a job follows from its lines', id: billing?.id }),
    ]),
  );
});
