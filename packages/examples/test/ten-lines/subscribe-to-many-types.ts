import { createClient, orThrow } from '@financial-automation/client';

const api = createClient({ baseUrl: process.env.API_URL ?? '', tenant: 'hartwell', apiKey: process.env.API_KEY ?? '' });
const deliveryUrl = 'https://hooks.example.com/all';
const entityTypes: ('Client' | 'Invoice')[] = ['Client', 'Invoice'];
const body = { deliveryUrl, entityTypes, operations: ['UPDATE' as const] };
console.log((await orThrow(api.createEventSubscription({ body }))).entityTypes.join());
const { secret } = await orThrow(api.rotateWebhookSecret({ body: { overlapMinutes: 60 } }));
console.log(secret.startsWith('whsec_'));
