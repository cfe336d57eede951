#!/usr/bin/env node
/**
 * Compares the contract check with other tools on servers whose drifts are known: `pnpm --filter
 * @financial-automation/contract-check run tools [names of tools]`. Each tool runs against the correct server, then against
 * the server with each drift, one at a time. It catches a drift if it reports something that it does not report about
 * the correct server; what it reports about the correct server is a false alarm. Tools are installed from the npm
 * registry into a folder outside of the repository. Exits with 1 if a tool fails on the correct server.
 *
 * The contract check reads the contract as it is. Other tools get it in one file, with examples of IDs and bodies, and send
 * deletes last. Those that only judge the requests of others, which are Prism, express-openapi-validator and `drift`, get
 * all requests that show the drifts.
 *
 * Not compared: Schemathesis, which is not in the npm registry, and Specmatic 2.55, which requires Java. It sends
 * random IDs instead of the examples of parameters, so that 6 of its 54 tests of the correct workshop passed.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOptions } from '../../../scripts/options.ts';
import { install } from './programs.ts';
import { additional, distinct, type Run, rowOf } from './tools/count.ts';
import { type Server, servers } from './tools/servers.ts';
import { type Tool, tools } from './tools/tools.ts';

const { values, positionals } = readOptions(
  {
    options: {
      folder: { type: 'string', default: join(tmpdir(), 'contract-check-tools') },
      server: { type: 'string', default: 'workshop' },
      /** Only each nth drift, beginning with this one. */
      every: { type: 'string', default: '1' },
      from: { type: 'string', default: '0' },
    },
    allowPositionals: true,
  },
  `The tools are ${tools.map(({ name }) => name).join(', ')}; the servers are ${Object.keys(servers).join(', ')}.`,
);

const chosen = tools.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
const server = await servers[values.server]?.();
const isKnown = (word: string) => tools.some(({ name }) => name === word);
if (server === undefined || !positionals.every(isKnown)) {
  console.error('Unknown server or tool; --help lists them.');
  process.exit(2);
}
const rows: string[] = [];
for (const tool of chosen) rows.push(await compare(tool, server));
console.log('\n| tool | server | caught | false alarms | operations reached | requests | seconds | command |');
console.log('|---|---|--:|--:|--:|--:|--:|---|');
for (const row of rows) console.log(row);
await server.close();
process.exit();

async function compare(tool: Tool, server: Server): Promise<string> {
  const every = values.every === '1' ? '' : ` --every ${values.every}`;
  const from = values.from === '0' ? '' : ` --from ${values.from}`;
  const labels = {
    tool: tool.name,
    server: values.server,
    command: `run tools ${tool.name} --server ${values.server}${every}${from}`,
  };
  let correct: [Run, Run];
  try {
    await install(join(values.folder, tool.name), tool.packages);
    // Twice, because what a tool sends or says can differ from run to run.
    correct = [await runOn(tool, server), await runOn(tool, server)];
  } catch (error) {
    process.exitCode = 1;
    console.error(error);
    return `| ${tool.name} | ${values.server} | failed: ${error instanceof Error ? error.message.split('\n')[0] : error} |`;
  }
  const known = distinct(correct.flatMap(({ reports }) => reports));
  console.log(`${tool.name} reports about the correct server: ${known.size}`);
  for (const report of known) console.log(`      ${report}`);
  const caught: boolean[] = [];
  const drifts = server.drifts.filter((_, index) => index % Number(values.every) === Number(values.from));
  for (const drift of drifts) {
    const found = await runOn(tool, server, drift).then(
      ({ reports }) => additional(reports, known),
      // A tool that fails has found nothing.
      (error: Error) => void console.log(`      ${tool.name} failed: ${error.message}`),
    );
    caught.push(found !== undefined && found.length > 0);
    console.log(`${`${caught.length}`.padStart(4)}/${drifts.length}  ${drift} → ${found?.[0] ?? 'MISSED'}`);
  }
  return rowOf(labels, { correct, caught, operations: server.operations });
}

async function runOn(tool: Tool, server: Server, drift?: string): Promise<Run> {
  const running = await server.start(drift);
  // Tools need different versions of the same packages.
  const folder = join(values.folder, tool.name);
  await mkdir(folder, { recursive: true });
  const files = await mkdtemp(join(folder, 'run-'));
  const document = join(files, 'openapi.json');
  await writeFile(document, JSON.stringify(server.document));
  try {
    const start = performance.now();
    const reports = await tool.run(server, running, { folder, files, document });
    const seconds = (performance.now() - start) / 1000;
    const successful = running.exchanges.filter(({ response }) => response !== undefined && response.status < 400);
    const reached = new Set(successful.flatMap(({ request: { operation } }) => operation ?? [])).size;
    return { reports, reached, requests: running.exchanges.length, seconds };
  } finally {
    await running.close();
    await rm(files, { recursive: true });
  }
}
