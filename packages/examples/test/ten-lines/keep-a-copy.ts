import { createClient, mirror } from '@financial-automation/client';

const api = createClient({ baseUrl: process.env.API_URL ?? '', tenant: 'hartwell', apiKey: process.env.API_KEY ?? '' });
const copy = new Map<string, object>();
const apply = ({ rows }: { rows: { id: string }[] }) => {
  for (const row of rows) copy.set(row.id, row);
};
const run = await mirror(api, { types: ['Client'], store: { position: () => undefined, apply } });
console.log(run.readAll, copy.size === run.rows);
