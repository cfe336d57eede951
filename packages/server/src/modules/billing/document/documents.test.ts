import type { components } from '@financial-automation/spec';
import { sql } from 'kysely';
import { extractText, getDocumentProxy } from 'unpdf';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { firm } from '../../../../test/modules/billing.ts';
import { only } from '../../../../test/modules/records.ts';
import { testService } from '../../../../test/service.ts';
import { startBackground } from '../../../background/background.ts';
import { enqueue } from '../../../background/job.ts';
import { retryJob } from '../../../operator/jobs.ts';
import { writeInvoice } from './write-invoice.ts';

type File = components['schemas']['FileMetadata'];

const service = await testService();
const { approver, client, draftOf, invoice, jobId, newClient, pay, post, preparer, records, workFor } =
  await firm(service);
const background = await startBackground(service.service, { jobs: [writeInvoice], clockTasks: [] });
afterAll(() => background.stop(0));

/** Returns when no job waits or runs. */
async function finished(): Promise<void> {
  const open = async () => {
    const { rows } = await service.store.ownerStatements(
      `select id from background_job where status in ('WAITING', 'RUNNING')`,
    );
    return rows;
  };
  await expect.poll(open, { timeout: 60_000 }).toEqual([]);
}

async function change(id: string, attributes: object) {
  const { systemRef } = await invoice(id);
  return only(await records.update([{ type: 'Invoice', systemRef, attributes }]));
}

async function filesOf(number: string): Promise<readonly File[]> {
  const { body } = await preparer.call<{ data: File[] }>('GET', `/api/v1/files?fileName=${number}`);
  return body.data;
}

/** Returns the text of a file, downloaded like an API client does. */
async function textOf(fileId: string | null): Promise<string> {
  const { body } = await preparer.call<File>('GET', `/api/v1/files/${fileId}?includeDownloadUrl=true`);
  const response = await fetch((body.downloadUrl ?? '').replace('http://localhost:3000', service.address));
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/pdf']);
  const { text } = await extractText(await getDocumentProxy(new Uint8Array(await response.arrayBuffer())));
  return text.join('\n').replaceAll(/\s+/g, ' ');
}

/** The events of a row: operation, changed fields and data. */
async function eventsOf(entityType: string, id: string) {
  const { body } = await preparer.call<{ data: { entityId: string; operation: string; changedFields: string[] }[] }>(
    'GET',
    `/api/v1/events?entityType=${entityType}&pageSize=1000`,
  );
  return body.data.filter(({ entityId }) => entityId === id).map((one) => [one.operation, one.changedFields]);
}

describe('the document of an invoice', () => {
  test('is written when its draft is approved, as a file of the client, with an event of each', async () => {
    const draft = await draftOf(
      [
        { quantity: '3.50', unitAmount: '180.00' },
        { description: 'Filing', unitAmount: '50.00', taxable: true, taxRatePercent: '8.25' },
        { lineType: 'DISCOUNT', description: 'Courtesy', unitAmount: '-30.00' },
        {
          description: 'Books',
          unitAmount: '100.00',
          taxes: [
            { name: 'GST', ratePercent: '5' },
            { name: 'QST', ratePercent: '9.975' },
          ],
        },
      ],
      { purchaseOrder: 'PO-7731', memo: 'Thank you.' },
    );
    const id = await post(draft);
    expect(await invoice(id)).toMatchObject({ purchaseOrder: 'PO-7731', memo: 'Thank you.', sentAt: null });
    await finished();
    const row = await invoice(id);
    const { body: file } = await preparer.call<File>('GET', `/api/v1/files/${row.pdfFileId}`);
    expect(file).toMatchObject({
      status: 'AVAILABLE',
      source: 'DELIVERABLE',
      fileName: `Invoice ${row.invoiceNumber}.pdf`,
      mimeType: 'application/pdf',
      clientId: client.id,
      uploadedByType: 'SYSTEM',
      folderPath: '/Harbor & Pine LLC/Invoices',
    });
    const text = await textOf(row.pdfFileId);
    for (const words of [
      `Invoice number ${row.invoiceNumber}`,
      'January 31, 2026',
      'March 2, 2026',
      'Harbor & Pine LLC 1 Pier Portland, OR',
      'PO-7731',
      '3.5 180.00',
      'Tax 50.00 8.25% 4.13',
      '5% + 9.975% 100.00',
      'GST 100.00 5% 5.00',
      'QST 100.00 9.975% 9.98',
      'Amount due USD 769.11',
      'Thank you.',
    ])
      expect(text).toContain(words);
    expect(await eventsOf('Invoice', id)).toEqual([
      ['CREATE', []],
      ['UPDATE', ['pdfFileId']],
    ]);
    expect(await eventsOf('File', file.id)).toEqual([['CREATE', []]]);
  });

  test('is stamped in a new file when the invoice is voided, with the names of the first one', async () => {
    const other = await service.call<{ clientId: string }>('POST', '/api/v1/clients/v1/onboard', {
      name: 'Before Ltd',
      address: { line1: '1 Pier', city: 'Portland', state: 'OR', country: 'US' },
    });
    const id = await post(await draftOf([{ unitAmount: '10.00' }], { clientId: other.body.clientId }));
    await finished();
    const { pdfFileId, invoiceNumber } = await invoice(id);
    await records.update([{ type: 'Client', systemRef: other.body.clientId, attributes: { name: 'After Ltd' } }]);
    expect(await change(id, { status: 'VOIDED', voidReason: 'Wrong' })).toMatchObject({ status: 'UPDATED' });
    await finished();
    const voided = await invoice(id);
    expect(voided).toMatchObject({ status: 'VOIDED', clientName: 'After Ltd' });
    expect(voided.pdfFileId).not.toBe(pdfFileId);
    expect(await textOf(voided.pdfFileId)).toMatch(/Before Ltd.*Voided.*VOID/);
    expect(await textOf(pdfFileId)).not.toContain('VOID');
    const names = [`Invoice ${invoiceNumber}.pdf`, `Invoice ${invoiceNumber} void.pdf`];
    expect((await filesOf(invoiceNumber)).map(({ fileName }) => fileName)).toEqual(names);
  });

  test('keeps the names of its first version, adds what that lacked, and is in the language of the client', async () => {
    const other = await newClient({ name: 'Avant SARL', documentLanguage: 'fr' });
    const id = await post(await draftOf([{ unitAmount: '10.00' }], { clientId: other.id }));
    await finished();
    const later = { name: 'Après SARL', vatId: 'FR40303265045', documentLanguage: 'de' };
    await records.update([{ type: 'Client', systemRef: other.id, attributes: later }]);
    await change(id, { memo: 'Merci.' });
    await finished();
    expect(await textOf((await invoice(id)).pdfFileId)).toMatch(/Facture.*Avant SARL.*N° TVA FR40303265045.*Merci/);
  });

  test('is written again for another memo or purchase order, and for nothing else', async () => {
    const id = await post(await draftOf([{}]));
    await finished();
    const { invoiceNumber } = await invoice(id);
    await pay('40.00', [{ invoiceId: id, amount: '40.00' }]);
    await change(id, { sentAt: '2026-02-01T10:00:00.000Z' });
    await finished();
    expect(await filesOf(invoiceNumber)).toHaveLength(1);
    await change(id, { purchaseOrder: 'PO-9', memo: 'As agreed.' });
    await finished();
    expect(await filesOf(invoiceNumber)).toHaveLength(2);
    expect(await textOf((await invoice(id)).pdfFileId)).toMatch(/PO-9.*Amount due USD 100\.00.*As agreed\./);
  });

  test('of a credit note is a document of its own', async () => {
    const credited = await post(await draftOf([{}]));
    const row = { wipType: 'PROGRESS', clientId: client.id, jobId, workDate: '2026-01-05', amount: '-80.00' };
    const wip = await records.make('WipEntry', row);
    const line = { lineType: 'PROGRESS', quantity: '-1', unitAmount: '80.00' } as const;
    const id = await post(await draftOf([{ ...line, wipIds: [wip.id] }], { creditedInvoiceId: credited }));
    await finished();
    const { pdfFileId, invoiceNumber, documentType } = await invoice(id);
    expect(documentType).toBe('CREDIT_NOTE');
    expect((await filesOf(invoiceNumber)).map(({ fileName }) => fileName)).toEqual([
      `Credit note ${invoiceNumber}.pdf`,
    ]);
    expect(await textOf(pdfFileId)).toMatch(
      new RegExp(`Credited invoice ${(await invoice(credited)).invoiceNumber}.*Amount credited USD 80\\.00`),
    );
  });

  test('is one file, however often its job runs', async () => {
    const id = await post(await draftOf([{}]));
    await service.store.write(service.tenant.id, async (transaction) => {
      for (let run = 0; run < 5; run++) await enqueue(transaction, writeInvoice, { invoiceId: id });
    });
    await finished();
    const { invoiceNumber, pdfFileId } = await invoice(id);
    expect((await filesOf(invoiceNumber)).map((one) => one.id)).toEqual([pdfFileId]);
  });

  test('that cannot be written is an event of the invoice, until a retry succeeds', async () => {
    const put = vi.spyOn(service.service.storage, 'put').mockRejectedValue(new Error('The disk is full.'));
    const id = await post(await draftOf([{}]));
    const jobs = async () =>
      (
        await service.store.ownerStatements(
          `select id, status, failures from background_job where data->>'invoiceId' = $1 order by id`,
          [id],
        )
      ).rows;
    await expect.poll(jobs).toMatchObject([{ status: 'WAITING', failures: 1 }]);
    await service.store.ownerStatements(
      `with last as (update background_job set failures = 5, due_at = now() where data->>'invoiceId' = $1 returning name)
       select pg_notify('background_job', name) from last`,
      [id],
    );
    await expect.poll(jobs).toMatchObject([{ status: 'DEAD' }]);
    expect(await invoice(id)).toMatchObject({ pdfFileId: null, pdfFailedAt: expect.any(String) });
    put.mockRestore();
    const [dead] = await jobs();
    await retryJob({ service: { store: service.store } }, String(dead?.id));
    await finished();
    expect(await invoice(id)).toMatchObject({ pdfFileId: expect.any(String), pdfFailedAt: null });
    expect(await eventsOf('Invoice', id)).toEqual([
      ['CREATE', []],
      ['UPDATE', ['pdfFailedAt']],
      ['UPDATE', ['pdfFileId', 'pdfFailedAt']],
    ]);
  });

  test('is not written for a rehearsal, a draft that is rejected by a rule, or an import', async () => {
    const { systemRef } = await draftOf([{}]);
    const jobs = () =>
      service.store.read(service.tenant.id, (session) => session.all(sql`select id from background_job order by id`));
    await records.update([{ type: 'DraftInvoice', systemRef, attributes: { status: 'IN_REVIEW' } }]);
    const before = await jobs();
    const body = { records: [{ type: 'DraftInvoice', systemRef, attributes: { status: 'APPROVED' } }] };
    const rehearsed = await approver.call('PUT', '/api/v1/records', body, { 'Dry-Run': 'true' });
    expect(rehearsed.status).toBe(200);
    const line = { lineType: 'OTHER', description: 'Books', quantity: '1', unitAmount: '5.00', taxable: false };
    const dates = { invoiceDate: '2026-01-01', dueDate: '2026-01-31' };
    const imported = await records.make('Invoice', { pmsRef: '7', clientId: client.id, ...dates, lines: [line] });
    await change(imported.id, { memo: 'Imported.' });
    await change(imported.id, { status: 'VOIDED', voidReason: 'Twice' });
    expect(await jobs()).toEqual(before);
    expect(await invoice(imported.id)).toMatchObject({ pdfFileId: null, memo: 'Imported.' });
  });
});

describe('updateRecords', () => {
  test('writes sentAt, memo and purchaseOrder of an invoice, and no other field', async () => {
    const id = await post(await draftOf([{}]));
    const sentAt = new Date(Date.now() - 60_000).toISOString();
    expect(await change(id, { sentAt, memo: 'Sent.', purchaseOrder: null })).toMatchObject({
      status: 'UPDATED',
      attributes: { sentAt, memo: 'Sent.', purchaseOrder: null, status: 'POSTED' },
    });
    expect(await change(id, { sentAt: new Date(Date.now() + 86_400_000).toISOString() })).toMatchObject({
      error: { code: 'VALIDATION_ERROR', pointer: '/records/0/attributes/sentAt' },
    });
    expect(await change(id, { dueDate: '2027-01-01' })).toMatchObject({
      error: { code: 'INVALID_STATE', pointer: '/records/0/attributes/dueDate' },
    });
    expect(await change(id, { sentAt: null })).toMatchObject({ status: 'UPDATED', attributes: { sentAt: null } });
  });

  test('writes references of an invoice later, and finds it by them', async () => {
    const references = { orderReference: 'OC-114', buyerReference: '04011000-12345-34' };
    const id = await post(await draftOf([{}], references));
    expect(await invoice(id)).toMatchObject(references);
    expect(await change(id, { buyerReference: '991-01' })).toMatchObject({ status: 'UPDATED' });
    const where = { buyerReference: { _eq: '991-01' }, orderReference: { _eq: 'OC-114' } };
    const { body } = await preparer.call<{ data: { id: string }[] }>('POST', '/gql/v1/invoices/search', { where });
    expect(body.data.map((row) => row.id)).toEqual([id]);
  });

  test('gives an invoice the service period of its draft, otherwise the days of the work', async () => {
    const work = [await workFor('1.00', jobId, '2026-01-07'), await workFor('2.00', jobId, '2026-01-05')];
    const lines = work.map((wipId, index) => ({
      ...{ lineType: 'TIME' as const, jobId, quantity: String(index + 1), unitAmount: '190.00', wipIds: [wipId] },
    }));
    const draft = await draftOf(lines, { servicePeriodEnd: '2026-01-31' });
    expect(await invoice(await post(draft))).toMatchObject({
      servicePeriodStart: '2026-01-05',
      servicePeriodEnd: '2026-01-31',
      lines: [{ unitCode: 'HUR' }, { unitCode: 'HUR' }],
    });
    expect(await invoice(await post(await draftOf([{}])))).toMatchObject({
      servicePeriodStart: null,
      servicePeriodEnd: null,
      lines: [{ unitCode: 'C62' }],
    });
    const wrong = { servicePeriodStart: '2026-02-01', servicePeriodEnd: '2026-01-31' };
    const { systemRef } = await draftOf([{ unitCode: 'KMT' }]);
    expect(only(await records.update([{ type: 'DraftInvoice', systemRef, attributes: wrong }]))).toMatchObject({
      error: { code: 'VALIDATION_ERROR', pointer: '/records/0/attributes/servicePeriodEnd' },
    });
  });

  test('writes memo and purchaseOrder of a draft while it is a DRAFT', async () => {
    const { systemRef } = await draftOf([{}], { memo: 'First.' });
    const write = async (attributes: object) =>
      only(await records.update([{ type: 'DraftInvoice', systemRef, attributes }]));
    expect(await write({ memo: 'Second.', purchaseOrder: 'PO-1' })).toMatchObject({
      attributes: { memo: 'Second.', purchaseOrder: 'PO-1' },
    });
    await write({ status: 'IN_REVIEW' });
    expect(await write({ memo: 'Third.' })).toMatchObject({ error: { code: 'INVALID_STATE' } });
  });
});
