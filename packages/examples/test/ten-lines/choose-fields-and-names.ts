import { createClient } from '@financial-automation/client';

const api = createClient({ baseUrl: process.env.API_URL ?? '', tenant: 'hartwell', apiKey: process.env.API_KEY ?? '' });
const body = { where: { systemRef: { _eq: 'crm-88213' } } };
for await (const row of api.searchClients.rows({ body: { ...body, fields: ['name'], with: ['partner'] } }))
  console.log(Object.keys(row).sort().join(), row.name, row.with?.partner?.name);
