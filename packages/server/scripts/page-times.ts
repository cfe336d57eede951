/**
 * Measures the pages of the console of a running server: `API_URL=… API_KEY=… pnpm exec node packages/server/scripts/page-times.ts`.
 * Each kind of page is opened 100 times by 4 users. Prints its median and the time in which 99 of 100 are there, the slowest kinds first.
 */
import { readOptions } from '../../../scripts/options.ts';
import { Visitor } from '../test/console/visitor.ts';

const { values } = readOptions(
  { options: { users: { type: 'string', default: '4' }, rounds: { type: 'string', default: '100' } } },
  'The variables API_URL and API_KEY have the address of the server and the key of an administrator.',
);
const { API_URL: url = '', API_KEY: key = '' } = process.env;
const [users, rounds] = [Number(values.users), Number(values.rounds)];
const first = new Visitor(url);
const visitors = [first, ...Array.from({ length: users - 1 }, () => new Visitor(url))];
for (const visitor of visitors) {
  await visitor.signIn(key);
  if (visitor.cookie === '')
    throw new Error(`${url} rejected the API key. Set API_URL and API_KEY, as pnpm start prints them.`);
}

const times: { page: string; median: number; most: number }[] = [];
const lists = await linksOn('/data', /\/console(\/data\/\w+)"/g);
for (const page of ['', '/close', '/data', '/search?q=harbor', '/keys', '/settings', '/requests', ...lists])
  await measure(page, [page]);
for (const list of lists) {
  const rows = await linksOn(list, new RegExp(`/console(${list}/(?!selected)[^/"?]{8,})"`, 'g'));
  if (rows.length === 0) continue;
  await measure(`a row of ${list}`, rows);
  const forms = rows.map((row) => `${row}/edit`);
  if ((await first.get(forms[0] ?? '')).status === 200) await measure(`the form of ${list}`, forms);
}
console.table(times.sort((one, other) => other.most - one.most));

async function linksOn(page: string, pattern: RegExp): Promise<string[]> {
  const { text } = await first.get(page);
  return [...new Set([...text.matchAll(pattern)].map(([, path = '']) => path))];
}

async function measure(page: string, paths: readonly string[]): Promise<void> {
  const taken: number[] = [];
  let next = 0;
  const visit = async (visitor: Visitor) => {
    while (next < rounds) {
      const path = paths[next++ % paths.length] ?? '';
      const start = performance.now();
      const { status } = await visitor.get(path);
      if (status !== 200) throw new Error(`${path} returned ${status}.`);
      taken.push(performance.now() - start);
    }
  };
  // The first one compiles schemas.
  await first.get(paths[0] ?? '');
  await Promise.all(visitors.map(visit));
  taken.sort((one, other) => one - other);
  const at = (part: number) => Math.round(taken[Math.ceil(taken.length * part) - 1] ?? 0);
  times.push({ page: page || '/', median: at(0.5), most: at(0.99) });
}
