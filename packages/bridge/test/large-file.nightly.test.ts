/** Files of 200,000 rows in constant memory. The service is replaced by one that accepts all, so that only the command is measured. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { json, text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
/** As it is installed: Node takes 20 MB more to read the sources. */
const main = join(root, 'dist/main.js');
const rows = 200_000;
const openInvoices = 2_000;
const report = "process.on('exit', () => console.error('kilobytes', process.resourceUsage().maxRSS))";

let folder = '';
let records = 0;
const server = createServer(async (request, response) => {
  const path = request.url ?? '';
  const body = request.method === 'POST' ? await json(request) : {};
  const sent =
    typeof body === 'object' && body !== null && 'records' in body && Array.isArray(body.records) ? body.records : [];
  records += sent.length;
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(resultOf(path, sent.length)));
});

beforeAll(async () => {
  execFileSync(join(root, 'node_modules/.bin/tsdown'), { cwd: root });
  folder = await mkdtemp(join(tmpdir(), 'bridge-large-'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true });
});

function resultOf(path: string, sent: number): object {
  if (path.includes('token')) return { access_token: 'token', token_type: 'Bearer', expires_in: 900 };
  if (path.includes('records'))
    return {
      records: Array.from({ length: sent }, (_, index) => ({ index, id: `${index}`, status: 'CREATED', error: null })),
    };
  const invoices = Array.from({ length: path.includes('invoices') ? openInvoices : 0 }, (_, index) => ({
    ...{
      id: `${index}`,
      invoiceNumber: `INV-${index}`,
      clientId: `c${index % 500}`,
      clientName: `Customer ${index % 500}`,
    },
    ...{ clientRef: `C-${index % 500}`, dueDate: '2026-03-01', amountDue: `${100 + index}.00` },
  }));
  return { data: invoices, hasMore: false, nextCursor: null };
}

/** Runs the command on a file of so many lines. Returns how much memory it takes, too. */
async function run(name: string, lines: Iterable<string>, ...words: string[]) {
  records = 0;
  await pipeline(Readable.from(lines), createWriteStream(join(folder, name)));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  // Those with which the command is installed.
  const [shebang = ''] = (await readFile(main, 'utf8')).split('\n');
  const flags = shebang.split(' ').filter((word) => word.startsWith('--'));
  const reported = ['--import', `data:text/javascript,${encodeURIComponent(report)}`];
  const child = spawn(process.execPath, [...flags, ...reported, main, ...words], {
    cwd: folder,
    env: { ...process.env, API_URL: `http://127.0.0.1:${port}`, API_TENANT: 'firm', API_KEY: 'key' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const [, kilobytes = ''] = /kilobytes (\d+)/.exec(errors) ?? [];
  const megabytes = Number(kilobytes) / 1000;
  console.log(`${name}: ${Math.round(megabytes)} MB for ${rows} rows`);
  expect(code, errors).toBe(0);
  return { output, errors, megabytes };
}

/** Lines of a file with so many rows in its middle. */
function* fileOf(start: string, row: (index: number) => string, end = ''): Generator<string> {
  yield start;
  for (let index = 0; index < rows; index += 1) yield row(index);
  yield end;
}

test('import of 200,000 rows takes at most 150 MB', async () => {
  const row = (index: number) =>
    `"Customer ${index}, Ltd",Company ${index},+1503555${String(index).padStart(6, '0')},c${index}@example.com,${index} Alder Court,Portland,OR,97214,US\r\n`;
  const header = 'Customer,Company,Phone,Email,Bill street,Bill city,Bill state,Bill ZIP,Bill country\r\n';
  const words = ['import', 'quickbooks-customers', 'all.csv', '--apply'];
  const { output, errors, megabytes } = await run('all.csv', fileOf(header, row), ...words);
  expect(megabytes).toBeLessThan(150);
  expect(records).toBe(2 * rows);
  expect(output).toMatch(/created +400,000/);
  expect(errors).toContain('Stored 200,000 of 200,000 rows');
});

const day = (index: number) => String(1 + Math.floor((index * 28) / rows)).padStart(2, '0');
const payer = (index: number) => `Customer ${index % 500}`;
const words = (index: number) => `Payment of invoice INV-${index % openInvoices} with thanks`;
const balance = (code: string, amount: string) =>
  `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp><Amt Ccy="USD">${amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd></Bal>`;
const sum = `${rows * 17}.00`;
const camt = (
  content: string,
) => `<?xml version="1.0"?><Document><BkToCstmrStmt><Stmt><Acct><Id><IBAN>DE02</IBAN></Id></Acct>
${balance('OPBD', '0.00')}${balance('CLBD', sum)}${content}`;
const transaction = (index: number) => `<TxDtls><Refs><TxId>t${index}</TxId></Refs><Amt Ccy="USD">17.00</Amt>
<RltdPties><Dbtr><Pty><Nm>${payer(index)}</Nm></Pty></Dbtr></RltdPties><RmtInf><Ustrd>${words(index)}</Ustrd></RmtInf></TxDtls>`;
const entry = (amount: string, date: string) =>
  `<Ntry><Amt Ccy="USD">${amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd><BookgDt><Dt>2026-03-${date}</Dt></BookgDt>`;
const end = '</Stmt></BkToCstmrStmt></Document>';

test.for([
  [
    'large.ofx',
    fileOf(
      'OFXHEADER:100\n\n<OFX><STMTRS><CURDEF>USD<BANKACCTFROM><ACCTID>1</BANKACCTFROM><BANKTRANLIST>\n',
      (index) =>
        `<STMTTRN><DTPOSTED>202603${day(index)}<TRNAMT>17.00<FITID>f${index}<NAME>${payer(index)}<MEMO>${words(index)}</STMTTRN>\n`,
      '</BANKTRANLIST></STMTRS></OFX>\n',
    ),
  ],
  [
    'large.xml',
    fileOf(
      camt(''),
      (index) =>
        `${entry('17.00', day(index))}<AcctSvcrRef>r${index}</AcctSvcrRef><NtryDtls>${transaction(index)}</NtryDtls></Ntry>\n`,
      end,
    ),
  ],
  [
    'batch.xml',
    fileOf(
      camt(''),
      (index) => {
        const start =
          index % 1_000 === 0 ? `${entry('17000.00', day(index))}<AcctSvcrRef>e${index}</AcctSvcrRef><NtryDtls>` : '';
        return `${start}${transaction(index)}${index % 1_000 === 999 ? '</NtryDtls></Ntry>' : ''}`;
      },
      end,
    ),
  ],
  [
    'large.sta',
    fileOf(
      ':20:A\n:25:1\n:28C:1/1\n:60F:C260301USD0,00\n',
      (index) => `:61:2603${day(index)}C17,00NTRFNONREF//b${index}\n:86:/NAME/${payer(index)}/REMI/${words(index)}\n`,
      `:62F:C260331USD${sum.replace('.', ',')}\n-\n`,
    ),
  ],
  [
    'large.bai',
    fileOf(
      `01,1,2,260331,0200,1,80,1,2/\n02,1,2,1,260331,2359,USD,2/\n03,9,,010,0,,,015,${rows * 1_700},,/\n`,
      (index) => `16,142,1700,0,R${index},,${payer(index)}, ${words(index)}\n`,
      '49,1,1/\n98,1,1,1/\n99,1,1,1/\n',
    ),
  ],
  [
    'large.csv',
    fileOf(
      'Date,Amount,Currency,Account,Payer,Text\r\n',
      (index) => `2026-03-${day(index)},17.00,USD,1,${payer(index)},"${words(index)}, ${index}"\r\n`,
    ),
  ],
  // A tenth of the movements takes 140 MB, and the more the machine has to do, the later V8 collects what they leave.
] as const)('bank with 200,000 movements in %s takes at most 200 MB', async ([name, lines]) => {
  const { output, errors, megabytes } = await run(
    name,
    lines,
    'bank',
    name,
    '--suspense',
    '--apply',
    '--min-score',
    '50',
  );
  expect(records).toBe(rows);
  expect(megabytes).toBeLessThan(200);
  expect(output).toMatch(/payments recorded +200,000\n/);
  expect(errors).toContain('Read 200,000 movements');
  expect(errors).toContain('Recorded 200,000 of 200,000 movements');
});
