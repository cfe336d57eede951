import { createClient, orThrow } from '@financial-automation/client';

const api = createClient({ baseUrl: process.env.API_URL ?? '', tenant: 'hartwell', apiKey: process.env.API_KEY ?? '' });
const { name, roles, tenant } = await orThrow(api.getMe());
console.log(name, roles.includes('API_ADMIN'), tenant.name);
