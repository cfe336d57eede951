import { createClient, orThrow } from '@financial-automation/client';

const api = createClient({ baseUrl: process.env.API_URL ?? '', tenant: 'hartwell', apiKey: process.env.API_KEY ?? '' });
const record = (n: number) => ({ type: 'ClientGroup' as const, systemRef: `g-${n}`, attributes: { name: `G ${n}` } });
const records = Array.from({ length: 1_000 }, (_, index) => record(index));
let batch = await orThrow(api.createRecordBatch({ body: { records } }));
while (batch.status !== 'COMPLETED') batch = await orThrow(api.getRecordBatch({ path: { id: batch.id } }));
const results = await (await fetch(batch.resultUrl ?? '')).text();
console.log(batch.created, batch.failed, results.trim().split('\n').length);
