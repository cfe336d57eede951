/** `pnpm mock`: starts the mock, explains how to use it, and logs the requests. */
import { parseArgs } from 'node:util';

const usage = 'Usage: pnpm mock [--port 4010] [--host 127.0.0.1]   The port can also be set by the variable PORT.';

const { port, host } = settings();
// Loaded after the options are read, because the mock takes a second to load.
const { operationsOf, readContract } = await import('@financial-automation/spec/examples');
const { announcement, logLine } = await import('./console.ts');
const { startMock } = await import('./server.ts');
try {
  const mock = await startMock({ port, host, onResponse: (...served) => console.log(logLine(...served)) });
  const contract = await readContract();
  console.log(announcement(contract, operationsOf(contract), mock.url));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      mock.close().then(() => process.exit(0));
    });
  }
} catch (error) {
  fail(error instanceof Error ? error.message : String(error), 1);
}

function settings(): { port: number; host: string } {
  try {
    const { values } = parseArgs({
      options: { port: { type: 'string' }, host: { type: 'string', default: '127.0.0.1' }, help: { type: 'boolean' } },
    });
    if (values.help) {
      console.log(usage);
      process.exit(0);
    }
    const text = values.port ?? process.env.PORT ?? '4010';
    if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) fail(`"${text}" is not a port. ${usage}`, 2);
    return { port: Number(text), host: values.host };
  } catch (error) {
    fail(`${error instanceof Error ? error.message : error} ${usage}`, 2);
  }
}

function fail(sentence: string, code: number): never {
  console.error(sentence);
  process.exit(code);
}
