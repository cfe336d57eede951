import { expect, test } from 'vitest';
import { dataLists } from '../../src/app/console/catalog.ts';
import type { ConsoleFirm } from './firm.ts';
import { hiddenIn } from './visitor.ts';

/** What pages do with the data of a firm. */
export function workTests({
  call,
  draftOf,
  invoiceOf,
  jobId,
  newClient,
  newJob,
  newKey,
  staffId,
  subscribe,
  visitor,
  workFor,
}: ConsoleFirm): void {
  test('show and read times of a form on the clock of the firm', async () => {
    const { id } = await newClient({ name: 'Onboarded & Co' });
    const admin = await visitor();
    const page = `/data/Client/${id}`;
    const time = async () => (await call<{ onboardedAt: string }>('GET', `/gql/v1/client/${id}`)).body.onboardedAt;
    const before = await time();
    const { text } = await admin.get(`${page}/edit`);
    const [, shown = ''] = /name="onboardedAt"[^>]* value="([^"]+)"[^>]* type="datetime-local"/.exec(text) ?? [];
    expect(shown).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d$/);
    const change = (fields: object) => admin.submit(`${page}/edit`, `${page}/edit`, { _confirmed: 'yes', ...fields });
    expect(await change({ name: 'Kept & Co', onboardedAt: shown })).toMatchObject({ status: 303 });
    expect(await time()).toBe(before);
    expect(await change({ onboardedAt: '2026-01-15T09:30' })).toMatchObject({ status: 303 });
    expect(await time()).toBe('2026-01-15T14:30:00.000Z');
  });

  test('offer what the state of a row allows, rehearse it, and do it once for the version that was shown', async () => {
    const { id: clientId } = await newClient({ name: 'Voided & Co', address: {} });
    const invoiceId = await invoiceOf(clientId, '80.00');
    const path = `/data/Invoice/${invoiceId}`;
    const status = async () => (await call('GET', `/gql/v1/invoice/${invoiceId}`)).body;
    const admin = await visitor();
    const { text } = await admin.get(path);
    expect([...text.matchAll(/<summary>([^<]+)<\/summary>/g)].map(([, label]) => label)).toEqual([
      'Void',
      'Write off',
      'Settle the rest',
      'Send',
      'For integrators',
      'History',
      'Events',
    ]);
    expect(text).toMatch(/<dt>Billing address<\/dt><dd><span class="soft">none</);
    const fields = { _version: '1', voidReason: 'Wrong client' };
    const rehearsal = await admin.submit(path, `${path}/VOIDED`, fields);
    expect(rehearsal).toMatchObject({ status: 200 });
    expect(rehearsal.text).toContain('Nothing has changed yet');
    expect(rehearsal.text).toMatch(/Amount due<\/td>.*80\.00.*0\.00/);
    expect(await status()).toMatchObject({ status: 'POSTED', version: 1 });
    const done = { ...fields, _confirmed: 'yes' };
    expect(await admin.submit(path, `${path}/VOIDED`, { ...done, voidReason: '' })).toMatchObject({ status: 409 });
    // The form is still where it was opened, and has what was entered.
    const writeOff = { _version: '1', writeOffReason: 'Bankrupt', changeDate: '1999-12-31' };
    const rejected = await admin.submit(path, `${path}/WRITTEN_OFF`, { ...writeOff, _version: '7' });
    expect(rejected).toMatchObject({ status: 412 });
    expect(rejected.text).toMatch(/role="alert"[\s\S]*This is how it is now[\s\S]*<details open><summary>Write off/);
    expect(rejected.text).toMatch(/id="WRITTEN_OFF-writeOffReason"[\s\S]{0,200}Bankrupt/);
    expect(rejected.text.match(/<details open>/g)).toHaveLength(1);
    expect(await admin.submit(path, `${path}/PARTIALLY_PAID`, done)).toMatchObject({ status: 412 });
    expect(await admin.post(`${path}/VOIDED`, done)).toMatchObject({ status: 403 });
    expect(await admin.submit(path, `${path}/VOIDED`, done)).toMatchObject({ status: 303 });
    expect(await status()).toMatchObject({ status: 'VOIDED', voidReason: 'Wrong client' });
    expect(await admin.submit(path, `${path}/VOIDED`, done)).toMatchObject({ status: 412 });
    expect((await admin.get(path)).text).not.toMatch(/<summary>(Void|Write off)/);
  });

  test('create and change rows by forms of what operations write, after a rehearsal, in the version that was shown', async () => {
    const { id } = await newClient({ name: 'Formed & Co' });
    const invoiceId = await invoiceOf(id, '90.00');
    const admin = await visitor();
    const { invoiceNumber } = (await call<{ invoiceNumber: string }>('GET', `/gql/v1/invoice/${invoiceId}`)).body;
    const form = (await admin.get(`/data/Payment/new?clientId=${id}`)).text;
    expect(form).toContain('Client: <strong>Formed &amp; Co</strong>');
    expect(form).toMatch(/<input id="amount" name="amount"[^>]* required/);
    expect(form).not.toContain('name="changeReason"');
    expect(form).toContain('Contact who paid; empty if unknown.');
    const entered = {
      clientId: id,
      amount: '50.00',
      paymentDate: '2026-03-02',
      method: 'CHECK',
      source: 'MANUAL',
      'allocations.0.invoiceId': invoiceNumber,
      'allocations.0.amount': '40.00',
      _newRef: 'console-test-1',
    };
    // What was entered is in the form again, also what the address preset.
    const address = `/data/Payment/new?clientId=${id}`;
    const rejected = await admin.submit('', address, { ...entered, amount: '12.345', note: 'By post' });
    expect(rejected).toMatchObject({ status: expect.toBeOneOf([400, 409]) });
    for (const part of [
      'role="alert"',
      'Amount: The value must have the form',
      'Formed &amp; Co</strong>',
      'value="12.345"',
      `value="${invoiceNumber}"`,
    ])
      expect(rejected.text).toContain(part);
    expect(rejected.text).toMatch(/<details open><summary>More fields[\s\S]*By post/);
    const again = await admin.submit('', address, { ...entered, _confirmed: 'yes', _again: 'yes' });
    expect(again).toMatchObject({ status: 200 });
    expect(again.text).toMatch(/value="50\.00"[\s\S]*Show what would change/);
    const rehearsal = await admin.submit('', '/data/Payment/new', { ...entered, amount: '50' });
    expect(rehearsal.text).toContain('Change what you entered</button>');
    expect(rehearsal.text).toContain('Nothing has changed yet');
    expect(rehearsal.text).toMatch(/Amount due<\/td>.*90\.00.*50\.00/);
    const done = await admin.submit('', '/data/Payment/new', { ...entered, _confirmed: 'yes' });
    expect(done).toMatchObject({
      status: 303,
      headers: { location: expect.stringContaining('/console/data/Payment/') },
    });
    const [, path = ''] = /\/console(.*)\?/.exec(done.headers.location ?? '') ?? [];
    expect((await admin.get(path)).text).toContain('10.00');
    const change = { _version: '1', note: 'Seen by 7781', _confirmed: 'yes' };
    expect(await admin.submit(path, `${path}/edit`, { ...change, _version: '7' })).toMatchObject({ status: 412 });
    expect(await admin.submit(path, `${path}/edit`, { _version: '1' })).toMatchObject({ status: 409 });
    expect(await admin.submit(path, `${path}/edit`, change)).toMatchObject({ status: 303 });
    expect((await admin.get(path)).text).toContain('7781');
    expect((await admin.get(`/data/Invoice/${invoiceId}`)).text).toContain(`creditedInvoiceId=${invoiceId}`);
    for (const type of dataLists.keys())
      expect([type, (await admin.get(`/data/${type}/new`)).status]).toEqual([type, expect.toBeOneOf([200, 403])]);
  });

  test('keep what was entered in a form when somebody else has changed the row, and show what', async () => {
    const { id } = await newClient({ name: 'Shared & Co', paymentTermsDays: 30 });
    const path = `/data/Client/${id}`;
    const row = async () => (await call<Record<string, unknown>>('GET', `/gql/v1/client/${id}`)).body;
    const { version, systemRef } = await row();
    const stale = { _version: String(version), name: 'Shared & Co', paymentTermsDays: '45', _confirmed: 'yes' };
    const attributes = { name: 'Shared by all', paymentTermsDays: 60 };
    const records = [{ type: 'Client', systemRef, attributes }];
    expect((await call('POST', '/api/v1/records', { records })).body).toMatchObject({ summary: { failed: 0 } });
    const admin = await visitor();
    const { status, text } = await admin.submit(path, `${path}/edit`, stale);
    expect(status).toBe(412);
    expect(text).toMatch(/role="alert".*Somebody else has changed it/);
    expect(text).toMatch(
      />What has changed since you opened the page<.*>Name<\/td>.*Shared &amp; Co<.*Shared by all</s,
    );
    expect(text).toMatch(/>Payment terms days<\/td>.*>30<.*>60</s);
    // Only what was changed in the form is entered again.
    expect(text).toMatch(/name="name"[^>]* value="Shared by all"/);
    expect(text).toMatch(/name="paymentTermsDays"[^>]* value="45"/);
    const again = { ...stale, name: 'Shared by all', _version: hiddenIn(text, '_version') };
    expect(await admin.submit(path, `${path}/edit`, again)).toMatchObject({ status: 303 });
    expect(await row()).toMatchObject({ ...attributes, paymentTermsDays: 45 });
    const [, history = ''] = /<summary>History<(.*)<summary>Events</s.exec((await admin.get(path)).text) ?? [];
    expect(history).toMatch(
      />ops<\/td>.*>Payment terms days<\/td>.*>60<.*>45<.*>Payment terms days<\/td>.*>30<.*>60</s,
    );
  });

  test('change nothing by a form that is sent as it was shown, and take money off an invoice by emptying it', async () => {
    const { id: clientId } = await newClient({ name: 'Unapplied & Co' });
    const invoiceId = await invoiceOf(clientId, '60.00');
    const payment = {
      ...{ clientId, amount: '60.00', paymentDate: '2026-03-02', method: 'CHECK', source: 'MANUAL' },
      allocations: [{ invoiceId, amount: '60.00' }],
    };
    const records = [{ type: 'Payment', systemRef: 'unapplied', attributes: payment }];
    expect((await call('POST', '/api/v1/records', { records })).body).toMatchObject({ summary: { failed: 0 } });
    const where = { clientId: { _eq: clientId } };
    const found = async () =>
      (await call<{ data: { id: string; unappliedAmount: string }[] }>('POST', '/gql/v1/payments/search', { where }))
        .body.data[0];
    const admin = await visitor();
    const path = `/data/Payment/${(await found())?.id}`;
    for (const one of [path, `/data/Client/${clientId}`, `/data/Invoice/${invoiceId}`])
      expect([one, (await admin.post(`${one}/edit`, await admin.formOf(`${one}/edit`))).text]).toEqual([
        one,
        expect.stringContaining('Nothing was changed.'),
      ]);
    const emptied = { 'allocations.0.invoiceId': '', 'allocations.0.amount': '' };
    const fields = { ...(await admin.formOf(`${path}/edit`)), ...emptied };
    expect((await admin.post(`${path}/edit`, fields)).text).toMatch(/Amount due<\/td>.*0\.00.*60\.00/s);
    expect(await admin.post(`${path}/edit`, { ...fields, _confirmed: 'yes' })).toMatchObject({ status: 303 });
    expect(await found()).toMatchObject({ unappliedAmount: '60.00' });
  });

  test('keep and choose jobs that have one name, by whose they are or their number, also among more than can be offered', async () => {
    const clients = [await newClient({ name: 'Twin & Co' }), await newClient({ name: 'Other Twin Ltd' })];
    const [job = '', other = ''] = [await newJob(clients[0]?.id ?? ''), await newJob(clients[1]?.id ?? '')];
    const { jobRef } = (await call<{ jobRef: string }>('GET', `/gql/v1/job/${other}`)).body;
    const attributes = {
      staffId,
      jobId: job,
      workDate: '2026-02-02',
      hours: '1.00',
      isBillable: true,
      status: 'DRAFT',
    };
    const records = [{ type: 'TimeEntry', systemRef: 'time of twins', attributes }];
    const { body } = await call<{ records: { id: string }[] }>('POST', '/api/v1/entries', { records });
    const path = `/data/TimeEntry/${body.records[0]?.id}`;
    const admin = await visitor();
    const form = async () => (await admin.get(`${path}/edit`)).text;
    const offered = (text: string) => [
      ...text.matchAll(/<option value="([^"]*)"( selected)?>Return 2026 \((.*?), J-/g),
    ];
    expect(offered(await form()).map(([, id, selected, client]) => [id, selected, client])).toEqual(
      expect.arrayContaining([
        [job, ' selected', 'Twin &amp; Co'],
        [other, undefined, 'Other Twin Ltd'],
      ]),
    );
    expect((await form()).match(/ selected>Return 2026/g)).toHaveLength(1);
    const change = (fields: object) => admin.submit(path, `${path}/edit`, { description: 'Calls', ...fields });
    expect((await change({ jobId: job })).text).not.toMatch(/>Job<\/td>/);
    expect((await change({ jobId: other })).text).toMatch(/>Job<\/td>.*Return 2026.*Return 2026/);
    const many = Array.from({ length: 100 }, (_, index) => ({
      type: 'Job',
      systemRef: `job ${index}`,
      attributes: {
        name: `Job ${index}`,
        clientId: clients[0]?.id,
        status: 'PLANNED',
        billingType: 'TIME_AND_MATERIALS',
      },
    }));
    expect((await call('POST', '/api/v1/records', { records: many })).body).toMatchObject({ summary: { failed: 0 } });
    expect(await form()).toMatch(/<input id="jobId" name="jobId"[^>]* value="Return 2026"/);
    expect((await change({ jobId: 'Return 2026' })).text).not.toMatch(/>Job<\/td>/);
    expect((await change({ jobId: 'Job 99' })).text).toMatch(/>Job<\/td>.*Return 2026.*Job 99/);
    expect((await change({ jobId: 'return 2026' })).text).toMatch(/More than one of the jobs .*, such as J-2026-/);
    expect((await change({ jobId: jobRef })).text).toMatch(/>Job<\/td>/);
  });

  test('reach each row of a list that has more than can be offered and is not searched by name, also by its key', async () => {
    const { id } = await newClient({ name: 'Grouped & Co' });
    const group = (name: string, index: number) => ({
      type: 'ClientGroup',
      systemRef: `group ${index}`,
      attributes: { name },
    });
    const names = Array.from({ length: 102 }, (_, index) => `Family ${index}`);
    const all = names.map(group);
    for (const records of [all.slice(0, 100), all.slice(100)])
      expect((await call('POST', '/api/v1/records', { records })).body).toMatchObject({ summary: { failed: 0 } });
    const admin = await visitor();
    const path = `/data/Client/${id}`;
    expect((await admin.get(`${path}/edit`)).text).toMatch(
      /<input id="clientGroupId"[^>]* placeholder="Name, number or key"/,
    );
    const change = async (clientGroupId: string) => (await admin.submit(path, `${path}/edit`, { clientGroupId })).text;
    for (const name of ['Family 0', 'family 50', 'Family 101'])
      expect(await change(name)).toMatch(new RegExp(`>Client group</td>.*>${name}</a>`, 'is'));
    expect(await change('family 10')).toMatch(/>Client group<\/td>.*>Family 10<\/a>/s);
    expect(await change('family')).toMatch(/More than one of the client groups .*, such as group \d+/);
    expect(await change('group 101')).toMatch(/>Client group<\/td>.*>Family 101<\/a>/s);
    expect(await change('Nobody')).toContain('None of the client groups is called “Nobody”.');
  });

  test('create an engagement once, and a payment link for invoices by their numbers', async () => {
    const { id, ref } = await newClient({ name: 'Engaged & Co' });
    const invoices = [await invoiceOf(id, '11.00'), await invoiceOf(id, '12.00')];
    const numberOf = async (invoice: string) =>
      (await call<{ invoiceNumber: string }>('GET', `/gql/v1/invoice/${invoice}`)).body.invoiceNumber;
    const numbers = await Promise.all(invoices.map(numberOf));
    const admin = await visitor();
    const create = async (type: string, fields: Record<string, string>) => {
      const { headers } = await admin.submit('', `/data/${type}/new`, {
        ...fields,
        _newRef: 'created once',
        _confirmed: 'yes',
      });
      return (await admin.get(headers.location?.replace('/console', '') ?? '')).text;
    };
    const engagement = { clientId: 'Engaged & Co', fiscalYear: '2026', partnerId: staffId };
    const form = (await admin.get('/data/Engagement/new')).text;
    expect(form).toMatch(/<input id="jobIds".*Several are separated by commas\..*<summary>More fields/s);
    expect((await admin.get('/data/DraftInvoice/new')).text).toMatch(/<summary>More fields.*<input id="jobIds"/s);
    expect(await create('Engagement', engagement)).toMatch(/Engaged &amp; Co<\/a>.*Draft<\/span>/s);
    expect((await admin.submit('', '/data/Engagement/new', { ...engagement, _newRef: 'created once' })).status).toBe(
      409,
    );
    const rehearsal = await admin.submit('', '/data/QuickPaymentLink/new', { clientRef: ref, amount: '23' });
    expect(rehearsal.text).toMatch(/23\.00 <span/);
    expect(rehearsal.text).not.toContain('/pay/');
    expect(await create('QuickPaymentLink', { clientRef: ref, invoiceIds: numbers.join(', ') })).toContain('23.00');
    const client = (await admin.get(`/data/Client/${id}`)).text;
    // Others come from drafts.
    expect(client).toContain('>Import an invoice</a>');
    expect((await admin.get('/data/Invoice/new')).text).toContain('<h1>Import an invoice</h1>');
    // A type is read by its name.
    const type = { name: 'Vehicle', displayName: 'Van <b>', 'fields.0.name': 'plate', 'fields.0.type': 'STRING' };
    expect(await create('CustomRecordType', type)).toContain('<h1>Custom record type: Van &lt;b&gt;');
    expect((await admin.get('/data/CustomRecordType')).text).toContain('href="/console/data/CustomRecordType/Vehicle"');
  });

  test('create and change records of a custom type, with the fields that the firm defined', async () => {
    const { id: clientId } = await newClient({ name: 'Proposed & Co' });
    const field = (name: string, type: string, rules = {}) => ({ name, type, ...rules });
    const fields = [
      field('title', 'STRING', { required: true, description: 'What is proposed, in a few words.' }),
      field('fee', 'DECIMAL'),
      field('seats', 'INTEGER'),
      field('stage', 'ENUM', { enumValues: ['OPEN_FOR_TALKS', 'WON'] }),
      field('services', 'MULTI_ENUM', { enumValues: ['TAXES', 'AUDIT', 'PAYROLL'] }),
      field('isUrgent', 'BOOLEAN'),
      field('decidesOn', 'DATE'),
      field('summary', 'TEXT'),
      field('lossReason', 'STRING'),
      field('client', 'REFERENCE', { referencedEntityType: 'Client' }),
      field('retired', 'STRING', { active: false }),
    ];
    const type = { name: 'Pitch', displayName: 'Pitches', fields };
    expect(await call('POST', '/api/v1/records/custom', type)).toMatchObject({ status: 201 });
    const admin = await visitor();
    expect((await admin.get('/data/Pitch')).text).toContain('href="/console/data/Pitch/new">New pitch</a>');
    const form = (await admin.get('/data/Pitch/new')).text;
    expect(form).toMatch(/<input id="title"[^>]* required .*What is proposed, in a few words\./s);
    expect(form).toMatch(
      /<select id="stage".*>Open for talks<.*<input id="decidesOn"[^>]* type="date".*<textarea id="summary"/s,
    );
    expect(form).not.toContain('name="retired"');
    const entered = {
      ...{ title: 'A <new> audit', fee: '1200', seats: '3', stage: 'WON', services: 'taxes, audit', isUrgent: 'yes' },
      ...{ decidesOn: '2026-04-01', lossReason: 'Price', client: 'proposed & co', _newRef: 'console-pitch' },
    };
    const submit = (path: string, more = {}) => admin.submit(path, path, { ...entered, ...more });
    const { text } = await submit('/data/Pitch/new');
    expect(text).toMatch(/Nothing has changed yet.*>New Pitch A &lt;new&gt; audit<.*>Fee<.*1,200\.00/s);
    const { headers } = await submit('/data/Pitch/new', { _confirmed: 'yes' });
    const path = headers.location?.replace(/^\/console|\?.*/g, '') ?? '';
    expect((await admin.get(path)).text).toMatch(/<h1>Pitches: A &lt;new&gt; audit<.*>Change fields</s);
    const records = async () =>
      (await call<{ data: { attributes: object }[] }>('POST', '/api/v1/records/batch/Pitch', {})).body.data;
    const { client: _client, _newRef, ...same } = entered;
    const stored = {
      ...same,
      fee: '1200.00',
      seats: 3,
      services: ['TAXES', 'AUDIT'],
      isUrgent: true,
      client: clientId,
    };
    expect(await records()).toMatchObject([{ attributes: stored }]);
    const edited = (await admin.get(`${path}/edit`)).text;
    expect(edited).toMatch(/name="services"[^>]* value="Taxes, Audit"/);
    expect(edited).toMatch(/name="client"[^>]* value="Proposed &amp; Co"/);
    const change = { seats: '5', services: 'Audit, Payroll', _version: hiddenIn(edited, '_version') };
    expect((await submit(`${path}/edit`, change)).text).toMatch(/>Seats<\/td>.*>3<.*>5</s);
    expect(await submit(`${path}/edit`, { ...change, _confirmed: 'yes' })).toMatchObject({ status: 303 });
    expect(await records()).toMatchObject([{ attributes: { ...stored, seats: 5, services: ['AUDIT', 'PAYROLL'] } }]);
    const stale = await submit(`${path}/edit`, { ...change, seats: '7' });
    expect([stale.status, stale.text]).toEqual([
      412,
      expect.stringMatching(/>What has changed since.*>Seats<.*>3<.*>5</s),
    ]);
    const reader = await visitor((await newKey('reader', ['RECORD_R', 'CUSTOM_TYPE_R', 'CLNT_R'])).key);
    expect((await reader.get(path)).text).not.toContain('Change fields');
    expect((await reader.get('/data/Pitch/new')).status).toBe(403);
  });

  test('keep texts as they are entered, in fields of any name', async () => {
    const fields = ['version', 'confirmed', 'constructor', 'title'].map((name) => ({ name, type: 'STRING' }));
    const type = { name: 'Tool', displayName: 'Tools', fields: [...fields, { name: 'body', type: 'TEXT' }] };
    await call('POST', '/api/v1/records/custom', type);
    const admin = await visitor();
    const texts = { version: '7', confirmed: 'yes', constructor: 'Ada', title: '1,234', body: 'One\r\nTwo' };
    const submit = async (path: string, more: Record<string, string>) =>
      admin.post(path, { ...(await admin.formOf(path)), ...more });
    expect((await submit('/data/Tool/new', texts)).text).toContain('Nothing has changed yet');
    const { headers } = await submit('/data/Tool/new', { ...texts, _confirmed: 'yes' });
    const path = headers.location?.replace(/^\/console|\?.*/g, '') ?? '';
    const { data } = (await call<{ data: object[] }>('POST', '/api/v1/records/batch/Tool', {})).body;
    expect(data).toMatchObject([{ version: 1, attributes: { ...texts, body: 'One\nTwo' } }]);
    expect((await submit(`${path}/edit`, { body: texts.body })).text).toContain('Nothing was changed.');
  });

  test('upload a document to a row, once, and download it', async () => {
    const { id } = await newClient({ name: 'Documented & Co' });
    const admin = await visitor();
    const address = `/data/File/new?clientId=${id}`;
    expect((await admin.get(`/data/Client/${id}`)).text).toContain(`href="/console${address}">Upload a document</a>`);
    const { text } = await admin.get(address);
    expect(text).toMatch(/<form class="card" enctype="multipart\/form-data".*>Documented &amp; Co<\/strong>/s);
    expect(text).toMatch(/<input id="file" name="file"[^>]* required value="" type="file">.*At most 100 MiB/s);
    expect(text).not.toContain('name="fileName"');
    const fields = { formKey: hiddenIn(text, 'formKey'), _newRef: 'console-document', clientId: id, taxYear: '2025' };
    const files = async () => (await call<{ data: object[] }>('GET', `/api/v1/files?clientId=${id}`)).body.data;
    const pdf = (content: string) => new File([content], 'Größe “A4”.pdf');
    // Nothing remains of what is rejected, and what was entered is in the form again.
    const rejected = await admin.upload(address, fields, pdf('Not a PDF'));
    expect(rejected.status).toBe(400);
    const reason = 'The content is not application/pdf, as the file name suggests.';
    expect(rejected.text).toMatch(
      new RegExp(`name="taxYear"[^>]* value="2025".*type="file">[^]*<p class="fault">${reason}`, 's'),
    );
    // Browsers send an empty name if no file is chosen.
    const none = await admin.upload(address, fields, new File([], 'none'), {
      edit: (body) => body.replace('"none"', '""'),
    });
    expect(none.text).toContain('<p class="fault">Choose a file.');
    const large = await admin.upload(address, fields, pdf('%PDF'), { headers: { 'Content-Length': 101 * 2 ** 20 } });
    expect([large.status, large.text]).toEqual([
      413,
      expect.stringContaining('<p class="fault">The file has more than 100 MiB.'),
    ]);
    const wrong = [
      { headers: { 'Content-Type': 'multipart/form-data; boundary=x' } },
      { edit: (body: string) => body.slice(0, -4) },
      { edit: (body: string) => body.replace('name="_newRef"', '_newRef') },
      { edit: (body: string) => body.replace(/filename="[^"]*"/, '') },
      {
        edit: (body: string) =>
          body.replace(/^(--.+\r\n)/, '$1Content-Disposition: form-data; name="more"; filename="a"\r\n\r\n\r\n$1'),
      },
    ];
    for (const one of wrong)
      expect([one, (await admin.upload(address, fields, pdf('%PDF'), one)).status]).toEqual([one, 400]);
    expect((await admin.upload(address, { ...fields, formKey: '' }, pdf('%PDF-1.7'))).status).toBe(403);
    const { key } = await newKey('reader of files', ['CLNT_R', 'FILE_R', 'FILE_DL']);
    const reader = await visitor(key);
    expect((await reader.get(`/data/Client/${id}`)).text).not.toContain('Upload a document');
    expect(
      (
        await reader.upload(
          address,
          { ...fields, formKey: hiddenIn((await reader.get('')).text, 'formKey') },
          pdf('%PDF'),
        )
      ).status,
    ).toBe(403);
    expect(await files()).toEqual([]);

    // A line that ends the form is a part of the content elsewhere.
    const content = `%PDF-1.7\r\n--x--\r\n${'Seite 1\r\n'.repeat(20_000)}`;
    const done = await admin.upload(address, fields, pdf(content));
    expect(done.status).toBe(303);
    expect(await files()).toMatchObject([
      { fileName: 'Größe “A4”.pdf', status: 'AVAILABLE', mimeType: 'application/pdf', taxYear: 2025, clientId: id },
    ]);
    const page = (await admin.get(done.headers.location?.replace('/console', '') ?? '')).text;
    const [, link = ''] = /href="\/console(\/files\/[^"]+)">Open the document/.exec(page) ?? [];
    for (const one of [admin, reader]) expect((await one.get(link)).text).toBe(content);
    expect((await admin.upload(address, fields, pdf(content))).status).toBe(409);
    expect(await files()).toHaveLength(1);
  });

  test('change a subscription, the rates of staff and a custom type by operations of their own', async () => {
    const admin = await visitor();
    const change = async (path: string, fields: Record<string, string>) => {
      const sent = { ...(await admin.formOf(`${path}/edit`)), ...fields };
      expect((await admin.submit(path, `${path}/edit`, sent)).text).toContain('Nothing has changed yet');
      expect(await admin.submit(path, `${path}/edit`, { ...sent, _confirmed: 'yes' })).toMatchObject({ status: 303 });
    };
    const { id } = await subscribe({ url: 'http://127.0.0.1:9/first' });
    await change(`/data/EventSubscription/${id}`, { deliveryUrl: 'http://127.0.0.1:9/second' });
    const subscription = await call('GET', `/api/v1/event-subscriptions/${id}`);
    expect(subscription.body).toMatchObject({ deliveryUrl: 'http://127.0.0.1:9/second' });
    await change(`/data/Staff/${staffId}`, {
      'rateCardAssignment.currency': 'USD',
      'rateCardAssignment.billingRate': '212',
      'rateCardAssignment.averageRate': '180',
      // In every time zone, it is today or earlier.
      'rateCardAssignment.effectiveFromDate': Temporal.Now.plainDateISO('UTC').subtract({ days: 1 }).toString(),
    });
    const { body } = await call<{ data: object[] }>('POST', '/gql/v1/staff/search', {
      where: { id: { _eq: staffId } },
    });
    expect(body.data).toMatchObject([{ rateCardAssignment: { billingRate: '212', averageRate: '180' } }]);
    const fields = [{ name: 'stage', type: 'ENUM', enumValues: ['OPEN', 'WON'] }];
    await call('POST', '/api/v1/records/custom', { name: 'Deal', fields });
    await change('/data/CustomRecordType/Deal', {
      displayName: 'Deals',
      'fields.0.enumValues': 'OPEN, WON, LOST',
      'fields.1.name': 'reason',
      'fields.1.type': 'TEXT',
    });
    const type = async () => (await call('GET', '/api/v1/records/custom/Deal')).body;
    const named = { displayName: 'Deals', fields: [{ enumValues: ['OPEN', 'WON', 'LOST'] }, { name: 'reason' }] };
    expect(await type()).toMatchObject({ ...named, active: true });
    const path = '/data/CustomRecordType/Deal';
    const action = { _confirmed: 'yes' };
    expect(await admin.submit(path, `${path}/deactivateCustomRecordType`, action)).toMatchObject({ status: 303 });
    expect(await type()).toMatchObject({ active: false });
  });

  test('change the lines of a draft, which keep their work and taxes', async () => {
    const wipId = await workFor('1.00');
    const taxed = { jobId, taxable: true, taxRatePercent: '7', wipIds: [wipId] };
    const made = await draftOf([{ ...taxed, description: 'First' }, { description: 'Second' }]);
    const path = `/data/DraftInvoice/${made.id}`;
    const draft = async () =>
      (
        await call<{ systemRef: string; lines: Record<string, unknown>[] }>(
          'GET',
          `/gql/v1/draft_invoice/${path.split('/').at(-1)}`,
        )
      ).body;
    const before = await draft();
    const admin = await visitor();
    const shown = await admin.formOf(`${path}/edit`);
    expect(shown).toMatchObject({ 'lines.0.quantity': '1', 'lines.1.description': 'Second' });
    const change = (fields: object) => admin.submit(path, `${path}/edit`, { ...shown, ...fields });
    expect((await change({})).text).toContain('Nothing was changed.');
    const third = { lineType: 'OTHER', description: 'Third', quantity: '2', unitAmount: '5.50' };
    const added = Object.fromEntries(Object.entries(third).map(([name, value]) => [`lines.2.${name}`, value]));
    const done = await change({ 'lines.0.unitAmount': '110', ...added, _confirmed: 'yes' });
    expect(done.status).toBe(303);
    const after = await draft();
    expect(after.lines).toMatchObject([
      {
        ...before.lines[0],
        unitAmount: '110',
        amount: '110.00',
        taxAmount: '7.70',
        taxes: [{ ratePercent: '7' }],
      },
      before.lines[1],
      { description: 'Third', amount: '11.00' },
    ]);
    // A line of the form would be another one when a line before it is gone.
    const { systemRef, lines } = after;
    const rest = lines.slice(1).map(({ id, description, lineType, quantity, unitAmount }) => ({
      ...{ id, description, lineType, quantity, unitAmount },
    }));
    const records = [{ type: 'DraftInvoice', systemRef, attributes: { lines: rest } }];
    const open = await admin.formOf(`${path}/edit`);
    expect((await call('POST', '/api/v1/records', { records })).body).toMatchObject({ summary: { updated: 1 } });
    const { text } = await admin.post(`${path}/edit`, { ...open, dueDate: '2026-12-31', 'lines.0.unitAmount': '500' });
    expect(text).toContain('Enter again what you changed in: lines.');
    expect(text).toMatch(/name="dueDate"[^>]* value="2026-12-31"/);
    expect(text).toMatch(/name="lines.0.description"[^>]*(?: value="|>)Second/);
  });

  test('deactivate and activate a row without states, and assign staff to a job', async () => {
    const { id: clientId } = await newClient({ name: 'Staffed & Co' });
    const records = [{ type: 'Industry', systemRef: 'boats', attributes: { name: 'Boats' } }];
    const made = await call<{ records: { id: string }[] }>('POST', '/api/v1/records', { records });
    const path = `/data/Industry/${made.body.records[0]?.id}`;
    const admin = await visitor();
    const act = async (page: string, name: string, fields = {}) => {
      expect((await admin.submit(page, `${page}/${name}`, fields)).text).toContain('Nothing has changed yet');
      expect(await admin.submit(page, `${page}/${name}`, { ...fields, _confirmed: 'yes' })).toMatchObject({
        status: 303,
      });
      return (await admin.get(page)).text;
    };
    expect(await act(path, 'delete')).toMatch(/>Reactivate<.*>inactive</s);
    expect(await act(path, 'upsert')).toMatch(/>Deactivate</);
    expect((await admin.get(`/data/Client/${clientId}`)).text).toContain(
      `/data/Client/${clientId}/contacts">Contacts</a>`,
    );
    expect((await admin.get(`/data/Client/${clientId}/contacts`)).text).toContain('<h1>Contacts</h1>');
    const codes = [
      { type: 'WorkCode', systemRef: 'boat code', attributes: { code: 'BOAT', name: 'Boats', isBillable: true } },
    ];
    const code = await call<{ records: { id: string }[] }>('POST', '/api/v1/codes', { records: codes });
    expect(await act(`/data/WorkCode/${code.body.records[0]?.id}`, 'delete')).toMatch(/>Reactivate</);
    const job = `/data/Job/${await newJob(clientId)}`;
    expect((await admin.get(job)).text).toMatch(
      /<summary>Assign staff<.*id="assignStaff-staffId".*<summary>Remove staff</s,
    );
    // The page of its figures has the assignments.
    const figures = job.replace('Job', 'Project');
    expect((await admin.get(job)).text).toContain(`href="/console${figures}">Job with figures</a>`);
    expect((await admin.get(figures)).text).toMatch(/<summary>History<.*>Return 2026<.*<summary>Events<.*>Create</s);
    const assigned = async () => (await admin.get(figures)).text.includes('<h2>Staff assignments</h2>');
    await act(job, 'assignStaff', { staffId, role: 'PREPARER', allocatedHours: '12' });
    expect(await assigned()).toBe(true);
    await act(job, 'removeStaff', { staffId });
    expect(await assigned()).toBe(false);
  });

  test('do one thing with several rows of a list, with the sums of a rehearsal', async () => {
    const { id } = await newClient({ name: 'Drafted & Co' });
    const line = { lineType: 'OTHER', description: 'Advice', quantity: '1', unitAmount: '10.00', taxable: false };
    const drafts = [1, 2, 3].map((number) => ({
      type: 'DraftInvoice',
      systemRef: `bulk draft ${number}`,
      attributes: {
        clientId: id,
        billThroughDate: '2026-03-01',
        proposedInvoiceDate: '2026-03-01',
        dueDate: '2026-03-31',
        lines: [line],
      },
    }));
    expect((await call('POST', '/api/v1/records', { records: drafts })).body).toMatchObject({ summary: { failed: 0 } });
    const admin = await visitor();
    const list = `/data/DraftInvoice?where=${encodeURIComponent(JSON.stringify({ clientId: { _eq: id } }))}`;
    const { text } = await admin.get(`${list}&selected=all`);
    const rows = [...text.matchAll(/name="row" value="([^"]+)"[^>]* checked/g)].map(([, value = '']) =>
      value.replaceAll('&amp;', '&'),
    );
    expect(rows).toHaveLength(3);
    const formKey = hiddenIn(text, 'formKey');
    const submit = (selected: readonly string[], to: string, confirmed = '') =>
      admin.post(`/data/DraftInvoice/selected/${to}`, [
        ['formKey', formKey],
        ['_confirmed', confirmed],
        ...selected.map((row) => ['row', row]),
      ]);
    expect(await submit([], 'IN_REVIEW')).toMatchObject({ status: 409 });
    const stale = rows.map((row, index) => (index === 0 ? row.replace('version=1', 'version=9') : row));
    const rehearsal = await submit(stale, 'IN_REVIEW');
    expect(rehearsal.text).toContain('in 2 of 3 rows');
    expect(rehearsal.text).toContain('What would not change');
    expect((await admin.get(list)).text).not.toContain('In review');
    expect(await submit(rows, 'IN_REVIEW', 'yes')).toMatchObject({ status: 303 });
    expect((await admin.get(list)).text.match(/In review<\/span>/g)).toHaveLength(3);
    expect(await submit(rows, 'IN_REVIEW', 'yes')).toMatchObject({ status: 409 });
  });

  test('close a month after a check list, and open it again with a reason', async () => {
    const admin = await visitor();
    const { data } = (await call<{ data: { id: string; version: number }[] }>('POST', '/gql/v1/orgs', {})).body;
    const [org] = data;
    const path = `/data/Org/${org?.id}/edit`;
    expect((await admin.get('/close?through=2026-03-31')).text).toMatch(
      /Draft invoices that are not posted: <strong>\d+/,
    );
    expect((await admin.get('/close?through=2020-01-31')).text).toContain('Nothing. The period is complete.');
    const fields = { _version: String(org?.version), booksClosedThrough: '2020-01-31' };
    const closed = async () =>
      (await admin.get('/close')).text.includes('Closed through <time class="when" datetime="2020-01-31">');
    expect((await admin.submit('/close', path, fields)).text).toMatch(/Books closed through<\/td>.*none.*2020/s);
    expect(await closed()).toBe(false);
    expect(await admin.submit('/close', path, { ...fields, _confirmed: 'yes' })).toMatchObject({ status: 303 });
    expect(await closed()).toBe(true);
    const open = { _version: String(Number(org?.version) + 1), booksClosedThrough: '', _confirmed: 'yes' };
    expect(await admin.submit('/close', path, { ...open, changeReason: '' })).toMatchObject({ status: 409 });
    expect(await admin.submit('/close', path, { ...open, changeReason: 'A late statement' })).toMatchObject({
      status: 303,
    });
    expect(await closed()).toBe(false);
  });

  test('send an invoice by mail, after a rehearsal that sends nothing', async () => {
    const { id } = await newClient({ name: 'Mailed & Co' });
    const invoiceId = await invoiceOf(id, '33.00');
    const path = `/data/Invoice/${invoiceId}`;
    const where = { invoiceIds: { _contains: invoiceId } };
    const mails = async () => (await call<{ data: unknown[] }>('POST', '/gql/v1/mails/search', { where })).body.data;
    const admin = await visitor();
    expect((await admin.get(path)).text).toContain('<summary>Send</summary>');
    const fields = { to: 'ines@example.com, lee@example.com', message: 'Thank <you>' };
    const send = (entered: Record<string, string>) => admin.submit(path, `${path}/sendInvoice`, entered);
    // What has no name is not called by its ID.
    expect((await send(fields)).text).toMatch(/<th scope="row">New Mail<\/th>/);
    expect(await mails()).toEqual([]);
    expect(await send({ ...fields, to: 'nobody' })).toMatchObject({ status: 400 });
    expect(await send({ ...fields, _confirmed: 'yes' })).toMatchObject({ status: 303 });
    expect(await mails()).toHaveLength(1);
    expect(await admin.submit(path, `${path}/deleteRecords`, {})).toMatchObject({ status: 412 });
  });

  test('merge a client into one that is named, after a rehearsal, and offer nothing of the merged one', async () => {
    const [from, into] = [await newClient({ name: 'Twice Ltd' }), await newClient({ name: 'Once Ltd' })];
    await invoiceOf(from.id, '79.00');
    const admin = await visitor();
    const page = `/data/Client/${from.id}`;
    const fields = { into: 'Once Ltd', reason: 'Created twice.' };
    expect((await admin.get(page)).text).toContain('Merge into another client');
    const rehearsal = await admin.submit(page, `${page}/mergeClients`, fields);
    expect(rehearsal.text).toContain('Nothing has changed yet.');
    expect(await admin.submit(page, `${page}/mergeClients`, { ...fields, into: 'Nobody' })).toMatchObject({
      status: 400,
    });
    const confirmed = await admin.submit(page, `${page}/mergeClients`, { ...fields, _confirmed: 'yes' });
    expect(confirmed).toMatchObject({ status: 303, headers: { location: `/console${page}?done=yes` } });
    const { text } = await admin.get(page);
    expect(text).toContain(`href="/console/data/Client/${into.id}"`);
    expect(text).not.toContain('Merge into another client');
    expect((await admin.get(`/data/Client/${into.id}`)).text).toContain('79.00');
  });
}
