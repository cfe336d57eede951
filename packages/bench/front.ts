/** One front as a process: it serves on a free port, and tells its parent the port and the CPU time that it has used. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { Directory } from '../server/src/platform/auth/directory.ts';
import { openStore, type Session } from '../server/src/platform/store/store.ts';
import { readConfig } from '../server/src/service/config.ts';
import { createService } from '../server/src/service/service.ts';
import { withReads } from '../server/test/with-reads.ts';
import { fronts } from './fronts.ts';

const name = process.argv[2] ?? '';
const front = fronts[name];
if (front === undefined) throw new Error(`There is no front ${name}; there are ${Object.keys(fronts).join(', ')}.`);

const config = readConfig(process.env);
const log = pino({ level: 'silent' });
const pooler = name === 'pooler' ? 'transaction' : undefined;
const store = await openStore({ databaseUrl: config.databaseUrl ?? '', poolSize: config.poolSize, pooler, log });

/** In a scenario without the database, a read answers what the read before it did: what is left is the way there and back. */
let remembering = false;
let remembered: Promise<unknown> | undefined;
const behind = withReads(store, <Result>(tenantId: number, work: (session: Session) => Promise<Result>) => {
  if (!remembering) return store.read(tenantId, work);
  remembered ??= store.read(tenantId, work);
  return remembered as Promise<Result>;
});
const service = await createService(config, behind, log);
// The caller is looked up every few seconds, which must not be taken for the read that is measured.
const directory = new Directory(store);
const server = createServer(await front({ ...service, directory }));
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('message', (message: { remember: boolean }) => {
  remembering = message.remember;
  if (!remembering) remembered = undefined;
  const { user, system } = process.cpuUsage();
  process.send?.({ cpu: user + system });
});
