import { createClient, orThrow } from '@financial-automation/client';

const api = createClient({ baseUrl: process.env.API_URL ?? '', tenant: 'hartwell', apiKey: process.env.API_KEY ?? '' });
const key = { system: 'erp', ref: 'K-1001' };
const records = [{ type: 'Client' as const, systemRef: 'crm-88213', sysRefs: [key], attributes: {} }];
await orThrow(api.upsertRecords({ body: { records } }));
const where = { sysRefs: { system: { _eq: key.system }, ref: { _eq: key.ref } } };
for await (const { systemRef } of api.searchClients.rows({ body: { where } })) console.log(systemRef);
