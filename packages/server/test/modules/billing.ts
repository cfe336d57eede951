import type { components } from '@financial-automation/spec';
import type { TestCaller, TestService } from '../service.ts';
import { recordsOf, type WriteItem, type WriteResult } from './records.ts';

type Schemas = components['schemas'];

/** Creates a firm with a client, an open job and a staff member, and functions for billing operations. */
export async function firm(service: TestService) {
  const approver = await service.signIn({ roles: ['API_ADMIN'] });
  const preparer = await service.signIn({ roles: ['API_ADMIN', 'CLNT_R'] });
  const records = recordsOf(preparer);
  const approving = recordsOf(approver);
  const { id: staffTypeId } = await records.make('StaffType', {
    name: 'Senior',
    code: 'SR',
    rank: 2,
    isBillable: true,
  });
  const staff = await preparer.handle('createStaff', {
    body: {
      staffRef: 'S-1',
      firstName: 'Ada',
      lastName: 'Okoye',
      email: 'ada@firm.example',
      staffTypeId,
      isBillable: true,
      rateCardAssignment: {
        billingRate: '190.00',
        averageRate: '120.00',
        currency: 'USD',
        effectiveFromDate: '2020-01-01',
      },
    },
  });
  const newClient = async (more: object = {}) => {
    const { body } = await preparer.call<{ clientId: string; clientRef: string }>(
      'POST',
      '/api/v1/clients/v1/onboard',
      {
        name: 'Harbor & Pine LLC',
        address: { line1: '1 Pier', city: 'Portland', state: 'OR', country: 'US' },
        ...more,
      },
    );
    return { id: body.clientId, ref: body.clientRef };
  };
  const newJob = async (clientId: string) =>
    (await records.make('Job', { name: 'Return 2026', clientId, status: 'PLANNED', billingType: 'TIME_AND_MATERIALS' }))
      .id;
  const client = await newClient();
  const jobId = await newJob(client.id);
  let entries = 0;

  /** Creates approved time on each day, and returns the resulting work in progress. */
  async function workOn(days: readonly string[], hours: string, job = jobId): Promise<string[]> {
    const submitted = days.map((workDate) => ({
      type: 'TimeEntry',
      systemRef: `time-${++entries}`,
      attributes: { staffId: staff.body.id, jobId: job, workDate, hours, isBillable: true, status: 'SUBMITTED' },
    }));
    await writeEntries(preparer, submitted);
    const approved = submitted.map((entry) => ({ ...entry, attributes: { status: 'APPROVED' } }));
    return (await writeEntries(approver, approved)).map(({ attributes }) => String(attributes?.wipId));
  }

  return {
    approver,
    preparer,
    records,
    approving,
    client,
    jobId,
    staffId: staff.body.id,
    newClient,
    newJob,
    /** Creates approved time, and returns the resulting work in progress. */
    async workFor(hours: string, job = jobId, workDate = '2026-01-05'): Promise<string> {
      const [id = ''] = await workOn([workDate], hours, job);
      return id;
    },
    workOn,
    /** Creates a draft with lines that bill work in progress at an amount. */
    draftOf(lines: readonly Partial<Schemas['InvoiceLineInput']>[], more: object = {}) {
      return records.make('DraftInvoice', {
        clientId: client.id,
        billThroughDate: '2026-12-31',
        proposedInvoiceDate: '2026-01-31',
        dueDate: '2026-03-02',
        lines: lines.map((line) => ({
          lineType: 'OTHER',
          description: 'Work',
          quantity: '1',
          unitAmount: '100.00',
          ...(line.taxes === undefined && line.taxCodeId === undefined && { taxable: false }),
          ...line,
        })),
        ...more,
      });
    },
    /** Sends a draft into review, approves it, and returns the ID of the invoice. */
    async post(draft: Pick<WriteItem, 'systemRef'>): Promise<string> {
      const [sent] = await records.update([
        { type: 'DraftInvoice', systemRef: draft.systemRef, attributes: { status: 'IN_REVIEW' } },
      ]);
      if (sent?.status !== 'UPDATED') throw new Error(JSON.stringify(sent));
      const [posted] = await approving.update([
        { type: 'DraftInvoice', systemRef: draft.systemRef, attributes: { status: 'APPROVED' } },
      ]);
      if (posted?.status !== 'UPDATED') throw new Error(JSON.stringify(posted));
      return String(posted.attributes?.invoiceId);
    },
    async invoice(id: string): Promise<Schemas['Invoice']> {
      return (await preparer.call<Schemas['Invoice']>('GET', `/gql/v1/invoice/${id}`)).body;
    },
    async payment(id: string): Promise<Schemas['Payment']> {
      return (await preparer.call<Schemas['Payment']>('GET', `/gql/v1/payment/${id}`)).body;
    },
    async wip(id: string): Promise<Schemas['WipEntry']> {
      return (await preparer.call<Schemas['WipEntry']>('GET', `/gql/v1/wip/${id}`)).body;
    },
    async balances(id = client.id) {
      const { body } = await preparer.call<Schemas['Client']>('GET', `/gql/v1/client/${id}`);
      const { outstandingBalance, overdueBalance, unbilledWip, unappliedCredit } = body;
      return { outstandingBalance, overdueBalance, unbilledWip, unappliedCredit };
    },
    pay(amount: string, allocations: readonly { invoiceId: string; amount: string }[], more: object = {}) {
      return records.make('Payment', {
        clientId: client.id,
        paymentDate: '2026-02-01',
        amount,
        currency: 'USD',
        method: 'CHECK',
        source: 'MANUAL',
        allocations,
        ...more,
      });
    },
  };
}

async function writeEntries(caller: TestCaller, entries: readonly object[]): Promise<readonly WriteItem[]> {
  const { status, body } = await caller.call<WriteResult>('POST', '/api/v1/entries', { records: entries });
  if (status !== 200 || body.records.some((item) => item.status === 'FAILED'))
    throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body.records;
}
