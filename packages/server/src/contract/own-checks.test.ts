import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { firmWithLetters } from '../../test/modules/engagements.ts';
import { sharedService } from '../../test/service.ts';
import { allOperations, bundleFiles, schemaOf } from './contract.ts';
import { declarationsOf } from './parameters.ts';

/** What the published contract rejects by keywords that the service checks by rules of its own (`x-own-check`). */
const bundle = JSON.parse(readFileSync(bundleFiles.json, 'utf8'));
const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addFormat('decimal', true);
ajv.addSchema(bundle, 'contract');

const service = await sharedService();
const { call } = service;
const { client, job, person, make, signerId, engagementIn } = await firmWithLetters(service);
const engagement = await engagementIn('SENT');
const clientId = await client({ name: 'Checked' });
const [jobId, staffId] = [await job({ clientId }), (await person()).id];
const dates = { billThroughDate: '2026-01-05', proposedInvoiceDate: '2026-01-05', dueDate: '2026-01-05' };
const work = { clientId, jobId, workDate: '2026-01-05' };
const { id: wipId } = await make('WipEntry', { ...work, wipType: 'ADJUSTMENT', amount: '10.00' });
const taxi = { type: 'ExpenseCode', systemRef: 'taxi', attributes: { code: 'TAXI', name: 'Taxi', isBillable: true } };
await call('POST', '/api/v1/codes', { records: [taxi] });
const hour = { staffId, jobId, workDate: '2026-01-05', hours: '1.00', isBillable: false };
const approver = await service.signIn({ roles: ['API_ADMIN', 'CLNT_R'] });
for (const [by, attributes] of [
  [service, { ...hour, status: 'SUBMITTED' }],
  [approver, { status: 'APPROVED' }],
] as const)
  await by.call('POST', '/api/v1/entries', { records: [{ type: 'TimeEntry', systemRef: 'approved', attributes }] });

type Request = readonly [operation: string, body: object];
interface Case {
  readonly rejected: readonly Request[];
  /** A request that differs from them only in what is rejected. */
  readonly accepted?: Request;
}

const subscribe = (more: object): Request => [
  'createEventSubscription',
  { deliveryUrl: 'https://hooks.example.com/in', entityType: 'Client', operations: ['CREATE'], ...more },
];
const define = (more: object): Request => [
  'createCustomRecordType',
  { name: 'Checked', fields: [{ name: 'a', ...more }] },
];
const writing =
  (operation: string, type: string, attributes: object) =>
  (more: object): Request => [
    operation,
    { records: [{ type, systemRef: 'checked', attributes: { ...attributes, ...more } }] },
  ];
const time = writing('upsertEntries', 'TimeEntry', hour);
const expense = writing('upsertEntries', 'ExpenseEntry', {
  ...{
    staffId,
    jobId,
    code: 'TAXI',
    expenseDate: '2026-01-05',
    cost: '9.00',
    billableAmount: '9.00',
    description: 'Taxi',
  },
});
const fee = writing('upsertRecords', 'Job', {
  name: 'Return',
  clientId,
  billingType: 'FIXED_FEE',
  feeAmount: '100.00',
});
const region = writing('upsertRecords', 'TaxRegion', {
  ...{ name: 'Region', code: 'US', ratePercent: '0', appliesToServices: false },
});
const contactInfo = writing('upsertRecords', 'ContactInfo', {
  ownerType: 'CLIENT',
  ownerId: clientId,
  kind: 'MAILING',
});
const line = { lineType: 'OTHER', description: 'Work', quantity: '1', unitAmount: '10.00', taxable: false };
const draft = writing('upsertRecords', 'DraftInvoice', { clientId, ...dates, lines: [line] });
const imported = writing('upsertRecords', 'Invoice', {
  ...{ clientId, pmsRef: 'I-1', invoiceDate: '2026-01-05', dueDate: '2026-01-05', lines: [line] },
});
const linesOf = (document: (more: object) => Request): Case => ({
  rejected: [
    { lineType: 'DISCOUNT' },
    { unitAmount: '-10.00' },
    { unitAmount: '-10.00', wipIds: [] },
    { lineType: 'INTEREST', wipIds: [wipId] },
    { lineType: 'DISCOUNT', unitAmount: '-10.00', wipIds: [wipId] },
  ].map((more) => document({ lines: [{ ...line, ...more }] })),
  accepted: document({ lines: [line, { ...line, lineType: 'DISCOUNT', unitAmount: '-10.00' }] }),
});
const wip = writing('upsertRecords', 'WipEntry', { ...work, wipType: 'FIXED_FEE' });
const sign = (more: object): Request => [
  'updateEngagement',
  { signers: [{ contactId: signerId, status: 'VIEWED', ...more }] },
];
const group = (more: object): Request => [
  'aggregateInvoices',
  { groupBy: [{ column: 'dueDate', ...more }], measures: { count: { function: 'COUNT' } } },
];

/** A value of each rule of custom fields. */
const rules = {
  ...{ minLength: 1, maxLength: 9, pattern: 'a', minimum: '1', maximum: '1', scale: 0, enumValues: ['a'] },
  ...{ referencedEntityType: 'Client', referenceKeys: ['id'] },
};
const required = { ENUM: ['enumValues'], MULTI_ENUM: ['enumValues'], REFERENCE: ['referencedEntityType'] };
/** For each type of a custom field, fields with a rule that `x-only-for` does not give the type. */
const rulesOfOtherTypes = (schemaOf('CustomFieldType').enum ?? []).flatMap((type) => {
  const needed = Object.entries(rules).filter(([rule]) => Object(required)[type]?.includes(rule));
  return Object.entries(rules).flatMap(([rule, value]) => {
    const types = schemaOf('CustomFieldInput').properties?.[rule]?.['x-only-for']?.type ?? [];
    return types.includes(type) ? [] : [{ type, ...Object.fromEntries(needed), [rule]: value }];
  });
});

/** By the schema, and the keyword: requests that it alone rejects. */
const cases: Readonly<Record<string, Case>> = {
  'EventSubscriptionCreateRequest not': {
    rejected: [
      { entityType: undefined },
      { entityTypes: ['Client'] },
      ...[{}, { filterExpression: 'mine' }, { filterExpression: null }].map((more) => ({
        entityType: 'Payment',
        ...more,
      })),
    ].map(subscribe),
  },
  'DeliveryUrl pattern': {
    rejected: ['http://hooks.example.com/in', 'https://me@hooks.example.com'].map((deliveryUrl) =>
      subscribe({ deliveryUrl }),
    ),
    accepted: subscribe({}),
  },
  'CustomFieldInput not': {
    rejected: [
      { type: 'REFERENCE' },
      { type: 'REFERENCE', referencedEntityType: null },
      { type: 'ENUM' },
      { type: 'MULTI_ENUM', enumValues: [] },
      ...rulesOfOtherTypes,
      { type: 'JSON', unique: true },
      { type: 'MULTI_ENUM', enumValues: ['a'], unique: true },
      { type: 'STRING', unique: true, defaultValue: 'a' },
      { type: 'STRING', nullable: false },
      { type: 'STRING', required: false, nullable: false, defaultValue: null },
    ].map(define),
    accepted: define({
      ...{ type: 'STRING', minLength: 1, maxLength: 9, pattern: 'a', minimum: null, scale: null, enumValues: [] },
      ...{
        required: false,
        nullable: false,
        unique: false,
        defaultValue: 'a',
        referencedEntityType: null,
        referenceKeys: [],
      },
    }),
  },
  'OnboardContact not': {
    rejected: [['onboardClient', { name: 'Harbor', address: {}, preferredContact: { firstName: 'Ada' } }]],
    accepted: ['onboardClient', { name: 'Harbor', address: {}, preferredContact: { lastName: 'Ada' } }],
  },
  'ContactUpsertEntry not': {
    rejected: [['upsertContacts', { contacts: [{ firstName: 'Ada' }] }]],
    accepted: ['upsertContacts', { contacts: [{ lastName: 'Ada' }] }],
  },
  'TimeEntryFields.hours pattern': {
    rejected: ['0.00', '24.10', '-24.01', '100.00'].map((hours) => time({ hours })),
    accepted: time({}),
  },
  'TimeEntryFields not': {
    rejected: [
      { reversesSystemRef: 'approved' },
      { reversesSystemRef: null, hours: '-1.00' },
      { isBillable: true, jobId: null },
      { status: 'DRAFT', rejectionReason: 'Late.' },
    ].map(time),
    accepted: time({ reversesSystemRef: 'approved', hours: '-1.00', status: 'DRAFT', rejectionReason: null }),
  },
  'ExpenseEntryFields not': {
    rejected: [expense({ status: 'SUBMITTED', rejectionReason: 'Late.' })],
    accepted: expense({ status: 'SUBMITTED', rejectionReason: null }),
  },
  'JobFields not': {
    rejected: [fee({ feeAmount: null }), fee({ billingType: 'TIME_AND_MATERIALS' })],
    accepted: fee({}),
  },
  'AddressInput not': {
    rejected: [
      { country: 'US', state: 'ZZ' },
      { country: 'CA', state: 'OR' },
    ].map((address) => contactInfo({ address })),
    accepted: contactInfo({ address: { country: 'CA', state: 'qc' } }),
  },
  'TaxRegionFields not': {
    rejected: [region({ country: 'US', state: 'QC' })],
    accepted: region({ country: 'US', state: 'or' }),
  },
  'DraftInvoiceFields not': {
    rejected: [draft({ status: 'DRAFT', rejectionReason: 'Wrong.' })],
    accepted: draft({ status: 'DRAFT', rejectionReason: null }),
  },
  'InvoiceFields not': {
    rejected: [
      imported({ status: 'POSTED', voidReason: 'Wrong.' }),
      imported({ status: 'PENDING', writeOffReason: 'Wrong.' }),
    ],
    accepted: imported({ status: 'PENDING', writeOffReason: null }),
  },
  'InvoiceLineInput not': linesOf(draft),
  'ImportedInvoiceLineInput not': linesOf(imported),
  'WipEntryFields not': { rejected: [wip({ amount: '-0.01' })], accepted: wip({ amount: '0.00' }) },
  'EngagementSignerEntry not': {
    rejected: [sign({ signedAt: '2026-01-05T10:00:00.000Z' })],
    accepted: sign({ signedAt: null }),
  },
  'InvoiceGroupByDay not': {
    rejected: [group({ by: 'MONTH', boundaries: [0], daysBefore: '2026-01-05' })],
    accepted: group({ boundaries: [0], daysBefore: '2026-01-05' }),
  },
};

interface Described {
  readonly 'x-own-check'?: readonly string[];
  readonly properties?: Readonly<Record<string, Described>>;
}

test('these are all such keywords of what callers write', () => {
  const found: string[] = [];
  const visit = (place: string, schema: Described) => {
    for (const keyword of schema['x-own-check'] ?? []) found.push(`${place} ${keyword}`);
    for (const [name, property] of Object.entries(schema.properties ?? {})) visit(`${place}.${name}`, property);
  };
  for (const [name, schema] of Object.entries<Described>(bundle.components.schemas)) visit(name, schema);
  // Those of aggregates are the same for all types.
  const written = found.filter((place) => !/^TimeEntry(Attributes|EventData)?\.|(?<!^Invoice)GroupByDay /.test(place));
  expect(written.toSorted()).toEqual(Object.keys(cases).toSorted());
});

const send = async ([id, body]: Request) => {
  const operation = allOperations.find((one) => one.id === id);
  if (operation === undefined) throw new Error(id);
  const $ref = declarationsOf(operation)[1]?.requestBody?.content['application/json']?.schema.$ref;
  const path = operation.path.replace('{engagementId}', engagement.id);
  const { status, body: result } = await call<Result>(operation.method, path, body, {
    'Dry-Run': id === 'aggregateInvoices' ? null : 'true',
  });
  const [item] = result.records ?? result.failed ?? [];
  return {
    isValid: ajv.validate({ $ref: `contract${$ref}` }, body),
    status,
    code: item?.error?.code ?? item?.code,
    result,
  };
};

interface Result {
  readonly records?: readonly Failure[];
  readonly failed?: readonly Failure[];
  readonly errors?: readonly object[];
}
interface Failure {
  readonly code?: string;
  readonly error?: { readonly code: string } | null;
}

test.each(Object.entries(cases))(
  '%s › the contract and the service reject it',
  async (_place, { rejected, accepted }) => {
    for (const request of rejected) {
      const sent = await send(request);
      const isOfItem = sent.status === 200;
      expect(sent, JSON.stringify(request)).toMatchObject(
        isOfItem
          ? { isValid: false, code: 'VALIDATION_ERROR' }
          : {
              isValid: false,
              status: 400,
              result: { errors: expect.arrayContaining([expect.objectContaining({ in: 'body' })]) },
            },
      );
    }
    if (accepted === undefined) return;
    const sent = await send(accepted);
    expect(sent, JSON.stringify(accepted)).toMatchObject({
      isValid: true,
      status: expect.toBeOneOf([200, 201]),
      code: undefined,
    });
  },
);
