/** `pnpm mock`: starts the mock, says how to use it, and tells what it is asked. */
import { parseArgs } from 'node:util';
import { announcement, logLine } from './console.ts';
import { operationsOf, readContract } from './contract.ts';
import { startMock } from './server.ts';

const usage = 'Usage: pnpm mock [--port 4010] [--host 127.0.0.1]   The port may also come from the variable PORT.';

const { port, host } = settings();
try {
  const mock = await startMock({
    port,
    host,
    onAnswer: (request, answer, milliseconds) => console.log(logLine(request, answer, milliseconds)),
  });
  const contract = await readContract();
  console.log(announcement(contract, operationsOf(contract), mock.url));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      mock.close().then(() => process.exit(0));
    });
  }
} catch (error) {
  fail(reason(error), 1);
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

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  switch ('code' in error ? error.code : undefined) {
    case 'EADDRINUSE':
      return `Port ${port} is taken. Stop what runs there, or choose another port: pnpm mock --port ${port + 1}`;
    case 'EACCES':
      return `Port ${port} is not allowed to you. Choose one above 1023: pnpm mock --port 4010`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `This machine has no address ${host}. Leave --host out, or give one that it has.`;
    default:
      return error.message;
  }
}

function fail(sentence: string, code: number): never {
  console.error(sentence);
  process.exit(code);
}
