import { createClient, orThrow } from '@financial-automation/client';

const api = createClient({ baseUrl: process.env.API_URL ?? '', tenant: 'hartwell', apiKey: process.env.API_KEY ?? '' });
const { file, uploadUrl } = await orThrow(api.createFile({ body: { fileName: 'notes.txt' } }));
await fetch(uploadUrl, { method: 'PUT', body: 'Call back on Monday.' });
const { status, sizeBytes } = await orThrow(api.getFile({ path: { id: file.id } }));
console.log(status, sizeBytes);
