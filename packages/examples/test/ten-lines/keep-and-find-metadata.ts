import { createClient, orThrow } from '@financial-automation/client';

const api = createClient({ baseUrl: process.env.API_URL ?? '', tenant: 'hartwell', apiKey: process.env.API_KEY ?? '' });
const change = { systemRef: 'crm-88213', metadata: { region: 'west' }, attributes: {} };
await orThrow(api.upsertRecords({ body: { records: [{ type: 'Client', ...change }] } }));
const where = { metadata: { _contains: { region: 'west' } } };
for await (const { systemRef } of api.searchClients.rows({ body: { where } })) console.log(systemRef);
