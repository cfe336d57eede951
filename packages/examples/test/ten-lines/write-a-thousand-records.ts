import { createClient, orThrow } from '@financial-automation/client';

const api = createClient({ baseUrl: process.env.API_URL ?? '', tenant: 'hartwell', apiKey: process.env.API_KEY ?? '' });
const groups = Array.from({ length: 1_000 }, (_, n) => ({ systemRef: `g-${n}`, attributes: { name: `Group ${n}` } }));
const body = groups.map((group) => JSON.stringify({ type: 'ClientGroup', ...group })).join('\n');
let batch = await orThrow(api.createRecordBatch({ body }));
while (batch.status !== 'COMPLETED') batch = await orThrow(api.getRecordBatch({ path: { id: batch.id } }));
const results = await (await fetch(batch.resultUrl ?? '')).text();
console.log(batch.created, batch.failed, results.trim().split('\n').length);
