import { createClient, orThrow } from '@financial-automation/client';

const api = createClient({ baseUrl: process.env.API_URL ?? '', tenant: 'hartwell', apiKey: process.env.API_KEY ?? '' });
const groupBy = [{ column: 'client.entityType' as const }];
const page = await orThrow(api.aggregateInvoices({ body: { groupBy, measures: { count: { function: 'COUNT' } } } }));
for (const { key, values } of page.data) console.log(Object.values(key)[0], Number(values.count) > 0);
