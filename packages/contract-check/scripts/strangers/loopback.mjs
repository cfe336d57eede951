/** The example of LoopBack 4, with its data in memory. The package is that of the folder in which it runs. */
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from './postgres.mjs';

const todos = await load('@loopback/example-todo');
const folder = await mkdtemp(join(tmpdir(), 'loopback-'));
await mkdir(join(folder, 'data'));
await writeFile(join(folder, 'data/db.json'), JSON.stringify({ ids: { Todo: 1 }, models: { Todo: {} } }));
process.chdir(folder);

await todos.main({ rest: { port: Number(process.argv[2]), host: '127.0.0.1', gracePeriodForClose: 0 } });
