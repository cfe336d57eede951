/** `pnpm mock`: starts the mock, explains how to use it, and logs the requests. */
import { readOptions } from '../../../scripts/options.ts';

const options = {
  port: { type: 'string', default: process.env.PORT ?? '4010' },
  host: { type: 'string', default: '127.0.0.1' },
} as const;
const { values } = readOptions({ options }, 'The variable PORT sets the port, too.');
// Loaded after the options are read, because the mock takes a second to load.
const { operationsOf, readContract } = await import('@financial-automation/spec/examples');
const { announcement, logLine } = await import('./console.ts');
const { startMock } = await import('./server.ts');
const print = (...served: Parameters<typeof logLine>) => console.log(logLine(...served));
try {
  const mock = await startMock({ port: Number(values.port), host: values.host, onResponse: print });
  const contract = await readContract();
  console.log(announcement(contract, operationsOf(contract), mock.url));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void mock.close().then(() => process.exit(0)));
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
