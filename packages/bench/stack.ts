/** One stack as a process: it serves on a free port, and sends its parent the port and the CPU time that it has used. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { Directory } from '../server/src/platform/auth/directory.ts';
import { openStore, type Session } from '../server/src/platform/store/store.ts';
import { readConfig } from '../server/src/service/config.ts';
import { createService } from '../server/src/service/service.ts';
import { withReads } from '../server/test/with-reads.ts';
import { stacks } from './stacks.ts';

const name = process.argv[2] ?? '';
const createListener = stacks[name];
if (createListener === undefined)
  throw new Error(`The stack ${name} does not exist. Use one of ${Object.keys(stacks).join(', ')}.`);

const config = readConfig(process.env);
const log = pino({ level: 'silent' });
const pooler = name === 'pooler' ? 'transaction' : undefined;
const store = await openStore({ databaseUrl: config.databaseUrl ?? '', poolSize: config.poolSize, pooler, log });

/** In a scenario without the database, a read returns the result of the first one, so that only the rest of the request is measured. */
let isReused = false;
let reused: Promise<unknown> | undefined;
const storeOrReused = withReads(store, <Result>(tenantId: number, work: (session: Session) => Promise<Result>) => {
  if (!isReused) return store.read(tenantId, work);
  reused ??= store.read(tenantId, work);
  return reused as Promise<Result>;
});
const service = await createService(config, storeOrReused, log);
// It reads the caller every few seconds, which must not count as the read that is measured.
const directory = new Directory(store);
const server = createServer(await createListener({ ...service, directory }));
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('message', (message: { reuseRead: boolean }) => {
  isReused = message.reuseRead;
  if (!isReused) reused = undefined;
  const { user, system } = process.cpuUsage();
  process.send?.({ cpu: user + system });
});
