import type { components } from '@financial-automation/spec';
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { firm } from '../../../test/modules/billing.ts';
import { only } from '../../../test/modules/records.ts';
import { sharedService } from '../../../test/service.ts';
import { booksOf } from '../../operator/books.ts';
import { clientReferences } from './client-references.ts';

type Schemas = components['schemas'];

const service = await sharedService();
const { draftOf, invoice, newClient, newJob, pay, post, preparer, records, workFor } = await firm(service);
const { tenant, store, call } = service;

const reason = 'Created twice.';
const merge = (body: object, headers?: Record<string, string>) =>
  call<Schemas['ClientMergeResult'] & Schemas['ConflictProblem']>(
    'POST',
    '/api/v1/clients/merge',
    { reason, ...body },
    headers,
  );
const clientOf = async (id: string) => (await preparer.call<Schemas['Client']>('GET', `/gql/v1/client/${id}`)).body;
const rows = <Row = { id: string }>(query: ReturnType<typeof sql>) =>
  store.read(tenant.id, (session) => session.all(query)) as Promise<Row[]>;
const expectBooks = async () =>
  expect(await store.read(tenant.id, (session) => booksOf(session as never, tenant.id))).toEqual({
    breaches: [],
    differences: [],
  });

/** Rows that refer to a client, by table: those of all declared references. */
async function rowsOf(id: string): Promise<Record<string, number>> {
  const counted: Record<string, number> = {};
  for (const { entity, column } of clientReferences()) {
    const [found] = await rows<{ rows: string }>(
      sql`select count(*) as rows from ${sql.table(entity.table)} where ${sql.ref(column)} = ${id}`,
    );
    if (Number(found?.rows) > 0) counted[`${entity.table}.${column}`] = Number(found?.rows);
  }
  return counted;
}

/** The figures of clients that a merge must not change: the ledger by age, the journal by account, as of a day. */
async function figuresOf(ids: readonly string[], day: string) {
  const where = { clientId: { _in: ids }, businessDate: { _lte: day } };
  const ageing = await preparer.call<{ data: object[] }>('POST', '/gql/v1/ledger_entries/aggregate', {
    where,
    groupBy: [{ column: 'account' }, { column: 'dueDate', daysBefore: day, boundaries: [1, 31, 61, 91] }],
    measures: { open: { function: 'SUM', column: 'amount' }, entries: { function: 'COUNT' } },
  });
  const trial = await preparer.call<{ data: object[] }>('POST', '/gql/v1/journal_entries/aggregate', {
    where,
    groupBy: [{ column: 'currency' }, { column: 'purpose' }],
    measures: { debit: { function: 'SUM', column: 'debit' }, credit: { function: 'SUM', column: 'credit' } },
  });
  expect([ageing.status, trial.status]).toEqual([200, 200]);
  return { ageing: ageing.body.data, trial: trial.body.data };
}

async function statementOf(id: string) {
  const { body } = await preparer.call<Schemas['ClientStatementPage']>(
    'GET',
    `/api/v1/clients/${id}/statement?from=2026-01-20&to=2026-12-31&pageSize=1000`,
  );
  return {
    sums: [body.openingBalance, body.closingBalance].map(Number),
    movements: body.data.map(
      ({ kind, businessDate, documentNumber, amount }) => `${businessDate} ${kind} ${documentNumber} ${amount}`,
    ),
  };
}
const sumsOf = async (id: string) => {
  const { outstandingBalance, unbilledWip, unappliedCredit } = await clientOf(id);
  return [outstandingBalance, unbilledWip, unappliedCredit].map(Number);
};
const added = (one: readonly number[], other: readonly number[]) =>
  one.map((value, index) => Number((value + (other[index] ?? 0)).toFixed(2)));

let refs = 0;
/** A client with a row of each kind that can refer to it. */
async function busyClient(name: string, more: object = {}) {
  refs += 1;
  const { id } = only(
    await records.upsert([
      { type: 'Client', systemRef: `${name}-${refs}`, attributes: { name, clientRef: `${name}-C-${refs}`, ...more } },
    ]),
  );
  const clientId = String(id);
  const jobId = await newJob(clientId);
  await workFor('2.00', jobId);
  const bill = await post(await draftOf([{ unitAmount: '100.00' }], { clientId }));
  await draftOf([{ unitAmount: '7.00' }], { clientId });
  const payment = await pay('50.00', [{ invoiceId: bill, amount: '30.00' }], { clientId });
  return { clientId, systemRef: `${name}-${refs}`, clientRef: `${name}-C-${refs}`, jobId, bill, payment };
}

describe('mergeClients', () => {
  test('moves all rows with events, leaves sums as they were, and its keys lead to the other client', async () => {
    const [from, into] = [await busyClient('Harbour'), await busyClient('Harbor')];
    const { id: contactId } = await records.make('Contact', { lastName: 'Both' });
    const { id: onlyId } = await records.make('Contact', { lastName: 'Only' });
    for (const { clientId } of [from, into])
      await records.make('ContactClient', { contactId, clientId, roles: ['BILLING'] });
    await records.make('ContactClient', { contactId: onlyId, clientId: from.clientId, roles: ['PREFERRED', 'SIGNER'] });
    await records.make('ContactInfo', {
      ownerType: 'CLIENT',
      ownerId: from.clientId,
      kind: 'BILLING',
      email: 'pay@harbour.example',
    });
    const child = await records.make('Client', { name: 'Child', parentClientId: from.clientId });
    const group = await records.make('ClientGroup', { name: 'Group', primaryClientId: from.clientId });
    await records.define('Lead', [{ name: 'client', type: 'REFERENCE', referencedEntityType: 'Client' }]);
    await records.upsert([{ type: 'Lead', systemRef: 'L-1', attributes: { client: from.clientId } }]);
    await call('POST', '/api/v1/clients/v1/link/payment', { clientRef: from.clientRef, amount: '5.00' });
    const before = {
      of: await rowsOf(from.clientId),
      into: await rowsOf(into.clientId),
      figures: await figuresOf([from.clientId, into.clientId], '2026-02-15'),
      sums: added(await sumsOf(from.clientId), await sumsOf(into.clientId)),
      statements: [await statementOf(from.clientId), await statementOf(into.clientId)],
    };
    const started =
      (await rows<{ last: string }>(sql`select max(id::text) as last from recorded_event`))[0]?.last ?? '';

    const ids = { from: from.clientId, into: into.clientId };
    const rehearsed = await merge(ids, { 'Dry-Run': 'true' });
    expect(rehearsed.status).toBe(200);
    expect(await rowsOf(from.clientId)).toEqual(before.of);
    const { status, body } = await merge(ids);
    expect({ status, body }).toEqual({ status: 200, body: rehearsed.body });
    expect(body.moved).toEqual(
      expect.arrayContaining([
        { type: 'Client', rows: 1 },
        { type: 'ClientGroup', rows: 1 },
        { type: 'ContactClient', rows: 2 },
        { type: 'ContactInfo', rows: 1 },
        { type: 'DraftInvoice', rows: 2 },
        { type: 'Invoice', rows: 1 },
        { type: 'Job', rows: 1 },
        { type: 'Lead', rows: 1 },
        { type: 'Payment', rows: 1 },
        { type: 'QuickPaymentLink', rows: 1 },
        { type: 'WipEntry', rows: 1 },
      ]),
    );

    // Links of contacts are ended and created again; all others moved.
    expect(await rowsOf(from.clientId)).toEqual({ 'contact_client.client_id': 2 });
    for (const [table, count] of Object.entries(before.of))
      if (table !== 'contact_client.client_id')
        expect((await rowsOf(into.clientId))[table], table).toBe(count + (before.into[table] ?? 0));
    expect(await figuresOf([into.clientId], '2026-02-15')).toEqual(before.figures);
    expect(await sumsOf(into.clientId)).toEqual(before.sums);
    expect(await sumsOf(from.clientId)).toEqual([0, 0, 0]);
    const [one, other] = before.statements;
    const after = await statementOf(into.clientId);
    expect(after.sums).toEqual(added(one?.sums ?? [], other?.sums ?? []));
    expect(after.movements.toSorted()).toEqual([...(one?.movements ?? []), ...(other?.movements ?? [])].toSorted());
    await expectBooks();

    expect(await clientOf(from.clientId)).toMatchObject({
      active: false,
      mergedIntoId: into.clientId,
      preferredContactId: null,
      billingContactId: null,
      billingAddressId: null,
    });
    expect(await clientOf(into.clientId)).toMatchObject({
      name: 'Harbor',
      preferredContactId: onlyId,
      billingContactId: contactId,
      billingAddressId: expect.any(String),
    });
    expect(await clientOf(child.id)).toMatchObject({ parentClientId: into.clientId });
    const { body: lead } = await call<{ attributes: object }>('GET', '/api/v1/records/by-ref/Lead?ref=L-1');
    expect(lead.attributes).toEqual({ client: into.clientId });
    expect(
      (await rows(sql`select id from client_group where id = ${group.id} and primary_client_id = ${into.clientId}`))
        .length,
    ).toBe(1);

    const events = await rows<{ type: string }>(sql`
      select entity_type || ' ' || operation as type from recorded_event where id::text > ${started} and entity_id in (
        ${from.clientId}, ${from.jobId}, ${from.bill}, ${from.payment.id}, ${child.id})`);
    expect(events.map(({ type }) => type).toSorted()).toEqual(
      ['Client DELETE', 'Client UPDATE', 'Invoice UPDATE', 'Job UPDATE', 'Payment UPDATE'].toSorted(),
    );
    expect(
      await rows(
        sql`select changed_row as id from book_change where changed_row = ${from.clientId} and change_reason = ${reason}`,
      ),
    ).toHaveLength(1);

    // The keys of the merged client lead to the other one, in writes, in reads and in references.
    const written = only(
      await records.upsert([
        { type: 'Client', systemRef: from.systemRef, attributes: { clientRef: from.clientRef, phone: '+15035550199' } },
      ]),
    );
    expect(written).toMatchObject({ id: into.clientId, status: 'UPDATED', attributes: { clientRef: into.clientRef } });
    const imported = only(
      await records.upsert([
        { type: 'Client', systemRef: from.systemRef, source: 'IMPORT', attributes: { phone: '+15035550199' } },
      ]),
    );
    expect(imported).toMatchObject({ id: into.clientId, status: 'UNCHANGED' });
    const { body: read } = await call<{ id: string }>('GET', `/api/v1/records/by-ref/Client?ref=${from.systemRef}`);
    expect(read.id).toBe(into.clientId);
    const job = only(
      await records.upsert([
        {
          type: 'Job',
          systemRef: `by-ref-${refs}`,
          attributes: {
            name: 'New',
            clientId: { clientRef: from.clientRef },
            status: 'PLANNED',
            billingType: 'TIME_AND_MATERIALS',
          },
        },
      ]),
    );
    expect(job.attributes).toMatchObject({ clientId: into.clientId });
    const { body: unpaid } = await preparer.call<{ data: object[] }>(
      'GET',
      `/api/v1/invoices/unpaid?clientRef=${from.clientRef}`,
    );
    expect(unpaid.data).toHaveLength(2);
    // Its ID does not, because nothing new may refer to it.
    expect(
      only(
        await records.upsert([
          {
            type: 'Job',
            systemRef: 'by-id',
            attributes: { name: 'New', clientId: from.clientId, status: 'PLANNED', billingType: 'TIME_AND_MATERIALS' },
          },
        ]),
      ),
    ).toMatchObject({
      status: 'FAILED',
      error: {
        code: 'REFERENCE_NOT_FOUND',
        pointer: '/records/0/attributes/clientId',
        detail: expect.stringContaining(into.clientId),
      },
    });
  });

  test('keeps the other client when deleteRecords names a key of the merged one', async () => {
    const [from, into] = [
      await records.make('Client', { name: 'A' }, 'crm-a'),
      await records.make('Client', { name: 'B' }),
    ];
    expect((await merge({ from: from.id, into: into.id })).status).toBe(200);
    expect(only(await records.remove([{ type: 'Client', systemRef: 'crm-a' }]))).toMatchObject({
      status: 'FAILED',
      error: { code: 'RECORD_NOT_FOUND', pointer: '/records/0/systemRef', detail: expect.stringContaining(into.id) },
    });
    expect(await clientOf(into.id)).toMatchObject({ active: true });
  });

  test('moves what leads to a client that was merged before', async () => {
    const [first, second, third] = [await newClient(), await newClient(), await newClient()];
    expect((await merge({ from: first.id, into: second.id })).status).toBe(200);
    expect((await merge({ from: second.id, into: third.id })).status).toBe(200);
    expect(await clientOf(first.id)).toMatchObject({ mergedIntoId: third.id, active: false });
  });

  test('contacts and addresses that stay with the merged client cannot become active again', async () => {
    const [from, into] = [await newClient(), await newClient()];
    const { id: contactId } = await records.make('Contact', { lastName: 'Synced' });
    await records.make('ContactClient', { contactId, clientId: from.id, roles: ['BILLING'] }, 'crm-link');
    const owner = { ownerType: 'CLIENT', ownerId: from.id, kind: 'BILLING' };
    await records.make('ContactInfo', { ...owner, email: 'old@client.example' }, 'crm-info');
    expect((await merge({ from: from.id, into: into.id })).status).toBe(200);
    const again = [
      { type: 'ContactClient', systemRef: 'crm-link', attributes: { roles: ['BILLING'] } },
      { type: 'ContactInfo', systemRef: 'crm-info', attributes: { ...owner, email: 'new@client.example' } },
    ];
    const error = { code: 'REFERENCE_NOT_FOUND', detail: expect.stringContaining(into.id) };
    expect(await records.upsert(again)).toMatchObject([{ error }, { error }]);
  });

  test('rejects an archived client that would get rows', async () => {
    const from = await busyClient('Open');
    const into = await records.make('Client', { name: 'Archived', status: 'ARCHIVED' });
    expect(await merge({ from: from.clientId, into: into.id })).toMatchObject({
      status: 409,
      body: { code: 'INVALID_STATE', detail: expect.stringContaining('ARCHIVED'), errors: [{ pointer: '/into' }] },
    });
  });

  test('merges a client of another currency only without documents', async () => {
    const into = await busyClient('Dollar');
    const euro = await newClient({ currency: 'EUR' });
    await draftOf([{ unitAmount: '5.00' }], { clientId: euro.id });
    expect(await merge({ from: euro.id, into: into.clientId })).toMatchObject({
      status: 409,
      body: { code: 'INVALID_STATE', errors: [{ pointer: '/into' }] },
    });
    const plain = await newClient({ currency: 'EUR' });
    const jobId = await newJob(plain.id);
    expect((await merge({ from: plain.id, into: into.clientId })).status).toBe(200);
    const { body } = await preparer.call('GET', `/gql/v1/job/${jobId}`);
    expect(body).toMatchObject({ clientId: into.clientId, currency: 'USD' });
    await expectBooks();
  });

  test('leaves no row at the merged client when others write to it at the same time', async () => {
    const [from, into] = [await busyClient('Race'), await busyClient('Racer')];
    const { clientId } = from;
    const writes = Array.from({ length: 4 }, async (_, index) => {
      const own = await service.signIn({ roles: ['API_ADMIN'] });
      const attributes = {
        clientId,
        paymentDate: '2026-02-01',
        amount: '3.00',
        currency: 'USD',
        method: 'CHECK',
        source: 'MANUAL',
      };
      return own.call<Schemas['RecordWriteResult']>('POST', '/api/v1/records', {
        records: [
          { type: 'Payment', systemRef: `race-${index}`, attributes: { ...attributes, allocations: [] } },
          {
            type: 'Job',
            systemRef: `race-job-${index}`,
            attributes: { name: 'Late', clientId, status: 'PLANNED', billingType: 'TIME_AND_MATERIALS' },
          },
        ],
      });
    });
    const [{ status }, ...others] = await Promise.all([merge({ from: clientId, into: into.clientId }), ...writes]);
    expect(status).toBe(200);
    for (const other of others) {
      expect(other.status).toBe(200);
      for (const item of other.body.records)
        if (item.status === 'FAILED') expect(item.error).toMatchObject({ code: 'REFERENCE_NOT_FOUND' });
    }
    expect(await rowsOf(clientId)).toEqual({});
    await expectBooks();
  });

  test('merges a client once if two calls do so at the same time', async () => {
    const [from, one, other] = [await newClient(), await newClient(), await newClient()];
    for (const { id: clientId } of [from, one, other]) await pay('20.00', [], { clientId });
    const targets = [one.id, other.id];
    const responses = await Promise.all(targets.map((into) => merge({ from: from.id, into })));
    const [winner = -1, loser = -1] = [200, 409].map((code) => responses.findIndex(({ status }) => status === code));
    expect(responses[loser]?.body).toMatchObject({ errors: [{ pointer: '/from' }] });
    const clients = await Promise.all([from.id, targets[winner] ?? '', targets[loser] ?? ''].map(clientOf));
    expect(clients[0]).toMatchObject({ active: false, mergedIntoId: targets[winner] });
    expect(clients.map(({ unappliedCredit }) => unappliedCredit)).toEqual(['0.00', '40.00', '20.00']);
    await expectBooks();
  });

  test('leaves the figures of any two clients together as they were, as of every day', {
    timeout: 600_000,
  }, async () => {
    const cents = fc.integer({ min: 1, max: 90_000 }).map((value) => (value / 100).toFixed(2));
    const day = fc
      .integer({ min: 1, max: 59 })
      .map((value) => new Date(Date.UTC(2026, 0, value)).toISOString().slice(0, 10));
    const life = fc.array(fc.record({ total: cents, day, paid: fc.option(cents), later: day }), {
      minLength: 1,
      maxLength: 5,
    });
    const create = async (steps: readonly { total: string; day: string; paid: string | null; later: string }[]) => {
      const { id: clientId } = await newClient();
      const lines = (unitAmount: string) => [
        { lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount, taxable: false },
      ];
      for (const { total, day: invoiceDate, paid, later } of steps) {
        const bill = only(
          await records.upsert([
            {
              type: 'Invoice',
              systemRef: `p-${++refs}`,
              attributes: {
                clientId,
                pmsRef: `p-${refs}`,
                invoiceDate,
                dueDate: [invoiceDate, later].toSorted()[1],
                lines: lines(total),
              },
            },
          ]),
        );
        const allocated = Math.min(Number(paid), Number(total)).toFixed(2);
        if (paid !== null)
          await pay(paid, [{ invoiceId: String(bill.id), amount: allocated }], { clientId, paymentDate: later });
      }
      return clientId;
    };
    await fc.assert(
      fc.asyncProperty(life, life, day, async (one, other, asOf) => {
        const [from, into] = [await create(one), await create(other)];
        const days = [asOf, '2026-03-31'];
        const before = await Promise.all(days.map((each) => figuresOf([from, into], each)));
        const sums = added(await sumsOf(from), await sumsOf(into));
        const statements = added((await statementOf(from)).sums, (await statementOf(into)).sums);
        expect((await merge({ from, into })).status).toBe(200);
        expect(await Promise.all(days.map((each) => figuresOf([into], each)))).toEqual(before);
        expect(await sumsOf(into)).toEqual(sums);
        expect((await statementOf(into)).sums).toEqual(statements);
      }),
      { numRuns: Number(process.env.MERGE_RUNS ?? 2), endOnFailure: true },
    );
    await expectBooks();
  });

  test('keeps the days of entries in a closed period, and changes nothing else of an entry', async () => {
    const [from, into] = [await newClient(), await newClient()];
    const bill = await post(
      await draftOf([{ unitAmount: '20.00' }], { clientId: from.id, proposedInvoiceDate: '2026-01-10' }),
    );
    const { orgId } = await clientOf(from.id);
    const { body: orgs } = await call<{ data: { id: string; systemRef: string }[] }>('POST', '/gql/v1/orgs', {});
    const { systemRef } = orgs.data.find(({ id }) => id === orgId) ?? {};
    await records.update([{ type: 'Org', systemRef, attributes: { booksClosedThrough: '2026-01-31' } }]);
    const entries = () =>
      rows<{ id: string; day: string; amount: string }>(
        sql`select id, business_date::text as day, amount from ledger_entry where invoice_id = ${bill} order by id`,
      );
    const before = await entries();
    expect((await merge({ from: from.id, into: into.id })).status).toBe(200);
    expect(await entries()).toEqual(before);
    expect((await invoice(bill)).clientId).toBe(into.id);
    const change = (set: ReturnType<typeof sql>) =>
      store.write(tenant.id, (transaction) =>
        transaction.all(sql`update ledger_entry set ${set} where invoice_id = ${bill}`),
      );
    await expect(change(sql`client_id = ${from.id}`)).rejects.toThrow();
    await expect(change(sql`amount = amount + 1`)).rejects.toThrow();
    await expect(change(sql`client_id = ${(await newClient()).id}`)).rejects.toThrow();
    await expectBooks();
  });

  test('rejects clients that are not two of one org, and says which', async () => {
    const [from, into, gone, merged] = [await newClient(), await newClient(), await newClient(), await newClient()];
    const org = await records.make('Org', {
      name: 'Second',
      code: 'ORG-2',
      legalName: 'Second LLC',
      currency: 'USD',
      country: 'US',
      timeZone: 'UTC',
      fiscalYearStartMonth: 1,
    });
    const { id: orgId } = org;
    const foreign = await newClient({ orgId });
    const child = await records.make('Client', {
      name: 'Child',
      parentClientId: from.id,
      orgId: (await clientOf(from.id)).orgId,
    });
    const grandchild = await records.make('Client', {
      name: 'Grandchild',
      parentClientId: child.id,
      orgId: (await clientOf(from.id)).orgId,
    });
    await records.remove([{ type: 'Client', systemRef: gone.id }]);
    await merge({ from: merged.id, into: into.id });
    const paying = await newClient({ orgId: (await clientOf(from.id)).orgId });
    await pay('10.00', [], { clientId: paying.id, method: 'ACH' });
    const unknown = '0199a1c2-0c01-7c01-8a4f-5d2e9b60ffff';
    const invalid = [
      [from.id, from.id, 409, '/into'],
      [from.id, foreign.id, 409, '/into'],
      [from.id, child.id, 409, '/into'],
      [from.id, grandchild.id, 409, '/into'],
      [gone.id, into.id, 409, '/from'],
      [from.id, gone.id, 409, '/into'],
      [merged.id, into.id, 409, '/from'],
      [from.id, merged.id, 409, '/into'],
      [paying.id, into.id, 409, '/from'],
      [unknown, into.id, 404, '/from'],
      [from.id, unknown, 404, '/into'],
    ] as const;
    for (const [one, other, status, pointer] of invalid)
      expect(await merge({ from: one, into: other }), `${one} ${pointer}`).toMatchObject({
        status,
        body: { errors: [{ pointer }] },
      });
    expect((await merge({ from: from.id, into: into.id, reason: '' })).status).toBe(400);
    const reader = await service.signIn({ roles: ['CLNT_W', 'RECORD_W'] });
    expect((await reader.call('POST', '/api/v1/clients/merge', { from: from.id, into: into.id, reason })).status).toBe(
      403,
    );
    // A payment to the other client, and its own parent, are no obstacle.
    expect((await merge({ from: grandchild.id, into: child.id })).status).toBe(200);
  });
});

test('each table that refers to a client moves with a merge, and rejects a client that was merged', async () => {
  const found = await rows<{ name: string; isGuarded: boolean }>(sql`
    select c.conrelid::regclass || '.' || a.attname as name, exists (select from pg_trigger t join pg_proc p on p.oid = t.tgfoid
      where t.tgrelid = c.conrelid and p.proname = 'refuse_merged_client'
        and encode(t.tgargs, 'escape') = a.attname || '\\000') as "isGuarded"
    from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[2]
    where c.contype = 'f' and c.confrelid = 'client'::regclass and c.conparentid = 0`);
  const references = clientReferences();
  const declared = references.map(({ entity, column }) => `${entity.table}.${column}`);
  // The owner of contact details can be of several types, so no field of them refers to a client.
  expect(found.map(({ name }) => name).toSorted()).toEqual([...declared, 'contact_info.owner_client_id'].toSorted());
  // Entries are added for rows that are checked themselves.
  const entries = references.flatMap(({ entity, column }) =>
    entity.isAppendOnly ? [`${entity.table}.${column}`] : [],
  );
  expect(
    found
      .filter(({ isGuarded }) => !isGuarded)
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(entries.toSorted());
});
