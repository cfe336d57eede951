/**
 * The server of the command, called by the SDK's own client, in front of a running service: over standard input and output of a process
 * for what the process adds, and otherwise in this one, because starting one takes longer than most tests.
 */
import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createApiKey, createTenant } from '@financial-automation/server/service';
import { serveForFile } from '@financial-automation/server/testing';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { senderOf } from '../src/call.ts';
import { readContract } from '../src/contract.ts';
import { createServer } from '../src/server.ts';
import { connect as connectToService } from '../src/session.ts';
import { readSettings } from '../src/settings.ts';
import { reasonAgainst } from '../src/tools.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const contract = await readContract();
const everything = { roles: undefined, allowWrites: true, tags: undefined };
/** The many processes of this file share compiled code, as all processes of a test run do. */
const { NODE_COMPILE_CACHE = '' } = process.env;
const compileCache = { NODE_COMPILE_CACHE };
const harbor = { name: 'Harbor Logistics', address: { country: 'US' } };

const running = await serveForFile({ PAYMENT_PROCESSOR: 'none' });

beforeAll(async () => {
  for (const name of ['firm', 'rival']) {
    const place = { currency: 'USD', timeZone: 'America/New_York', country: 'US' };
    await createTenant(running, { name, displayName: name, ...place });
  }
});
afterAll(async () => {
  for (const { client } of await Promise.all(started.values())) await client.close();
});

interface Start {
  readonly roles?: readonly string[];
  readonly tenant?: string;
  readonly words?: readonly string[];
  /** Uses an access token instead of an API key. */
  readonly withToken?: boolean;
  /** Starts the command as a process. */
  readonly asCommand?: boolean;
}

/** The servers of this file, by their settings: each is started once. */
const started = new Map<string, ReturnType<typeof connect>>();

function start(settings: Start = {}): ReturnType<typeof connect> {
  const key = JSON.stringify(settings);
  const connected = started.get(key) ?? connect(settings);
  started.set(key, connected);
  return connected;
}

async function connect({
  roles = ['API_ADMIN'],
  tenant = 'firm',
  words = [],
  withToken = false,
  asCommand = false,
}: Start) {
  const user = `user-${roles.join('-').toLowerCase()}`;
  const { key } = await createApiKey(running, { tenant, user, roles, days: 1, description: undefined });
  const client = new Client({ name: 'test', version: '1.0.0' });
  const env = {
    BASE_URL: running.address,
    TENANT: tenant,
    ...(withToken ? { ACCESS_TOKEN: await tokenFor(key) } : { API_KEY: key }),
  };
  if (asCommand) {
    const command = { command: process.execPath, args: [main, ...words], env: { ...compileCache, ...env } };
    await client.connect(new StdioClientTransport(command));
  } else {
    const [near, far] = InMemoryTransport.createLinkedPair();
    await serverOf(words, env).then((server) => server.connect(far));
    await client.connect(near);
  }
  const use = async (name: string, args: Record<string, unknown> = {}) => {
    const { isError = false, content } = await client.callTool({ name, arguments: args });
    const texts = content.map((part) => (part.type === 'text' ? part.text : part.type));
    return { isError, texts, json: () => JSON.parse(texts[0] ?? '') };
  };
  /** Calls an operation with the tool for it. */
  const call = (operation: string, args: Record<string, unknown> = {}, fields?: readonly string[]) => {
    const isRead = contract.operations.find(({ id }) => id === operation)?.isRead ?? true;
    return use(isRead ? 'read' : 'write', { operation, arguments: args, ...(fields === undefined ? {} : { fields }) });
  };
  return { client, use, call };
}

/** What the command does after it has read the contract. */
async function serverOf(words: readonly string[], env: Record<string, string>) {
  const settings = readSettings(words, env);
  if (settings === undefined) throw new Error('These options only print the usage.');
  const { client, roles } = await connectToService(settings);
  return createServer(contract, { ...settings, roles }, senderOf(client));
}

async function tokenFor(apiKey: string): Promise<string> {
  const response = await fetch(`${running.address}/v1/auth/token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ apiKey }),
  });
  return JSON.parse(await response.text()).access_token;
}

/** The operations that a model finds. */
async function namesOf({ use }: Awaited<ReturnType<typeof connect>>, args = {}): Promise<string[]> {
  const { texts } = await use('find_operations', args);
  return [...(texts[0] ?? '').matchAll(/^(\w+): /gm)].map(([, name = '']) => name);
}

describe('find_operations', () => {
  it('lists the reads that the roles allow', async () => {
    const clients = await namesOf(await start({ roles: ['CLNT_R'] }));
    const invoices = await namesOf(await start({ roles: ['INVC_R'], withToken: true }));
    const shared = ['listOrgs', 'listOffices', 'generateTestSignature'];
    expect(clients).toEqual(expect.arrayContaining(['getClient', 'searchClients', ...shared]));
    expect(invoices).toEqual(expect.arrayContaining(['getInvoice', 'searchInvoices', 'listUnpaidInvoices', ...shared]));
    expect(clients.filter((name) => /Invoice|onboard|create/.test(name))).toEqual([]);
    expect(invoices.filter((name) => /Client$|Clients$|create/.test(name))).toEqual([]);
  });

  it('lists all operations for API_ADMIN with --allow-writes, except those that return secrets', async () => {
    const found = await namesOf(await start({ words: ['--allow-writes'] }));
    const secrets = ['createToken', 'getWebhookSecret', 'rotateWebhookSecret'];
    const expected = contract.operations.map(({ id }) => id).filter((id) => !secrets.includes(id));
    expect(found.sort()).toEqual(expected.sort());
  });

  it('lists only those with the specified tags, or with the words', async () => {
    const server = await start({ words: ['--tags', 'files, contacts'] });
    expect(await namesOf(server, { words: 'by client' })).toEqual(['listContactsByClient']);
    expect(await namesOf(server, { words: 'everybody who is a contact by client' })).toEqual(['listContactsByClient']);
    expect((await server.use('find_operations', { words: 'weather' })).texts).toEqual([
      'No operation matches. The tags are contacts, files.',
    ]);
    expect(await namesOf(server, { tag: 'files' })).toEqual(['listFiles', 'getFile']);
    expect((await server.use('find_operations', { tag: 'none' })).texts).toEqual([
      'No operation matches. The tags are contacts, files.',
    ]);
    expect(await namesOf(server)).toEqual([
      'listContacts',
      'searchContacts',
      'getContact',
      'listContactsByClient',
      'getPersonalData',
      'listFiles',
      'getFile',
    ]);
  });
});

describe('the tools', () => {
  const offered = contract.operations.filter((operation) => reasonAgainst(operation, everything) === undefined);
  /** One of each method, and with `MCP=all` all. */
  const kindOf = ({ id, method }: (typeof offered)[number]) => (process.env.MCP === 'all' ? id : method);
  const described = [...Map.groupBy(offered, kindOf).values()].flatMap(([first]) => first ?? []);

  it('are few, and those that change data are not there without --allow-writes', async () => {
    const [readOnly, writing] = await Promise.all([
      start({ asCommand: true }),
      start({ asCommand: true, words: ['--allow-writes'] }),
    ]);
    const tools = async ({ client }: typeof readOnly) =>
      (await client.listTools()).tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint]);
    const reads = [
      ['find_operations', true],
      ['describe', true],
      ['read', true],
    ];
    expect(await tools(readOnly)).toEqual(reads);
    expect(await tools(writing)).toEqual([...reads, ['write', false]]);
  });

  it('and the list of all operations fit into a context', async () => {
    const { client, use } = await start({ asCommand: true, words: ['--allow-writes'] });
    const definitions = JSON.stringify(await client.listTools());
    const { texts } = await use('find_operations');
    expect(definitions.length + (texts[0] ?? '').length).toBeLessThan(12_000);
  });

  it.each(described)(
    'describe › $id has its arguments, and each type that it mentions is known',
    async ({ id, body }) => {
      const { use } = await start({ words: ['--allow-writes'] });
      const { isError, texts } = await use('describe', { names: [id] });
      const text = texts[0] ?? '';
      expect([isError, text.startsWith(`## ${id}\n`), text.includes('\n- body: ')]).toEqual([
        false,
        true,
        body !== undefined,
      ]);
      expect(text.length).toBeLessThan(6_000);
      const named = new Set(
        text
          .split('\n')
          .slice(1)
          .flatMap((line) => line.match(/(?<=[:|[(] ?|= )\b[A-Z]\w+[a-z]\w*(?=[ ;|\])]|$|\[)/g) ?? []),
      );
      const unknown = [...named].filter(
        (name) => / = /.test(text) && text.includes(`: ${name}`) && contract.schemas[name] === undefined,
      );
      expect(unknown).toEqual([]);
    },
  );

  it('describe › declares types by their names, and says which do not exist', async () => {
    const { use } = await start();
    const { texts } = await use('describe', { names: ['TextFilter', 'Nonsense'] });
    expect(texts[0]).toMatch(/^There is no operation or type Nonsense\.\nTextFilter = \{ .*_ilike/);
    expect(await use('describe')).toMatchObject({ isError: true });
  });
});

describe('a call', () => {
  it('reads, searches and writes', async () => {
    const { call } = await start({ asCommand: true, words: ['--allow-writes'] });
    const created = await call('onboardClient', { body: harbor });
    expect(created).toMatchObject({ isError: false });
    const { clientId: id } = created.json();
    const read = await call('getClient', { id });
    expect(read.json()).toMatchObject({ id, name: 'Harbor Logistics' });
    expect(read.texts[1]).toMatch(/^ETag: ".+"$/);
    const found = await call('searchClients', { body: { where: { name: { _ilike: '%harbor%' } } } });
    expect(found.json()).toMatchObject({ pageSize: 20, data: [{ id }] });
  });

  it('repeats a write with the same Idempotency-Key without a second effect', async () => {
    const { call } = await start({ words: ['--allow-writes'] });
    const args = { 'Idempotency-Key': 'onboard-pine', body: { ...harbor, name: 'Pine' } };
    const first = await call('onboardClient', args);
    expect((await call('onboardClient', args)).texts[0]).toBe(first.texts[0]);
    const found = await call('searchClients', { body: { where: { name: { _eq: 'Pine' } } } });
    expect(found.json().data).toHaveLength(1);
  });

  it('of a write is rejected without --allow-writes, and so is one that the roles do not allow', async () => {
    const readOnly = await start();
    expect(await readOnly.call('onboardClient', { body: harbor })).toMatchObject({
      isError: true,
      texts: [expect.stringContaining('--allow-writes')],
    });
    const { call } = await start({ roles: ['CLNT_R'], words: ['--allow-writes'] });
    expect(await call('onboardClient', { body: harbor })).toMatchObject({
      isError: true,
      texts: ['onboardClient requires the CLNT_C role.'],
    });
    expect(
      (await call('searchClients', { body: { where: { name: { _eq: harbor.name } } } })).json().data.length,
    ).toBeLessThan(2);
  });

  it('passes on problems with their code, detail and pointers', async () => {
    const { call } = await start();
    const response = await call('searchClients', { body: { where: { nothing: { _eq: 'x' } }, pageSize: 5000 } });
    expect(response.isError).toBe(true);
    expect(response.json()).toMatchObject({ status: 400, code: 'VALIDATION_ERROR', detail: expect.any(String) });
    expect(response.json().errors.map(({ pointer }: { pointer: string }) => pointer)).toContain('/pageSize');
  });

  it('cannot access rows of another tenant', async () => {
    const rival = await start({ tenant: 'rival', words: ['--allow-writes'] });
    const { clientId } = (await rival.call('onboardClient', { body: { ...harbor, name: 'Secret' } })).json();
    const { call } = await start();
    const response = await call('getClient', { id: clientId });
    expect(response.isError).toBe(true);
    expect(response.json()).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });

  it('reports unknown and missing arguments', async () => {
    const { call, use } = await start();
    expect(await call('getClient', { clientId: 'x' })).toMatchObject({
      isError: true,
      texts: ['getClient has no argument clientId. Its arguments are id, fields, with.'],
    });
    expect(await call('getClient')).toMatchObject({ isError: true, texts: ['getClient requires id.'] });
    expect(await call('doNothing')).toMatchObject({
      isError: true,
      texts: ['The operation doNothing does not exist. find_operations lists all.'],
    });
    expect(await use('doNothing')).toMatchObject({
      isError: true,
      texts: [expect.stringMatching(/^The tool doNothing does not exist\./)],
    });
    expect(await use('read', { operation: 'onboardClient' })).toMatchObject({ isError: true });
    // A dry run in the wrong place must not write.
    expect(await use('read', { operation: 'listOrgs', 'Dry-Run': 'true' })).toMatchObject({
      isError: true,
      texts: ['read has no argument Dry-Run. Its arguments are operation, arguments, fields.'],
    });
  });

  it('explains how to get the next rows, and limits the size of a result', async () => {
    const { call } = await start({ words: ['--allow-writes', '--max-output', '9000'] });
    for (const number of [1, 2, 3, 4, 5, 6, 7, 8, 9]) {
      await call('onboardClient', { body: { ...harbor, name: `Page ${number}` } });
    }
    const where = { name: { _like: 'Page %' } };
    const first = await call('searchClients', { body: { where, pageSize: 2 } });
    const [, cursor] = /body\.cursor "([^"]+)"/.exec(first.texts[1] ?? '') ?? [];
    const second = await call('searchClients', { body: { where, pageSize: 2, cursor } });
    const names = [first, second].flatMap((page) => page.json().data.map(({ name }: { name: string }) => name));
    expect(names).toEqual(['Page 1', 'Page 2', 'Page 3', 'Page 4']);

    const cut = await call('searchClients', { body: { where } });
    const [, shown, all] = /^(\d+) of the (\d+) rows of this page are shown\./.exec(cut.texts[1] ?? '') ?? [];
    expect([cut.isError, cut.json().data.length, Number(all)]).toEqual([false, Number(shown), 9]);
    expect(cut.texts[0]?.length).toBeLessThan(9_001);
    const chosen = await call('searchClients', { body: { where } }, ['name', 'clientRef']);
    expect(chosen.texts).toHaveLength(1);
    expect(chosen.json().data.map((row: object) => Object.keys(row))).toEqual(Array(9).fill(['name', 'clientRef']));
  });

  it('says that a rehearsal has stored nothing', async () => {
    const { call } = await start({ words: ['--allow-writes'] });
    const rehearsed = await call('onboardClient', { 'Dry-Run': 'true', body: { ...harbor, name: 'Rehearsed' } });
    expect(rehearsed.texts).toContain('This was a rehearsal: nothing was stored.');
    const found = await call('searchClients', { body: { where: { name: { _eq: 'Rehearsed' } } } });
    expect(found.json().data).toEqual([]);
  });

  it('answers a controller in one call a question, in few characters', async () => {
    const { call } = await start();
    const open = { status: { _in: ['POSTED', 'PARTIALLY_PAID'] } };
    const sum = (column: string) => ({ amount: { function: 'SUM', column }, count: { function: 'COUNT' } });
    const questions: readonly [operation: string, body: object, fields?: readonly string[]][] = [
      ['searchClients', { where: { name: { _ilike: '%harbor%' } } }, ['name', 'clientRef', 'outstandingBalance']],
      ['searchClients', { orderBy: [{ outstandingBalance: 'desc' }], pageSize: 10 }, ['name', 'outstandingBalance']],
      ['searchClients', { where: { overdueBalance: { _gt: '0.00' } } }, ['name', 'overdueBalance']],
      ['searchClients', { where: { unbilledWip: { _gt: '10000.00' } } }, ['name', 'unbilledWip']],
      ['aggregateClients', { groupBy: [{ column: 'status' }], measures: { count: { function: 'COUNT' } } }],
      [
        'searchInvoices',
        { where: { isOverdue: { _eq: true } }, orderBy: [{ daysPastDue: 'desc' }] },
        ['invoiceNumber', 'amountDue', 'daysPastDue'],
      ],
      ['aggregateInvoices', { where: open, groupBy: [{ column: 'currency' }], measures: sum('amountDue') }],
      [
        'aggregateInvoices',
        { groupBy: [{ column: 'invoiceDate', by: 'MONTH' }, { column: 'currency' }], measures: sum('total') },
      ],
      [
        'aggregateInvoices',
        {
          where: open,
          groupBy: [{ column: 'dueDate', daysBefore: '2026-09-30', boundaries: [0, 30, 60, 90] }],
          measures: sum('amountDue'),
        },
      ],
      ['aggregateInvoices', { where: { status: { _eq: 'WRITTEN_OFF' } }, measures: sum('amountWrittenOff') }],
      ['searchPayments', { where: { status: { _eq: 'PENDING' } } }, ['paymentNumber', 'amount']],
      ['searchPayments', { where: { unappliedAmount: { _gt: '0.00' } } }, ['paymentNumber', 'unappliedAmount']],
      ['aggregatePayments', { groupBy: [{ column: 'method' }, { column: 'currency' }], measures: sum('amount') }],
      ['aggregatePayments', { where: { status: { _eq: 'RETURNED' } }, measures: sum('amount') }],
      [
        'searchWip',
        { where: { status: { _eq: 'OPEN' } }, orderBy: [{ workDate: 'asc' }], pageSize: 10 },
        ['workDate', 'outstandingAmount'],
      ],
      [
        'aggregateWip',
        { where: { status: { _eq: 'OPEN' } }, groupBy: [{ column: 'jobId' }], measures: sum('outstandingAmount') },
      ],
      [
        'aggregateTimeEntries',
        { groupBy: [{ column: 'staffId' }], measures: { hours: { function: 'SUM', column: 'hours' } } },
      ],
      [
        'searchProjects',
        { where: { status: { _eq: 'COMPLETED' }, wipAmount: { _gt: '0.00' } } },
        ['jobRef', 'wipAmount', 'client.name'],
      ],
      ['searchDraftInvoiceHistories', { where: { toStatus: { _eq: 'IN_REVIEW' } } }, ['draftInvoiceId', 'total']],
      [
        'aggregateLedgerEntries',
        { where: { account: { _eq: 'RECEIVABLE' } }, groupBy: [{ column: 'clientId' }], measures: sum('amount') },
      ],
    ];
    expect(questions).toHaveLength(20);
    let characters = 0;
    for (const [operation, body, fields] of questions) {
      const { isError, texts } = await call(operation, { body }, fields);
      expect([operation, ...(isError ? texts : [])]).toEqual([operation]);
      characters += JSON.stringify({ operation, arguments: { body }, fields }).length + texts.join('').length;
    }
    expect(characters).toBeLessThan(10_000);
  });
});

describe('the command', () => {
  const run = (words: readonly string[], env: Record<string, string> = {}) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...words], {
      env: { ...compileCache, ...env },
      encoding: 'utf8',
    });
    return { status, stdout, stderr };
  };
  const settings = () => ({ BASE_URL: running.address, TENANT: 'firm', ACCESS_TOKEN: 'x' });

  it('prints its options and variables', () => {
    const { status, stdout } = run(['--help']);
    expect(status).toBe(0);
    for (const word of ['--allow-writes', '--tags', '--max-output', 'BASE_URL', 'TENANT', 'API_KEY']) {
      expect(stdout).toContain(word);
    }
  });

  it('reports that the service rejected the API key', async () => {
    const env = { ...compileCache, BASE_URL: running.address, TENANT: 'firm', API_KEY: 'not.a.key' };
    await expect(promisify(execFile)(process.execPath, [main], { env })).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^The service rejected the API key\. (UNAUTHENTICATED|VALIDATION_ERROR): /),
    });
  });

  it('reports invalid settings, and exits', () => {
    const failed = (sentence: string) => ({ status: 1, stdout: '', stderr: expect.stringContaining(sentence) });
    expect(run([])).toEqual(failed('BASE_URL must be the URL of the service'));
    expect(run(['--tags', 'clint'], settings())).toEqual(
      failed('--tags has unknown tags: clint. Tags are authentication, '),
    );
  });

  it.each<[words: string[], env: Record<string, string>, sentence: string]>([
    [[], { TENANT: '' }, 'TENANT must be the name of your tenant.'],
    [[], { API_KEY: 'x' }, 'Set either API_KEY or ACCESS_TOKEN.'],
    [['--writes'], {}, "Unknown option '--writes'"],
    [['--max-output', '1'], {}, '--max-output must be'],
  ])('rejects the options %j with %j', (words, env, sentence) => {
    expect(() => readSettings(words, { ...settings(), ...env })).toThrow(new RegExp(sentence));
  });
});
