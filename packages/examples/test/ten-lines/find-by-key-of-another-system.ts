import { createClient, orThrow } from '@financial-automation/client';

const api = createClient({ baseUrl: process.env.API_URL ?? '', tenant: 'hartwell', apiKey: process.env.API_KEY ?? '' });
const sysRefs = [{ system: 'erp', ref: 'K-1001' }];
const client = { systemRef: 'crm-88213', sysRefs, attributes: {} };
await orThrow(api.upsertRecords({ body: { records: [{ type: 'Client', ...client }] } }));
const where = { sysRefs: { system: { _eq: 'erp' }, ref: { _eq: 'K-1001' } } };
for await (const { systemRef } of api.searchClients.rows({ body: { where } })) console.log(systemRef);
