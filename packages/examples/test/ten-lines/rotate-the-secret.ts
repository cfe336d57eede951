import { createClient, orThrow } from '@financial-automation/client';

const api = createClient({ baseUrl: process.env.API_URL ?? '', tenant: 'hartwell', apiKey: process.env.API_KEY ?? '' });
const before = await orThrow(api.getWebhookSecret());
const { secret } = await orThrow(api.rotateWebhookSecret({ body: { overlapMinutes: 60 } }));
console.log(secret.startsWith('whsec_'), secret !== before.secret);
