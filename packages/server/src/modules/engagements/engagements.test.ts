import { describe, expect, test } from 'vitest';
import { callsOf, type Engagement, firmWithLetters } from '../../../test/modules/engagements.ts';
import { atOnce, failureOf, unknownId } from '../../../test/modules/staff.ts';
import { sampleOf } from '../../../test/nightly.ts';
import { sharedService } from '../../../test/service.ts';
import { schemaOf } from '../../contract/contract.ts';

const service = await sharedService();
const { signIn, addTenant } = service;
const firm = await firmWithLetters(service);
const {
  calls,
  change,
  client,
  clientId,
  create,
  documents,
  engagementIn,
  job,
  make,
  partnerId,
  signer,
  signerId,
  trace,
} = firm;
const stranger = callsOf(await signIn({ roles: ['API_ADMIN'], tenant: await addTenant('elsewhere') }));
const minimal = { fiscalYear: 2026, partnerId, clientId };
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

describe('createEngagement', () => {
  test('creates an engagement and its letter, both drafts', async () => {
    const response = await calls.create({
      ...minimal,
      systemRef: 'crm-eng-1',
      type: 'TAX',
      startDate: '2026-09-08',
      endDate: '2027-03-31',
      feeAmount: '3320.00',
      feeType: 'TIME_AND_MATERIALS',
      staff: [{ staffId: partnerId, role: 'REVIEWER' }],
      signerContactIds: [signerId],
    });
    expect(response.status).toBe(201);
    const { body } = response;
    expect(response.headers.get('location')).toBe(`/gql/v1/engagement/${body.id}`);
    expect(body).toMatchObject({
      systemRef: 'crm-eng-1',
      sysRefs: [{ ref: 'crm-eng-1' }],
      engagementRef: expect.stringMatching(/^E-\d{4}-\d{4}$/),
      name: '2026 tax engagement',
      status: 'DRAFT',
      currency: 'EUR',
      feeAmount: '3320.00',
      staff: [{ staffId: partnerId, role: 'REVIEWER' }],
      signers: [{ contactId: signerId, status: 'PENDING', signedAt: null }],
      jobs: [],
      version: 1,
    });
    expect((await calls.get(body.id)).body).toEqual(body);
    expect(await documents(body.id)).toMatchObject([
      {
        engagementId: body.id,
        documentTypeName: 'Engagement letter',
        fileName: `Engagement letter ${body.engagementRef}.pdf`,
        fileId: null,
        mimeType: 'application/pdf',
        sizeBytes: 0,
        status: 'DRAFT',
        versionNumber: 1,
      },
    ]);
    const { events } = await trace(body.id);
    expect(events).toMatchObject([{ entityType: 'Engagement', operation: 'CREATE' }]);
  });

  test('identifies the client by its reference, and numbers engagements in order', async () => {
    const { clientRef } = (await service.call<{ clientRef: string }>('GET', `/gql/v1/client/${clientId}`)).body;
    const first = await create({ clientRef });
    const rejected = calls.create({ ...minimal, jobIds: [unknownId] });
    expect(await failureOf(rejected)).toEqual([400, 'REFERENCE_NOT_FOUND', '/jobIds/0']);
    const second = await create();
    expect(first).toMatchObject({ clientId, type: 'OTHER', name: '2026 engagement' });
    const number = ({ engagementRef }: Engagement) => Number(engagementRef.slice(-4));
    expect(number(second)).toBeGreaterThan(number(first));
  });

  test('links jobs of the client', async () => {
    const jobId = await job({ clientId });
    const row = await create({ jobIds: [jobId] });
    expect(row.jobs).toMatchObject([{ id: jobId, clientId, status: 'PLANNED', isActive: true }]);
    expect((await service.call('GET', `/gql/v1/job/${jobId}`)).body).toMatchObject({
      engagementId: row.id,
      version: 2,
    });
    const again = calls.create({ ...minimal, jobIds: [jobId] });
    expect(await failureOf(again)).toEqual([409, 'CONFLICT', '/jobIds/0']);
  });

  test.each([
    ['both names of a client', { clientRef: 'C-1' }, 400, 'VALIDATION_ERROR'],
    ['an unknown client', { clientId: unknownId }, 400, 'REFERENCE_NOT_FOUND', '/clientId'],
    ['an unknown clientRef', { clientId: undefined, clientRef: 'C-09999' }, 404, 'NOT_FOUND', '/clientRef'],
    ['an unknown partner', { partnerId: unknownId }, 400, 'REFERENCE_NOT_FOUND', '/partnerId'],
    [
      'unknown staff',
      { staff: [{ staffId: unknownId, role: 'OTHER' }] },
      400,
      'REFERENCE_NOT_FOUND',
      '/staff/0/staffId',
    ],
    ['an unknown signer', { signerContactIds: [unknownId] }, 400, 'REFERENCE_NOT_FOUND', '/signerContactIds/0'],
    [
      'an end before the start',
      { startDate: '2026-02-01', endDate: '2026-01-31' },
      400,
      'VALIDATION_ERROR',
      '/endDate',
    ],
    ['a year out of range', { fiscalYear: 1999 }, 400, 'VALIDATION_ERROR', '/fiscalYear'],
    ['a status', { status: 'SENT' }, 400, 'VALIDATION_ERROR', '/status'],
  ])('rejects %s', async (_what, fields, status, code, ...pointers) => {
    const failed = await failureOf(calls.create({ ...minimal, ...fields }));
    expect(failed.slice(0, 2)).toEqual([status, code]);
    if (pointers.length > 0) expect(failed.slice(2)).toEqual(pointers);
  });

  test('rejects jobs and signers of another client, and a duplicate systemRef', async () => {
    const other = await client();
    const jobIds = [await job({ clientId: other })];
    expect(await failureOf(calls.create({ ...minimal, jobIds }))).toEqual([400, 'VALIDATION_ERROR', '/jobIds/0']);
    const signerContactIds = [signerId, await signer(other)];
    const wrongSigner = calls.create({ ...minimal, signerContactIds });
    expect(await failureOf(wrongSigner)).toEqual([400, 'VALIDATION_ERROR', '/signerContactIds/1']);
    await create({ systemRef: 'taken' });
    const taken = calls.create({ ...minimal, systemRef: 'taken' });
    expect(await failureOf(taken)).toEqual([409, 'DUPLICATE_REF', '/systemRef']);
  });

  test('creates one engagement per Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': 'engagement-1' };
    const first = await calls.create(minimal, headers);
    const second = await calls.create(minimal, headers);
    expect(second.body.id).toBe(first.body.id);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
  });

  test('requires ENGMT_C', async () => {
    const writer = callsOf(await signIn({ roles: ['ENGMT_W', 'ENGMT_R'] }));
    expect(await failureOf(writer.create(minimal))).toEqual([403, 'FORBIDDEN']);
    const { id } = await create();
    const creator = callsOf(await signIn({ roles: ['ENGMT_C'] }));
    expect((await creator.create(minimal)).status).toBe(201);
    expect(await failureOf(creator.update(id, { name: 'x' }))).toEqual([403, 'FORBIDDEN']);
    expect(await failureOf(creator.get(id))).toEqual([403, 'FORBIDDEN']);
  });
});

describe('updateEngagement', () => {
  test('sends the letter, records signatures and executes it', async () => {
    const prospect = await client({ status: 'PROSPECT' });
    const [first, second] = [await signer(prospect), await signer(prospect)];
    const { id } = await create({ clientId: prospect, signerContactIds: [first, second] });
    const expiresAt = inAnHour();
    const sent = await change(id, { status: 'SENT', expiresAt });
    expect(sent).toMatchObject({ status: 'SENT', expiresAt, version: 2, viewedAt: null });
    expect(sent.sentAt).toBe(sent.updatedAt);
    const viewed = await change(id, { signers: [{ contactId: first, status: 'VIEWED' }, { contactId: second }] });
    expect(viewed).toMatchObject({
      viewedAt: viewed.updatedAt,
      signers: [{ status: 'VIEWED' }, { status: 'PENDING' }],
    });
    const signedAt = '2026-09-10T21:12:30.000Z';
    const half = await change(id, {
      signers: [{ contactId: first, status: 'SIGNED', signedAt: '2026-09-10T23:12:30+02:00' }, { contactId: second }],
    });
    expect(half).toMatchObject({ status: 'SENT', signers: [{ status: 'SIGNED', signedAt }, { signedAt: null }] });
    const executed = await change(id, { signers: [{ contactId: first }, { contactId: second, status: 'SIGNED' }] });
    expect(executed).toMatchObject({ status: 'EXECUTED', executedAt: executed.updatedAt, viewedAt: viewed.viewedAt });
    expect(executed.signers[1]).toMatchObject({ status: 'SIGNED', signedAt: executed.updatedAt });
    expect((await service.call('GET', `/gql/v1/client/${prospect}`)).body).toMatchObject({ status: 'ACTIVE' });
    expect(await documents(id)).toMatchObject([
      { documentTypeName: 'Engagement letter', status: 'SIGNED', signedAt: executed.executedAt, versionNumber: 1 },
      { documentTypeName: 'Signed copy', status: 'SIGNED', signedAt: executed.executedAt, versionNumber: 1 },
    ]);
    const { events } = await trace(id);
    expect(events.slice(1).map(({ changedFields }) => changedFields.includes('status'))).toEqual([
      true,
      false,
      false,
      true,
    ]);
    expect((await trace(prospect)).events.at(-1)).toMatchObject({ operation: 'UPDATE', changedFields: ['status'] });
  });

  const signedAt = '2026-01-10T21:12:30.000Z';
  test.each<[string, Engagement['status'], (signerId: string) => object]>([
    ['new terms and signers', 'DRAFT', (contactId) => ({ feeAmount: '12.00', signers: [{ contactId }] })],
    ['new terms with which it is sent', 'DRAFT', () => ({ feeAmount: '12.00', status: 'SENT', expiresAt: inAnHour() })],
    ['new terms with which it is recalled', 'SENT', () => ({ feeAmount: '12.00', status: 'DRAFT' })],
    ['a signer who has viewed it', 'SENT', (contactId) => ({ signers: [{ contactId, status: 'VIEWED' }] })],
    ['the last signature', 'SENT', (contactId) => ({ signers: [{ contactId, status: 'SIGNED' }] })],
    ['its time, too', 'SENT', (contactId) => ({ signers: [{ contactId, status: 'SIGNED', signedAt }] })],
    [
      'a signer who declines',
      'SENT',
      (contactId) => ({ signers: [{ contactId, status: 'DECLINED' }], declineReason: 'Price' }),
    ],
    ['the start of the work', 'EXECUTED', () => ({ status: 'ACTIVE' })],
    ['the end of the work, and another name', 'ACTIVE', () => ({ status: 'COMPLETED', name: 'Done' })],
    ['the end of its letter', 'DRAFT', () => ({ status: 'CANCELLED' })],
    ['other jobs and staff', 'EXECUTED', () => ({ jobIds: [], staff: [{ staffId: partnerId, role: 'OTHER' }] })],
  ])('a repeated request changes nothing: %s', async (_what, status, bodyOf) => {
    const { id, version } = await engagementIn(status, { jobIds: [await job({ clientId })] });
    const body = bodyOf(signerId);
    const first = await calls.update(id, body);
    expect([first.status, first.body.version]).toEqual([200, version + 1]);
    const written = await documents(id);
    const again = await calls.update(id, body);
    expect([again.status, again.body, await documents(id)]).toEqual([200, first.body, written]);
  });

  test('a signer who declines ends the process', async () => {
    const { id } = await engagementIn('SENT');
    const declined = await change(id, {
      signers: [{ contactId: signerId, status: 'DECLINED' }],
      declineReason: 'Too expensive',
    });
    expect(declined).toMatchObject({ status: 'DECLINED', declineReason: 'Too expensive', executedAt: null });
    expect(await failureOf(calls.update(id, { status: 'DRAFT' }))).toEqual([409, 'INVALID_STATE', '/status']);
  });

  test('a recalled letter is a draft again, and can be changed in the same request', async () => {
    const { id } = await engagementIn('SENT');
    await change(id, { signers: [{ contactId: signerId, status: 'VIEWED' }] });
    const recalled = await change(id, { status: 'DRAFT', feeAmount: '10.00' });
    expect(recalled).toMatchObject({
      status: 'DRAFT',
      feeAmount: '10.00',
      sentAt: null,
      viewedAt: null,
      signers: [{ status: 'PENDING', signedAt: null }],
    });
    expect(await documents(id)).toMatchObject([{ status: 'DRAFT' }]);
    expect(await change(id, { status: 'SENT' })).toMatchObject({ status: 'SENT' });
  });

  test.each([
    ['feeAmount', { feeAmount: '1.00' }],
    ['startDate', { startDate: '2026-01-01' }],
    ['type', { type: 'AUDIT' }],
    ['fiscalYear', { fiscalYear: 2030 }],
    ['templateName', { templateName: 'Other' }],
    ['signers', { signers: [] }],
  ])('%s is fixed once the letter is sent', async (field, body) => {
    const { id } = await engagementIn('SENT');
    expect(await failureOf(calls.update(id, body))).toEqual([409, 'INVALID_STATE', `/${field}`]);
    const executed = await engagementIn('EXECUTED');
    expect(await failureOf(calls.update(executed.id, body))).toEqual([409, 'INVALID_STATE', `/${field}`]);
  });

  test('says how a term of a letter that is sent can change', async () => {
    const detailIn = async (status: Parameters<typeof engagementIn>[0]) => {
      const { body } = await calls.update((await engagementIn(status)).id, { feeAmount: '1.00' });
      return Reflect.get(body, 'detail');
    };
    const fixed = 'feeAmount can change only while the status is DRAFT.';
    expect(await detailIn('SENT')).toBe(`${fixed} First set the status to DRAFT.`);
    expect(await detailIn('EXECUTED')).toBe(fixed);
  });

  test('other fields can still change, and sending the same terms changes nothing', async () => {
    const { id, feeAmount, version } = await engagementIn('SENT', { feeAmount: '5.00' });
    expect(await change(id, { feeAmount })).toMatchObject({ version });
    expect(await change(id, { name: 'Other', managerId: partnerId })).toMatchObject({
      name: 'Other',
      managerId: partnerId,
    });
  });

  test.each([
    ['a letter without a signer', {}, { status: 'SENT' }, [409, 'INVALID_STATE', '/status']],
    ['an expiry in the past', {}, { expiresAt: '2020-01-01T00:00:00Z' }, [400, 'VALIDATION_ERROR', '/expiresAt']],
    [
      'a signature before it is sent',
      { signed: true },
      { signers: [{ status: 'SIGNED' }] },
      [409, 'INVALID_STATE', '/signers/0/status'],
    ],
    ['an empty body', {}, {}, [400, 'VALIDATION_ERROR', '']],
    ['an unknown field', {}, { color: 'red' }, [400, 'VALIDATION_ERROR', '/color']],
    ['null where a value is needed', {}, { name: null }, [400, 'VALIDATION_ERROR', '/name']],
    ['an unknown job', {}, { jobIds: [unknownId] }, [400, 'REFERENCE_NOT_FOUND', '/jobIds/0']],
    ['an unknown manager', {}, { managerId: unknownId }, [400, 'REFERENCE_NOT_FOUND', '/managerId']],
  ])('rejects %s', async (_what, { signed = false }: { signed?: boolean }, body: object, expected) => {
    const { id } = await create(signed ? { signerContactIds: [signerId] } : {});
    const filled = 'signers' in body ? { signers: [{ contactId: signerId, status: 'SIGNED' }] } : body;
    expect(await failureOf(calls.update(id, filled))).toEqual(expected);
    expect((await calls.get(id)).body.version).toBe(1);
  });

  test('rejects invalid signers', async () => {
    const { id } = await engagementIn('SENT');
    const failed = (signers: readonly object[], of = id) => failureOf(calls.update(of, { signers }));
    const mine = { contactId: signerId };
    const late = new Date(Date.now() + 60_000).toISOString();
    expect(await failed([{ ...mine, status: 'SIGNED', signedAt: late }])).toEqual([
      400,
      'VALIDATION_ERROR',
      '/signers/0/signedAt',
    ]);
    expect(await failed([{ ...mine, signedAt: '2026-01-01T00:00:00Z' }])).toEqual([
      400,
      'VALIDATION_ERROR',
      '/signers/0/signedAt',
    ]);
    expect(await failed([mine, { contactId: await signer(clientId) }])).toEqual([409, 'INVALID_STATE', '/signers']);
    await change(id, { signers: [{ ...mine, status: 'VIEWED' }] });
    expect(await failed([{ ...mine, status: 'PENDING' }])).toEqual([409, 'INVALID_STATE', '/signers/0/status']);
    const draft = await create();
    expect(await failed([mine, mine], draft.id)).toEqual([400, 'VALIDATION_ERROR', '/signers/1/contactId']);
    expect(await failed([{ contactId: unknownId }], draft.id)).toEqual([
      400,
      'REFERENCE_NOT_FOUND',
      '/signers/0/contactId',
    ]);
    expect(await failed([{ ...mine, status: 'VIEWED' }], draft.id)).toEqual([
      409,
      'INVALID_STATE',
      '/signers/0/status',
    ]);
  });

  test('replaces staff, signers and jobs as whole lists; a link that ends is kept', async () => {
    const [first, second] = [await job({ clientId }), await job({ clientId })];
    const { id } = await create({ jobIds: [first], staff: [{ staffId: partnerId, role: 'OTHER' }] });
    const row = await change(id, { jobIds: [second], staff: [], signers: [{ contactId: signerId }] });
    expect(row).toMatchObject({ staff: [], signers: [{ contactId: signerId, status: 'PENDING' }] });
    const links = ({ jobs }: Engagement) => jobs.map((link) => [link.id, link.isActive]);
    expect(links(row)).toEqual([
      [first, false],
      [second, true],
    ]);
    expect(links(await change(id, { jobIds: [first, second] }))).toEqual([
      [first, true],
      [second, true],
    ]);
    expect(links(await change(id, { jobIds: [] }))).toEqual([
      [first, false],
      [second, false],
    ]);
    expect((await service.call('GET', `/gql/v1/job/${first}`)).body).toMatchObject({ engagementId: null });
  });

  test('a new client requires signers and jobs of its own', async () => {
    const other = await client();
    const { id } = await create({ signerContactIds: [signerId], jobIds: [await job({ clientId })] });
    expect(await failureOf(calls.update(id, { clientId: other }))).toEqual([400, 'VALIDATION_ERROR', '/clientId']);
    const signers = [{ contactId: await signer(other) }];
    expect(await failureOf(calls.update(id, { clientId: other, signers }))).toEqual([
      400,
      'VALIDATION_ERROR',
      '/clientId',
    ]);
    const moved = await change(id, { clientId: other, signers, jobIds: [await job({ clientId: other })] });
    expect(moved).toMatchObject({ clientId: other, jobs: [{ isActive: false }, { isActive: true }] });
  });

  test('rejects a duplicate reference', async () => {
    const [one, other] = [await create(), await create()];
    const taken = calls.update(one.id, { engagementRef: other.engagementRef });
    expect(await failureOf(taken)).toEqual([409, 'DUPLICATE_REF', '/engagementRef']);
  });

  test('returns not found for unknown IDs and those of another tenant', async () => {
    const { id } = await create();
    expect(await failureOf(calls.update(unknownId, { name: 'x' }))).toEqual([404, 'NOT_FOUND']);
    expect(await failureOf(stranger.update(id, { name: 'x' }))).toEqual([404, 'NOT_FOUND']);
    expect(await failureOf(stranger.get(id))).toEqual([404, 'NOT_FOUND']);
    expect(await failureOf(stranger.documents(id))).toEqual([404, 'NOT_FOUND']);
  });
});

describe('the statuses of an engagement', () => {
  const { enum: statuses = [], 'x-state-machine': machine } = schemaOf('EngagementStatus');
  const open = (machine?.transitions ?? []).filter(
    ({ operations, events }) => operations?.includes('updateEngagement') ?? events === undefined,
  );
  const pairs = statuses
    .filter((from) => from !== 'EXPIRED')
    .flatMap((from) => statuses.map((to) => [from, to] as const))
    .filter(([from, to]) => from !== to);
  const isOpen = ([from, to]: readonly [string, string]) =>
    open.some((transition) => transition.from.includes(from) && transition.to === to);
  const { open: accepted = [], closed = [] } = Object.groupBy(pairs, (pair) => (isOpen(pair) ? 'open' : 'closed'));

  // By day every transition, and every third one that is rejected.
  test.each([...accepted, ...sampleOf(closed, 3)])('%s to %s', async (from, to) => {
    const { id } = await engagementIn(from as Engagement['status']);
    const { status, body } = await calls.update(id, { status: to });
    expect([status, (body as { status?: unknown }).status]).toEqual(isOpen([from, to]) ? [200, to] : [409, 409]);
  });

  test('the first job that starts makes an executed engagement active, and the last one that closes completes it', async () => {
    const [first, second, cancelled] = [await job({ clientId }), await job({ clientId }), await job({ clientId })];
    const { id } = await engagementIn('EXECUTED', { jobIds: [first, second, cancelled] });
    const move = async (jobId: string, ...statuses: string[]) => {
      for (const status of statuses) {
        const { body } = await service.call<{ records: { status: string }[] }>('PUT', '/api/v1/records', {
          records: [{ type: 'Job', systemRef: jobId, attributes: { status } }],
        });
        expect(body.records).toMatchObject([{ status: 'UPDATED' }]);
      }
      return (await calls.get(id)).body;
    };
    expect(await move(first, 'READY')).toMatchObject({ status: 'EXECUTED' });
    expect(await move(first, 'IN_PROGRESS')).toMatchObject({
      status: 'ACTIVE',
      jobs: [{ status: 'IN_PROGRESS' }, {}, {}],
    });
    expect(await move(first, 'IN_REVIEW', 'COMPLETED', 'CLOSED')).toMatchObject({ status: 'ACTIVE' });
    expect(await move(cancelled, 'CANCELLED')).toMatchObject({ status: 'ACTIVE' });
    const done = await move(second, 'READY', 'IN_PROGRESS', 'IN_REVIEW', 'COMPLETED', 'CLOSED');
    expect(done).toMatchObject({ status: 'COMPLETED', completedAt: done.updatedAt });
  });

  test.each([
    ['cancelled', 'PUT'],
    ['deleted', 'DELETE'],
  ] as const)('the engagement is complete when its last open job is %s', async (_, method) => {
    const [closed, other] = [await job({ clientId }), await job({ clientId })];
    const { id } = await engagementIn('EXECUTED', { jobIds: [closed, other] });
    const steps = ['READY', 'IN_PROGRESS', 'IN_REVIEW', 'COMPLETED', 'CLOSED'];
    const records = steps.map((status) => ({ type: 'Job', systemRef: closed, attributes: { status } }));
    await service.call('PUT', '/api/v1/records', { records });
    expect((await calls.get(id)).body).toMatchObject({ status: 'ACTIVE' });
    const last = { type: 'Job', systemRef: other, ...(method === 'PUT' && { attributes: { status: 'CANCELLED' } }) };
    await service.call(method, '/api/v1/records', { records: [last] });
    expect((await calls.get(id)).body).toMatchObject({ status: 'COMPLETED' });
  });

  test('a letter that is signed after its job has started is active at once', async () => {
    const jobId = await job({ clientId, status: 'PLANNED' });
    const { id } = await engagementIn('SENT', { jobIds: [jobId] });
    for (const status of ['READY', 'IN_PROGRESS'])
      await service.call('PUT', '/api/v1/records', {
        records: [{ type: 'Job', systemRef: jobId, attributes: { status } }],
      });
    expect(await change(id, { signers: [{ contactId: signerId, status: 'SIGNED' }] })).toMatchObject({
      status: 'ACTIVE',
    });
  });
});

describe('jobs of an engagement', () => {
  test('a job that several concurrent requests link has one engagement', async () => {
    const jobId = await job({ clientId });
    const responses = await atOnce(6, () => calls.create({ ...minimal, jobIds: [jobId] }));
    expect(responses.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409, 409, 409]);
    const rows = await atOnce(4, () => create());
    const updates = await atOnce(4, (index) => calls.update(rows[index]?.id ?? '', { jobIds: [jobId] }));
    expect(updates.map(({ status }) => status)).toEqual([409, 409, 409, 409]);
  });

  test('concurrent signatures are all stored', async () => {
    const contacts = [await signer(clientId), await signer(clientId), await signer(clientId)];
    const { id } = await create({ signerContactIds: contacts });
    await change(id, { status: 'SENT' });
    const responses = await atOnce(3, (index) =>
      calls.update(id, {
        signers: contacts.map((contactId, place) => ({ contactId, ...(place === index ? { status: 'SIGNED' } : {}) })),
      }),
    );
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await calls.get(id)).body).toMatchObject({ status: 'EXECUTED' });
    expect(await documents(id)).toHaveLength(2);
  });

  test('createProjectsFromTemplate links the jobs that it creates', async () => {
    const jobTemplateId = await firm.template();
    const { id } = await create();
    const body = { clientId, engagementId: id, jobTemplates: [{ jobTemplateId }, { jobTemplateId }] };
    const { status, body: created } = await service.call<{ jobs: { id: string }[] }>(
      'POST',
      '/api/v1/projects/create_from_template',
      body,
    );
    expect(status).toBe(200);
    const { jobs } = (await calls.get(id)).body;
    expect(jobs.map((link) => [link.id, link.isActive])).toEqual(created.jobs.map((one) => [one.id, true]));
    const other = { ...body, clientId: await client() };
    const failed = failureOf(service.call('POST', '/api/v1/projects/create_from_template', other));
    expect(await failed).toEqual([400, 'VALIDATION_ERROR', '/engagementId']);
  });

  test('the record of a job moves it from one engagement to another of its client', async () => {
    const jobId = await job({ clientId });
    const [one, other] = [await create({ jobIds: [jobId] }), await create()];
    const move = async (engagementId: string) => {
      const records = [{ type: 'Job', systemRef: jobId, attributes: { engagementId } }];
      return (await service.call<{ records: unknown[] }>('PUT', '/api/v1/records', { records })).body.records;
    };
    expect(await move(other.id)).toMatchObject([{ status: 'UPDATED' }]);
    expect((await calls.get(one.id)).body.jobs).toMatchObject([{ id: jobId, isActive: false }]);
    expect((await calls.get(other.id)).body.jobs).toMatchObject([{ id: jobId, isActive: true }]);
    const stranger = await client();
    const foreign = await create({ clientId: stranger });
    expect(await move(foreign.id)).toMatchObject([{ status: 'FAILED', error: { code: 'VALIDATION_ERROR' } }]);
    expect(await move(unknownId)).toMatchObject([{ status: 'FAILED', error: { code: 'REFERENCE_NOT_FOUND' } }]);
  });
});

describe('the record of an engagement', () => {
  const remove = async (systemRef: string) =>
    (
      await service.call<{ records: unknown[] }>('DELETE', '/api/v1/records', {
        records: [{ type: 'Engagement', systemRef }],
      })
    ).body.records;

  test('deletes a draft, and its links', async () => {
    const jobId = await job({ clientId });
    const { id } = await create({ jobIds: [jobId] });
    expect(await remove(id)).toMatchObject([{ status: 'DELETED' }]);
    expect((await calls.get(id)).body).toMatchObject({ active: false, status: 'DRAFT', jobs: [{ isActive: false }] });
    expect((await service.call('GET', `/gql/v1/job/${jobId}`)).body).toMatchObject({ engagementId: null });
    expect(await failureOf(calls.update(id, { name: 'x' }))).toEqual([409, 'INVALID_STATE']);
    expect((await trace(id)).events.at(-1)).toMatchObject({ operation: 'DELETE' });
  });

  test('rejects deleting a letter that was sent', async () => {
    const { id } = await engagementIn('SENT');
    expect(await remove(id)).toMatchObject([{ status: 'FAILED', error: { code: 'INVALID_STATE' } }]);
  });
});

describe('lists and searches', () => {
  test('find engagements by their columns, their client and their jobs', async () => {
    const owner = await client({ name: 'Larkspur Foundation' });
    const jobId = await job({ clientId: owner, name: 'Audit fieldwork' });
    const one = await create({
      clientId: owner,
      fiscalYear: 2031,
      type: 'AUDIT',
      feeAmount: '9000.00',
      jobIds: [jobId],
    });
    const other = await create({ clientId: owner, fiscalYear: 2032, name: 'Next year' });
    const found = async (where: object) => {
      const { status, body } = await calls.search({
        where: { clientId: { _eq: owner }, ...where },
        orderBy: [{ fiscalYear: 'desc' }],
      });
      expect(status).toBe(200);
      return body.data.map(({ id }) => id);
    };
    expect(await found({})).toEqual([other.id, one.id]);
    expect(await found({ type: { _eq: 'AUDIT' } })).toEqual([one.id]);
    expect(await found({ name: { _ilike: '%NEXT%' } })).toEqual([other.id]);
    expect(await found({ feeAmount: { _gte: '9000.00' } })).toEqual([one.id]);
    expect(await found({ client: { name: { _like: 'Larkspur%' } } })).toEqual([other.id, one.id]);
    expect(await found({ jobs: { name: { _ilike: '%fieldwork' } } })).toEqual([one.id]);
    await change(one.id, { jobIds: [] });
    expect(await found({ jobs: { name: { _ilike: '%fieldwork' } } })).toEqual([]);
    const listed = await calls.list({ pageSize: 1000, includeTotal: true });
    expect(listed.body.data.map(({ id }) => id)).toContain(one.id);
    expect(listed.body.total).toBe(listed.body.data.length);
    expect((await stranger.list()).body.data).toEqual([]);
  });

  test('list the documents of an engagement page by page', async () => {
    const { id } = await engagementIn('EXECUTED');
    const first = await calls.documents(id, '?pageSize=1&includeTotal=true');
    expect(first.body).toMatchObject({ data: [{ documentTypeName: 'Engagement letter' }], hasMore: true, total: 2 });
    const { nextCursor } = first.body as unknown as { nextCursor: string };
    const second = await calls.documents(id, `?pageSize=1&cursor=${nextCursor}`);
    expect(second.body).toMatchObject({ data: [{ documentTypeName: 'Signed copy' }], hasMore: false });
    expect(await failureOf(calls.documents(unknownId))).toEqual([404, 'NOT_FOUND']);
    const reader = callsOf(await signIn({ roles: ['FILE_R'] }));
    expect(await failureOf(reader.documents(id))).toEqual([403, 'FORBIDDEN']);
  });
});

test('an inactive contact or link cannot sign', async () => {
  const contactId = await signer(clientId);
  const { body } = await service.call<{ data: { id: string; systemRef: string; contactId: string }[] }>(
    'POST',
    '/gql/v1/contact_clients',
    { pageSize: 1000 },
  );
  const link = body.data.find((one) => one.contactId === contactId);
  await service.call('DELETE', '/api/v1/records', { records: [{ type: 'ContactClient', systemRef: link?.systemRef }] });
  const failed = failureOf(calls.create({ ...minimal, signerContactIds: [contactId] }));
  expect(await failed).toEqual([400, 'VALIDATION_ERROR', '/signerContactIds/0']);
  const { id } = await make('Contact', { lastName: 'Gone' });
  await service.call('DELETE', '/api/v1/records', { records: [{ type: 'Contact', systemRef: id }] });
  const gone = failureOf(calls.create({ ...minimal, signerContactIds: [id] }));
  expect(await gone).toEqual([400, 'REFERENCE_NOT_FOUND', '/signerContactIds/0']);
});
