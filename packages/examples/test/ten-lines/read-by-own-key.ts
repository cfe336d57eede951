import { createClient, orThrow } from '@financial-automation/client';

const api = createClient({ baseUrl: process.env.API_URL ?? '', tenant: 'hartwell', apiKey: process.env.API_KEY ?? '' });
const client = await orThrow(api.getRecord({ path: { type: 'Client' }, query: { ref: 'crm-88213' } }));
console.log(client.type, client.systemRef);
