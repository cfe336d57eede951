/** One stack as a process: it serves on a free port, and sends its parent the port and the CPU time that it has used. */
import { createServer, type RequestListener } from 'node:http';
import {
  createApp,
  createService,
  Directory,
  messages,
  openStore,
  type Session,
} from '@financial-automation/server/bench';
import { readConfig, type Service } from '@financial-automation/server/service';
import { portOf, withReads } from '@financial-automation/server/tools';
import { pino } from 'pino';
import { documentedValidator } from './stacks/documented.ts';
import { bareExpress } from './stacks/express.ts';
import { fastifyWithSchemas } from './stacks/fastify.ts';

/** What is before the handlers, by name. */
const stacks: Readonly<Record<string, (service: Service) => RequestListener | Promise<RequestListener>>> = {
  service: createApp,
  pooler: createApp,
  fastify: fastifyWithSchemas,
  express: bareExpress,
  documented: documentedValidator,
};

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
// A stack is idle while the others are measured, and must not close a connection just when it is used again.
const listener = await createListener({ ...service, directory });
const server = createServer({ keepAliveTimeout: 600_000, ...(createListener === createApp && messages) }, listener);
server.listen(0, '127.0.0.1', () => process.send?.({ port: portOf(server) }));

/** The parent says whether the read is reused, and receives the processor time that the process has used, in microseconds. */
process.on('message', (reuseRead: boolean) => {
  isReused = reuseRead;
  if (!isReused) reused = undefined;
  const { user, system } = process.cpuUsage();
  process.send?.({ cpu: user + system });
});
