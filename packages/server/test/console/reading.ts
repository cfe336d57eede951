import { sql } from 'kysely';
import { expect, test, vi } from 'vitest';
import { Admitted } from '../../src/admission/admission.ts';
import { dataLists, referencesTo } from '../../src/app/console/catalog.ts';
import { schemaOf } from '../../src/contract/contract.ts';
import { Rejection } from '../../src/contract/rejection.ts';
import { filesOf } from '../modules/files.ts';
import { sampleOf } from '../nightly.ts';
import type { ConsoleFirm } from './firm.ts';

/** What pages show of the data of a firm. */
export function readingTests(firm: ConsoleFirm): void {
  const { store, tenant, call, invoiceOf, newClient, newKey, staffId, visitor, stranger } = firm;
  test('show lists with the newest first, sorted by a column, with names for references', async () => {
    const [one, other] = [await newClient({ name: 'Zinc & Sons' }), await newClient({ name: 'Amber Ltd' })];
    await invoiceOf(one.id, '1234567.50');
    await invoiceOf(other.id, '9.00');
    const admin = await visitor();
    const { text } = await admin.get('/data/Invoice');
    expect(text).toContain(`href="/console/data/Client/${one.id}">Zinc &amp; Sons</a>`);
    expect(text).toMatch(
      /<td class="number" data-label="Total"><span class="amount">1,234,567.50 <span class="soft">USD<\/span>/,
    );
    expect(text).toContain('aria-sort="descending"');
    const sorted = (await admin.get('/data/Invoice?sort=-total')).text;
    expect(sorted.indexOf('1,234,567.50')).toBeLessThan(sorted.indexOf('>9.00'));
    const reversed = (await admin.get('/data/Invoice?sort=total')).text;
    expect(reversed.indexOf('>9.00')).toBeLessThan(reversed.indexOf('1,234,567.50'));
    const clients = (await admin.get('/data/Client')).text;
    expect(clients.indexOf('Amber Ltd')).toBeLessThan(clients.indexOf('Zinc &amp; Sons'));
  });

  test('show the overview as of any day, of an office, in pictures that are no scripts, with a link to the rows of each figure', async () => {
    const { id } = await newClient({ name: 'Pictured <b> & Co' });
    await invoiceOf(id, '7654321.00');
    const admin = await visitor();
    const { text } = await admin.get('');
    expect(text.match(/<svg /g)?.length).toBeGreaterThan(2);
    expect(text.match(/<style/g)?.length).toBe(1);
    expect(text).not.toMatch(/ style="|<script|Pictured <b>/);
    expect(text).toContain('Pictured &lt;b&gt;');
    const [, row = ''] =
      /Pictured &lt;b&gt; &amp; Co<\/th>.*?href="\/console([^"]+)"[^>]*>7,654,321\.00/s.exec(text) ?? [];
    const rows = await admin.get(row.replaceAll('&amp;', '&').replaceAll('&quot;', '"'));
    expect(rows.text).toMatch(/Account is <strong>Receivable<\/strong>/);
    expect(rows.text).toMatch(/Client is <strong><a [^>]+>Pictured &lt;b&gt; &amp; Co<\/a>/);
    expect(rows.text).toContain('7,654,321.00');
    expect((await admin.get('?asOf=2020-01-31')).text).not.toContain('7,654,321.00');
    expect((await admin.get(`?officeId=${id}`)).text).not.toContain('7,654,321.00');
    for (const query of ['?asOf=soon', '?officeId=x', '/data/Invoice?where=x', '/data/Invoice?where=[]'])
      expect([query, (await admin.get(query)).text.includes('role="alert"')]).toEqual([query, true]);
  });

  test('show the overview with the sentence of the rejection in place of a figure that is rejected', async () => {
    const admin = await visitor();
    const figures = (text: string) => text.match(/<svg /g)?.length ?? 0;
    const before = await admin.get('');
    const busy = new Rejection('SERVICE_UNAVAILABLE', 'Too much is going on.');
    const heavy = vi.spyOn(Admitted.prototype, 'heavy').mockRejectedValueOnce(busy);
    const { status, text } = await admin.get('').finally(() => heavy.mockRestore());
    expect([status, figures(text), text.includes('<p>Too much is going on.</p>')]).toEqual([
      200,
      figures(before.text) - 1,
      true,
    ]);
  });

  test('filter lists by names and words, and save them as files for spreadsheets', async () => {
    const { id } = await newClient({ name: '=Formula Ltd' });
    const invoiceId = await invoiceOf(id, '15.00');
    await invoiceOf((await newClient({ name: 'Unasked Ltd' })).id, '16.00');
    const admin = await visitor();
    const where = encodeURIComponent(JSON.stringify({ clientId: { _eq: id } }));
    const list = async (query: string) => (await admin.get(`/data/Invoice?where=${where}&${query}`)).text;
    const named = (await admin.get('/data/Invoice?filter=clientId&op=is&value=formula+ltd')).text;
    expect(named).toContain(invoiceId);
    expect(named).not.toContain('Unasked');
    expect(named).toMatch(/Client is <strong><a [^>]+>=Formula Ltd/);
    expect(await list('filter=clientId&op=is&value=Nobody')).toContain('None of the clients is called “Nobody”.');
    expect(await list('filter=status&op=is&value=posted')).toContain(invoiceId);
    expect(await list('filter=status&op=is&value=paid')).not.toContain(invoiceId);
    expect(await list('filter=total&op=least&value=1,000.00')).not.toContain(invoiceId);
    expect(await list('filter=total&op=has&value=15')).toContain(invoiceId);
    expect(await list('filter=isOverdue&op=is&value=yes')).toContain(invoiceId);
    expect(await list('filter=sentAt&op=empty&value=')).toContain(invoiceId);
    const file = await admin.get(`/data/Invoice.csv?where=${where}`);
    expect(file.headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
    const [head = '', ...lines] = file.text.trim().split('\r\n');
    expect(head.split(',')).toEqual(expect.arrayContaining(['Client', 'Total', 'Amount due']));
    expect(named).toContain('<option value="total">Total</option>');
    expect(lines).toEqual([expect.stringMatching(/,'=Formula Ltd,.*,15\.00/)]);
  });

  test('show the statement of a client, also as a file', async () => {
    const { id } = await newClient({ name: 'Stated & Co' });
    await invoiceOf(id, '321.00');
    const admin = await visitor();
    expect((await admin.get(`/data/Client/${id}`)).text).toContain(`href="/console/data/Client/${id}/statement"`);
    const { text } = await admin.get(`/data/Client/${id}/statement`);
    expect(text).toContain('Stated &amp; Co');
    expect(text).toMatch(/Balance at the end<\/dt><dd class="figure"><span class="amount">321\.00/);
    const [, file = ''] = /href="\/console([^"]+format=csv)">As CSV/.exec(text) ?? [];
    expect((await admin.get(file.replaceAll('&amp;', '&'))).text).toContain(',321.00');
    expect(
      (await admin.get(file.replaceAll('&amp;', '&').replace('csv', 'pdf'))).text.replace(/^.*<main/s, ''),
    ).toMatch(/^%PDF/);
    expect(await admin.get('/data/Client/x/statement')).toMatchObject({ status: 400 });
  });

  test('show the letters of an engagement, each with its file', async () => {
    const { id: clientId } = await newClient({ name: 'Lettered & Co' });
    const engagement = { clientId, fiscalYear: 2026, partnerId: staffId };
    const { id } = (await call<{ id: string }>('POST', '/api/v1/engagements/create', engagement)).body;
    const file = await filesOf(firm)({ fileName: 'Letter.pdf' });
    await store.write(tenant.id, (transaction) =>
      transaction.all(sql`
        insert into engagement_document (tenant_id, id, system_ref, engagement_id, document_type_id, document_type_name, file_name, file_id, mime_type, size_bytes, status, version_number)
        values (${tenant.id}, ${file.id}, 'letter', ${id}, ${file.id}, 'Engagement letter', 'Letter.pdf', ${file.id}, 'application/pdf', 9, 'DRAFT', 1)`),
    );
    const admin = await visitor();
    expect((await admin.get(`/data/Engagement/${id}`)).text).toContain('/engagement_documents">Letters</a>');
    const { text } = await admin.get(`/data/Engagement/${id}/engagement_documents`);
    expect(text).toMatch(new RegExp(`>Letter.pdf<.*href="/console/data/File/${file.id}"`, 's'));
    expect(text).not.toMatch(/<dt>Page size<.*<summary>/s);
  });

  test('show the document of an invoice beside it, and frame nothing else', async () => {
    const { id } = await newClient({ name: 'Framed & Co' });
    const invoiceId = await invoiceOf(id, '77.00');
    const { id: documentId } = await filesOf(firm)();
    await store.write(tenant.id, (transaction) =>
      transaction.all(
        sql`update invoice set pdf_file_id = ${documentId} where tenant_id = ${tenant.id} and id = ${invoiceId}`,
      ),
    );
    const path = `/files/${documentId}`;
    const admin = await visitor();
    const page = await admin.get(`/data/Invoice/${invoiceId}`);
    expect(page.text).toContain(`<iframe src="/console${path}"`);
    expect(page.headers['content-security-policy']).toContain("frame-src 'self'");
    expect((await admin.get(`/data/Client/${id}`)).headers['content-security-policy']).not.toContain('frame-src');
    const document = await admin.get(path);
    expect(document.text).toMatch(/^%PDF/);
    expect(document.headers).toMatchObject({
      'content-type': 'application/pdf',
      'content-disposition': expect.stringMatching(/^inline; filename=/),
      'content-security-policy': "frame-ancestors 'self'",
      'x-content-type-options': 'nosniff',
    });
    expect(await stranger().get(path)).toMatchObject({ status: 401 });
    const upload = await filesOf(firm)({ fileName: 'page.html', mimeType: 'text/html' });
    expect(await admin.get(`/files/${upload.id}`)).toMatchObject({
      status: 200,
      headers: { 'content-disposition': expect.stringMatching(/^attachment;/), 'content-type': 'text/html' },
    });
  });

  test('offer an invoice as a document in each format of the contract, or say what it lacks for it', async () => {
    const { id } = await newClient({ name: 'Written & Co' });
    const invoiceId = await invoiceOf(id, '78.00');
    const admin = await visitor();
    const path = `/data/Invoice/${invoiceId}`;
    const { text } = await admin.get(path);
    for (const format of schemaOf('InvoiceDocumentFormat').properties?.format?.enum ?? []) {
      const isOffered = text.includes(`href="/console${path}/documents/${format}"`);
      const document = await admin.get(`${path}/documents/${format}`);
      expect([format, document.status]).toEqual([format, isOffered ? 200 : 409]);
      if (isOffered)
        expect(document.headers['content-disposition']).toMatch(/^attachment; filename="[\w. -]+\.(pdf|xml)"$/);
    }
    expect((await admin.get(`${path}/documents/pdf`)).text).toMatch(/^%PDF/);
    expect(text).toContain('The client has no electronic address.');
    expect(await admin.get(`/data/Client/${id}/documents/pdf`)).toMatchObject({ status: 404 });
    expect((await admin.get(`/data/Client/${id}`)).text).not.toContain('/documents/');
  });

  test('find rows of every kind by a part of a number, or of a name as it is typed', async () => {
    const { id } = await newClient({ name: 'Quill 100% & Reed' });
    await newClient({ name: 'Quill 1000 Ltd' });
    const invoiceId = await invoiceOf(id, '70.00');
    const { invoiceNumber } = (await call<{ invoiceNumber: string }>('GET', `/gql/v1/invoice/${invoiceId}`)).body;
    const admin = await visitor();
    const search = async (text: string) => (await admin.get(`/search?q=${encodeURIComponent(text)}`)).text;
    const clients = await search('qUILL 100%');
    expect(clients).toContain(`href="/console/data/Client/${id}">Quill 100% &amp; Reed</a>`);
    expect(clients).not.toContain('Quill 1000');
    const typed = await newClient({ name: 'Zoë O’Quill' });
    expect(await search("zoe o'quill")).toContain(`href="/console/data/Client/${typed.id}"`);
    const filtered = (await admin.get("/data/Client?filter=name&op=has&value=zoe+o'q")).text;
    expect(filtered).toContain('Zoë O’Quill');
    expect(filtered).toMatch(/Name contains <strong>zoe o&#39;q/);
    expect(await search(invoiceNumber.slice(4))).toContain(`href="/console/data/Invoice/${invoiceId}"`);
    const { data } = (await call<{ data: { displayName: string }[] }>('POST', '/gql/v1/staff', {})).body;
    for (const { displayName } of data.slice(0, 1)) expect(await search(displayName)).toContain('/console/data/Staff/');
    expect(await search('no such thing')).toContain('Nothing has this name or number.');
    expect(await search('a')).toContain('Enter at least 3 characters.');
  });

  test('list work that failed for good, with its reason', async () => {
    const admin = await visitor();
    expect((await admin.get('')).text).not.toContain('Work that failed for good');
    const { id: clientId } = await newClient({ name: 'Unwritten & Co' });
    const invoiceId = await invoiceOf(clientId, '10.00');
    await store.ownerStatements(
      `insert into background_job (tenant_id, id, name, data, status, failures, ended_at, failure)
       values ($1, gen_random_uuid(), 'write-invoice', $2, 'DEAD', 6, now(), 'The disk is <full>.')`,
      [tenant.id, JSON.stringify({ invoiceId })],
    );
    const { text } = await admin.get('');
    expect(text).toContain('Work that failed for good');
    expect(text).toContain('The disk is &lt;full&gt;.');
    expect(text).toContain(`/console/data/Invoice/${invoiceId}`);
  });

  test('find a request by its ID, with its problem and without what was sent', async () => {
    const rejected = await call('POST', '/gql/v1/clients/search', { where: { nme: { _eq: 'secret-value' } } });
    const id = rejected.headers.get('x-request-id');
    const one = await visitor();
    const { text } = await one.get(`/requests?requestId=${id}`);
    expect(text).toContain(`/console/requests/${id}`);
    expect(text).toMatch(/<th scope="row"><time class="when" datetime="20\d\d-/);
    const detail = (await one.get(`/requests/${id}`)).text;
    expect(detail).toMatch(/<dt>Time<\/dt><dd><time class="when" datetime="20\d\d-\d\d-\d\dT/);
    expect(detail).toContain('VALIDATION_ERROR');
    expect(detail).toContain('/where/nme');
    expect(detail).not.toContain('secret-value');
  });

  test('lead to no row that the reader may not see', async () => {
    const client = await newClient({ name: 'Linked & Co' });
    const id = await invoiceOf(client.id, '10.00');
    const link = `href="/console/data/Client/${client.id}"`;
    for (const [roles, isLinked] of [
      [['INVC_R', 'CLNT_R'], true],
      [['INVC_R'], false],
    ] as const) {
      const reader = await visitor((await newKey(`reads ${roles}`, roles)).key);
      for (const path of ['/data/Invoice', `/data/Invoice/${id}`]) {
        const { status, text } = await reader.get(path);
        expect([path, status, text.includes(link)]).toEqual([path, 200, isLinked]);
      }
    }
  });

  test('show every list of the contract', async () => {
    const one = await visitor();
    const nobody = '0199a1c2-0000-7000-8000-000000000000';
    const references = [...dataLists.keys()].flatMap(referencesTo);
    for (const type of dataLists.keys())
      for (const page of [type, `${type}.csv`])
        expect([page, (await one.get(`/data/${page}`)).status]).toEqual([page, 200]);
    for (const { list, field, conditionOn } of sampleOf(references, 6)) {
      const where = encodeURIComponent(JSON.stringify(conditionOn(nobody)));
      const { text } = await one.get(`/data/${list.type}?where=${where}`);
      expect([list.type, field, text.includes('No rows.')]).toEqual([list.type, field, true]);
    }
    expect(dataLists.size).toBeGreaterThan(25);
    expect(referencesTo('Invoice').map(({ list, field }) => `${list.type}.${field}`)).toContain(
      'LedgerEntry.invoiceId',
    );
  });

  test('rows of a custom type have their fields, references and events', async () => {
    const client = await newClient({ name: 'Referred LLC' });
    const fields = [
      { name: 'id', displayName: 'Number', type: 'TEXT' },
      { name: 'stage', displayName: 'Stage', type: 'TEXT' },
      { name: 'client', displayName: 'Client', type: 'REFERENCE', referencedEntityType: 'Client' },
    ];
    const defined = await call('POST', '/api/v1/records/custom', { name: 'Lead', displayName: 'Sales lead', fields });
    expect(defined.status).toBe(201);
    const record = { type: 'Lead', systemRef: 'L-1', attributes: { id: 'N-1', stage: 'new', client: client.id } };
    expect((await call('POST', '/api/v1/records', { records: [record] })).status).toBe(200);
    const one = await visitor();
    expect((await one.get('/data')).text).toContain('href="/console/data/Lead">Sales lead</a>');
    const list = (await one.get('/data/Lead')).text;
    const [, row = ''] = /href="\/console(\/data\/Lead\/[^"]+)">L-1</.exec(list) ?? [];
    const { text } = await one.get(row);
    expect(text).toContain(`href="/console/data/Client/${client.id}"`);
    expect(text).toContain('Create');
  });
}
