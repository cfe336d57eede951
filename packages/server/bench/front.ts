/** One front as a process: it serves on a free port, and tells its parent the port and the CPU time that it has used. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { readConfig } from '../src/config.ts';
import { createService } from '../src/service.ts';
import { openStore } from '../src/store/store.ts';
import { fronts } from './fronts.ts';

const name = process.argv[2] ?? '';
const front = fronts[name];
if (front === undefined) throw new Error(`There is no front ${name}; there are ${Object.keys(fronts).join(', ')}.`);

const config = readConfig(process.env);
const log = pino({ level: 'silent' });
const store = await openStore({ databaseUrl: config.databaseUrl ?? '', poolSize: config.poolSize, log });
const server = createServer(await front(await createService(config, store, log)));
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpu: user + system });
});
