/**
 * Adds a record type to the tenant, writes records of it, corrects the one that failed, and reads them back.
 * Running it again ends with the same records.
 */
import { createClient, customType, orThrow } from '@financial-automation/client';

const api = createClient({
  baseUrl: process.env.API_URL ?? 'http://127.0.0.1:3000',
  tenant: process.env.API_TENANT ?? 'hartwell',
  apiKey: process.env.API_KEY ?? '',
});
const type = customType('Renewal');

await createType();
const [client] = (await orThrow(api.searchClients({ body: { where: { status: { _eq: 'ACTIVE' } }, pageSize: 1 } })))
  .data;
if (client === undefined) throw new Error('The tenant has no active client.');

const results = await write([
  { systemRef: 'REN-1', attributes: { client: client.id, stage: 'OFFERED', annualValue: '4800.00' } },
  { systemRef: 'REN-2', attributes: { client: client.id, stage: 'MAYBE', annualValue: '1200.00' } },
]);
for (const { systemRef, error } of results) {
  if (error !== null) console.log(`${systemRef} failed at ${error.pointer}: ${error.detail}`);
}
await write([{ systemRef: 'REN-2', attributes: { client: client.id, stage: 'PLANNED', annualValue: '1200.00' } }]);

await addField();
await write([{ systemRef: 'REN-1', attributes: { decidedOn: '2026-11-02', stage: 'WON' } }]);

for await (const { systemRef, attributes } of api.lookupRecords.rows({ path: { type } })) {
  console.log(systemRef, JSON.stringify(attributes));
}

async function createType(): Promise<void> {
  const created = await api.createCustomRecordType({
    body: {
      name: type,
      displayName: 'Renewal',
      fields: [
        { name: 'client', type: 'REFERENCE', referencedEntityType: 'Client', required: true },
        { name: 'stage', type: 'ENUM', enumValues: ['PLANNED', 'OFFERED', 'WON', 'LOST'], required: true },
        { name: 'annualValue', type: 'DECIMAL', scale: 2, minimum: '0', nullable: true },
      ],
    },
  });
  // The name is taken: the type exists from an earlier run.
  if (created.status !== 201 && created.status !== 409) throw new Error(created.body.detail);
}

/** Fields can be added at any time. What is stored stays valid, because the new field is nullable. */
async function addField(): Promise<void> {
  const { fields } = await orThrow(api.getCustomRecordType({ path: { name: type } }));
  if (fields.some(({ name }) => name === 'decidedOn')) return;
  const body = { fields: [...fields, { name: 'decidedOn', type: 'DATE' as const, nullable: true }] };
  await orThrow(api.updateCustomRecordType({ path: { name: type }, body }));
}

async function write(records: { systemRef: string; attributes: Record<string, unknown> }[]) {
  const body = { records: records.map((record) => ({ type, ...record })) };
  return (await orThrow(api.upsertRecords({ body }))).records;
}
