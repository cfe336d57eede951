import { createServer } from 'node:http';
import { createClient, orThrow } from '@financial-automation/client';

const api = createClient({ baseUrl: process.env.API_URL ?? '', tenant: 'hartwell', apiKey: process.env.API_KEY ?? '' });
const port = Number(process.env.RECEIVER_PORT ?? 4000);
const receiver = createServer((_, response) => response.end('received')).listen(port);
const fields = { deliveryUrl: `http://127.0.0.1:${port}/hook`, entityTypes: ['Client', 'Invoice'] };
const { id } = await orThrow(api.createEventSubscription({ body: { ...fields, operations: ['CREATE', 'UPDATE'] } }));
const { outcome, responseSnippet } = await orThrow(api.sendTestEvent({ path: { id } }));
console.log(outcome, responseSnippet);
receiver.close();
