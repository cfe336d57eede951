import { createClient, orThrow } from '@financial-automation/client';

const api = createClient({ baseUrl: process.env.API_URL ?? '', tenant: 'hartwell', apiKey: process.env.API_KEY ?? '' });
const measures = { count: { function: 'COUNT' } } as const;
const page = await orThrow(api.aggregateInvoices({ body: { groupBy: [{ column: 'client.entityType' }], measures } }));
for (const { key, values } of page.data) console.log(Object.values(key)[0], Number(values.count) > 0);
