import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { testService } from '../../test/service.ts';
import { allOperations, bundleFiles } from './contract.ts';
import { declarationsOf } from './parameters.ts';

/** What the published contract rejects by keywords that the service checks by rules of its own (`x-own-check`). */
const bundle = JSON.parse(readFileSync(bundleFiles.json, 'utf8'));
const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addFormat('decimal', true);
ajv.addSchema(bundle, 'contract');

const { call } = await testService();
const subscription = { deliveryUrl: 'https://hooks.example.com/in', entityType: 'Payment', operations: ['CREATE'] };
const field = (more: object) => ({ name: 'Checked', fields: [{ name: 'a', ...more }] });
const entry = (hours: string) => ({ records: [{ type: 'TimeEntry', systemRef: 'a', attributes: { hours } }] });

/** By the schema, and the keyword: requests that it alone rejects. */
const cases: Readonly<Record<string, readonly (readonly [operation: string, body: object])[]>> = {
  'EventSubscriptionCreateRequest not': [
    ['createEventSubscription', subscription],
    ['createEventSubscription', { ...subscription, filterExpression: 'mine' }],
    ['createEventSubscription', { ...subscription, filterExpression: null }],
  ],
  'DeliveryUrl pattern': [
    ['createEventSubscription', { ...subscription, entityType: 'Client', deliveryUrl: 'http://hooks.example.com/in' }],
    ['createEventSubscription', { ...subscription, entityType: 'Client', deliveryUrl: 'https://me@hooks.example.com' }],
  ],
  'CustomFieldInput not': [
    ['createCustomRecordType', field({ type: 'REFERENCE' })],
    ['createCustomRecordType', field({ type: 'REFERENCE', referencedEntityType: null })],
    ['createCustomRecordType', field({ type: 'ENUM' })],
    ['createCustomRecordType', field({ type: 'MULTI_ENUM', enumValues: [] })],
  ],
  'OnboardContact not': [['onboardClient', { name: 'Harbor', address: {}, preferredContact: { firstName: 'Ada' } }]],
  'ContactUpsertEntry not': [['upsertContacts', { contacts: [{ firstName: 'Ada' }] }]],
  'TimeEntryFields.hours pattern': ['0.00', '24.10', '-24.01', '100.00'].map((hours) => [
    'upsertEntries',
    entry(hours),
  ]),
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
  const written = found.filter((place) => !/^TimeEntry(Attributes|EventData)?\./.test(place));
  expect(written.toSorted()).toEqual(Object.keys(cases).toSorted());
});

test.each(Object.entries(cases))('%s › the contract and the service reject it', async (_place, requests) => {
  for (const [id, body] of requests) {
    const operation = allOperations.find((one) => one.id === id);
    if (operation === undefined) throw new Error(id);
    const $ref = declarationsOf(operation)[1]?.requestBody?.content['application/json']?.schema.$ref;
    expect(ajv.validate({ $ref: `contract${$ref}` }, body), JSON.stringify(body)).toBe(false);
    const response = await call<{ records?: object[]; failed?: object[] }>(operation.method, operation.path, body);
    const { records, failed } = response.body;
    if (records !== undefined) expect(records).toMatchObject([{ error: { code: 'VALIDATION_ERROR' } }]);
    else if (failed !== undefined) expect(failed).toMatchObject([{ code: 'VALIDATION_ERROR' }]);
    else expect(response, JSON.stringify(body)).toMatchObject({ status: 400, body: { errors: [{ in: 'body' }] } });
  }
});
