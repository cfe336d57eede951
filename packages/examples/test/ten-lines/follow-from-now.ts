import { createClient, orThrow } from '@financial-automation/client';

const api = createClient({ baseUrl: process.env.API_URL ?? '', tenant: 'hartwell', apiKey: process.env.API_KEY ?? '' });
const { nextCursor } = await orThrow(api.listEvents({ query: { after: 'latest' } }));
const change = { systemRef: 'crm-88213', attributes: { paymentTermsDays: 14 } };
await orThrow(api.upsertRecords({ body: { records: [{ type: 'Client', ...change }] } }));
for await (const event of api.listEvents.rows({ query: { after: nextCursor ?? '' } }))
  console.log(event.entityType, event.operation);
