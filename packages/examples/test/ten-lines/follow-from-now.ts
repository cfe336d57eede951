import { createClient, orThrow } from '@financial-automation/client';

const api = createClient({ baseUrl: process.env.API_URL ?? '', tenant: 'hartwell', apiKey: process.env.API_KEY ?? '' });
const { nextCursor } = await orThrow(api.listEvents({ query: { after: 'latest' } }));
const records = [{ type: 'Client' as const, systemRef: 'crm-88213', attributes: { name: 'Harbor & Pine Group' } }];
await orThrow(api.upsertRecords({ body: { records } }));
for await (const event of api.listEvents.rows({ query: { after: nextCursor ?? '' } }))
  console.log(event.entityType, event.operation);
