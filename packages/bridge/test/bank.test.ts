/** Bank statements in our own words from their documented formats: what they pay, once, and what is not read. */
import { beforeAll, expect, test } from 'vitest';
import { orThrow } from '../../client/src/index.ts';
import { bai2, balances, camt, entry, mt940, ofx, statement } from './bank-files.ts';
import { bridgeForFile } from './bridge.ts';

const { api, file, read, run, runTwice } = await bridgeForFile();

beforeAll(async () => {
  const line = { lineType: 'OTHER', description: 'Advice', quantity: '1', taxable: false } as const;
  const dates = { invoiceDate: '2026-02-01', dueDate: '2026-03-01' };
  const clients = { a: 'Harbor & Pine LLC', b: 'Möwe Söhne GmbH', c: 'Tern Ltd' };
  const due = [
    ['INV-2026-001', 'a', '1250.00'],
    ['INV-2026-002', 'a', '300.00'],
    ['INV-2026-003', 'b', '300.00'],
    ['INV-2026-004', 'b', '99.50'],
    ['INV-2026-005', 'c', '700.00'],
    ['INV-2026-006', 'c', '42.00'],
  ] as const;
  const { records } = await orThrow(
    api.upsertRecords({
      body: {
        records: [
          ...Object.entries(clients).map(([systemRef, name]) => ({
            type: 'Client' as const,
            systemRef,
            attributes: { name },
          })),
          ...due.map(([invoiceNumber, client, unitAmount]) => ({
            type: 'Invoice' as const,
            systemRef: invoiceNumber,
            source: 'IMPORT' as const,
            attributes: {
              ...dates,
              invoiceNumber,
              pmsRef: invoiceNumber,
              clientId: { systemRef: client },
              lines: [{ ...line, unitAmount }],
            },
          })),
        ],
      },
    }),
  );
  expect(records.map(({ error }) => error)).toEqual(records.map(() => null));
});

test('bank proposes payments of an OFX file, and records those above the bound once, however often the file comes', async () => {
  await file('march.ofx', ofx);
  const dry = await run('bank', 'march.ofx');
  // Not everything could be recorded.
  expect(dry).toMatchObject({ code: 1, errors: '' });
  expect(dry.output).toMatch(/1250\.00 {2}HARBOR & PINE .* 100 {2}INV-2026-001 \(number, amount, payer\)/);
  expect(dry.output).toMatch(/300\.00 {2}Someone .* 20 {2}INV-2026-00[23] \(2 invoices have this amount\)/);
  expect(await payments()).toEqual([]);
  expect(await run('bank', 'march.ofx', '--apply')).toMatchObject({
    code: 2,
    errors: expect.stringContaining('--min-score'),
  });

  // Two at once, and again.
  const words = ['bank', 'march.ofx', '--apply', '--min-score', '90'];
  const both = await runTwice(...words);
  expect(both.map(({ code, errors }) => [code, errors])).toEqual([
    [1, ''],
    [1, ''],
  ]);
  expect((await run(...words)).output).toMatch(/recorded already +1\n/);
  expect(await payments()).toEqual(['2026-03-05 1250.00 INV-2026-001']);
  expect(await read('march.failed.csv')).toMatch(
    /^bank:payment:2026-03-06:[0-9a-f]+,2026-03-06,300\.00,USD,000123,Someone,Someone thanks,,"?INV-2026-00[23], score 20/m,
  );

  // The bookkeeper names the invoice.
  await file('named.csv', (await read('march.failed.csv')).replace('thanks', 'INV-2026-002'));
  expect((await run('bank', 'named.csv', '--apply', '--min-score', '90')).output).toMatch(/payments recorded +1\n/);
  const last = await run(...words);
  expect(last.output).toMatch(/recorded already +2\n/);
  expect(last.code).toBe(0);
  expect(await payments()).toEqual(['2026-03-05 1250.00 INV-2026-001', '2026-03-06 300.00 INV-2026-002']);
});

test('bank reads CAMT.053, and matches an amount and a payer, and a part of an invoice', async () => {
  const entries =
    entry('300.00', 'Moewe &amp; MÖWE SÖHNE', 'Danke') + entry('50.00', 'Möwe Söhne GmbH', 'Rg INV-2026-004 Teil 1');
  await file('camt.xml', camt(statement('DE02', balances('450.00') + entries)));
  const { output, errors } = await run('bank', 'camt.xml', '--apply', '--min-score', '65');
  expect(errors).toBe('');
  expect(output).toMatch(/50\.00 .* 65 {2}INV-2026-004 \(number, payer; 49\.50 stays due\)/);
  expect(await payments()).toContain('2026-03-10 50.00 INV-2026-004');
});

test('bank reads MT940 with numbered details, BAI2 in cents, and CSV with a mapping', async () => {
  await file('bank.sta', mt940);
  expect((await run('bank', 'bank.sta', '--apply', '--min-score', '90')).output).toMatch(/payments recorded +1\n/);
  await file('bai.txt', bai2);
  const bai = await run('bank', 'bai.txt', '--apply', '--min-score', '65');
  expect(bai.output).toMatch(/INV-2026-005 \(number, payer; 100\.00 stays due\)/);
  await file(
    'bank.json',
    JSON.stringify({ records: 'bank', system: 'bank', columns: { date: 'Tag', amount: 'Betrag', text: 'Zweck' } }),
  );
  await file('bank.csv', 'Tag;Betrag;Zweck\n14.03.2026;1.042,00;zu viel INV-2026-006 Tern\n');
  const words = [
    'bank',
    'bank.csv',
    '--mapping',
    'bank.json',
    '--apply',
    '--min-score',
    '50',
    '--dates',
    'dmy',
    '--decimal',
    'comma',
  ];
  expect((await run(...words)).errors).toContain('--account');
  expect((await run(...words, '--account', 'Spar')).errors).toContain('--currency');
  const csv = await run(...words, '--account', 'Spar', '--currency', 'USD');
  expect(csv.output).toMatch(/INV-2026-006 \(number, payer; 1000\.00 more than is due\)/);
  // The movements have no keys of the bank: after somebody wrote a number into the text, they are still the same.
  await file('text.csv', 'Tag;Betrag;Zweck\n15.03.2026;9,00;Gruss\n15.03.2026;9,00;Gruss\n');
  const again = words.with(1, 'text.csv').concat('--account', 'Spar', '--currency', 'USD');
  expect((await run(...again)).output).toMatch(/match no open invoice +2\n/);
  await file('named.csv', (await read('text.failed.csv')).replaceAll('Gruss', 'INV-2026-005'));
  expect((await run('bank', 'named.csv', '--apply', '--min-score', '50')).output).toMatch(/payments recorded +2\n/);
  expect((await run(...again, '--suspense')).output).toMatch(/\n\n {2}recorded already +2\n$/);
  expect(await payments()).toEqual(
    expect.arrayContaining([
      '2026-03-11 49.50 INV-2026-004',
      '2026-03-13 600.00 INV-2026-005',
      '2026-03-14 1042.00 INV-2026-006',
    ]),
  );
});

test('bank records nothing of a file that it rejects, and matches no invoice in another currency', async () => {
  const before = await payments();
  await file(
    'half.xml',
    camt(statement('DE02', balances('142.00') + entry('42.00', 'Tern', 'INV-2026-005'))).slice(0, -40),
  );
  expect(await run('bank', 'half.xml', '--apply', '--min-score', '1')).toEqual({
    code: 2,
    output: '',
    errors: expect.stringContaining('not complete XML'),
  });
  await file('gbp.xml', camt(statement('GB01', entry('100.00', 'Tern Ltd', 'INV-2026-005'))).replaceAll('USD', 'GBP'));
  const other = await run('bank', 'gbp.xml', '--apply', '--min-score', '1');
  expect(other.output).toContain('account GB01, GBP');
  expect(other.output).toContain('no open invoice has this number or amount\n');
  expect(await payments()).toEqual(before);
});

test('bank rejects a CSV file with an amount without a date, and names its line', async () => {
  await file('dateless.csv', 'Date,Amount,Text\n2026-03-16,9.00,one\n,,balance\n,42.00,INV-2026-006\n');
  const words = ['bank', 'dateless.csv', '--account', 'Spar', '--currency', 'USD', '--apply', '--min-score', '1'];
  expect(await run(...words)).toEqual({
    code: 2,
    output: '',
    errors: expect.stringContaining('Line 4: Date is missing. Correct it'),
  });
});

test('bank --suspense records what matches no invoice once, as a payment of an unknown payer, also after its client is set', async () => {
  await file('unknown.xml', camt(statement('DE09', entry('17.35', 'Nobody we know', 'hello'))));
  const without = await run('bank', 'unknown.xml', '--apply', '--min-score', '90');
  expect(without.code).toBe(1);
  expect(without.output).toMatch(/match no open invoice +1\n(.*\n)*Add --suspense /);
  expect(await read('unknown.failed.csv')).toContain('no open invoice has this number or amount');
  const words = ['bank', 'unknown.xml', '--suspense', '--apply', '--min-score', '90'];
  expect((await run('bank', 'unknown.xml', '--suspense')).output).toMatch(/of them of unknown payers +1\n/);
  expect(await unidentified()).not.toContain('17.35 Nobody we know');
  const both = await runTwice(...words);
  expect(both.map(({ code, errors }) => [code, errors])).toEqual([
    [0, ''],
    [0, ''],
  ]);
  expect((await unidentified()).filter((one) => one === '17.35 Nobody we know')).toHaveLength(1);
  const { data } = await orThrow(
    api.searchPayments({ body: { where: { clientId: { _is_null: true }, amount: { _eq: '17.35' } } } }),
  );
  const attributes = { clientId: { systemRef: 'c' } };
  const records = [{ type: 'Payment' as const, systemRef: data[0]?.systemRef ?? '', attributes }];
  expect(await orThrow(api.updateRecords({ body: { records } }))).toMatchObject({ summary: { updated: 1 } });
  expect((await run(...words)).output).toMatch(/recorded already +1\n/);
  expect(await unidentified()).not.toContain('17.35 Nobody we know');
});

test('export writes a journal that balances, and the statements of clients with a balance once', async () => {
  await file('journal.csv', 'older');
  const words = ['--from', '2026-01-01', '--to', '2026-12-31'];
  const { output, errors } = await run('export', 'journal', ...words, '--file', 'journal.csv');
  expect({ errors, output }).toEqual({
    errors: '',
    output: expect.stringMatching(/USD: debit (\d+\.\d\d), credit \1; they balance/),
  });
  const lines = (await read('journal.csv')).trimEnd().split('\r\n');
  expect(lines[0]).toBe(
    '\ufeffbusinessDate,postingId,documentNumber,accountCode,accountName,purpose,debit,credit,currency,taxName,taxRatePercent,reason,client',
  );
  expect(lines.filter((line) => line.includes('INV-2026-001') && line.endsWith('Harbor & Pine LLC'))).not.toEqual([]);
  expect(output).toContain(`${lines.length - 1} entries`);
  expect(
    (await run('export', 'journal', '--from', '2020-01-01', '--to', '2020-01-31', '--file', 'none.csv')).output,
  ).toContain('no entries');

  const statements = ['export', 'statements', ...words, '--folder', 'out', '--format', 'csv'];
  const first = await run(...statements);
  expect(first.output).toMatch(/^1 statement written to out\./m);
  expect((await run(...statements)).output).toMatch(/^0 statements .*\n1 statement there already/m);
  const [name = ''] = /\S+\.csv/.exec(first.output) ?? [];
  expect(await read(`out/${name}`)).toContain('INV-2026-005');
  const client = name.split('-2026')[0] ?? '';
  await run('export', 'statements', ...words, '--folder', 'out', '--client', client);
  expect((await read(`out/${name.replace('.csv', '.pdf')}`)).slice(0, 5)).toBe('%PDF-');
  expect((await run('export', 'statements', ...words, '--folder', 'out', '--client', 'X-0')).errors).toContain(
    'There is no client “X-0”.',
  );
});

test('export writes the documents of invoices once, and says what the others lack', async () => {
  const words = [
    'export',
    'invoices',
    '--from',
    '2026-01-01',
    '--to',
    '2026-12-31',
    '--folder',
    'invoices',
    '--format',
  ];
  const pdf = await run(...words, 'pdf');
  expect(pdf.output).toMatch(/^ {2}Firm-INV-2026-001-pdf\.pdf$/m);
  expect(pdf.code).toBe(0);
  expect((await read('invoices/Firm-INV-2026-001-pdf.pdf')).slice(0, 5)).toBe('%PDF-');
  const [count = ''] = /^\d+(?= documents written)/m.exec(pdf.output) ?? [];
  expect((await run(...words, 'pdf')).output).toContain(`0 documents written to invoices.\n${count} documents there`);

  const lacking = await run(...words, 'ubl');
  expect(lacking.code).toBe(1);
  expect(lacking.output).toContain(`0 documents written to invoices.\n${count} invoices without`);
  expect(await read('invoices/ubl.failed.csv')).toMatch(
    /^\ufeffInvoice,Client,Date,Missing,Reason\r\n(.+\r\n)*INV-2026-001,Harbor & Pine LLC,2026-\d\d-\d\d,\/org\/electronicAddress,/,
  );
});

test('bank, import and export journal are for one org of a firm with several', async () => {
  const place = { country: 'US', currency: 'USD', timeZone: 'UTC', fiscalYearStartMonth: 1 } as const;
  const names = { name: 'Second', legalName: 'Second', code: '2' };
  const org = { type: 'Org' as const, systemRef: 'second', attributes: { ...names, ...place } };
  expect(await orThrow(api.upsertRecords({ body: { records: [org] } }))).toMatchObject({ summary: { created: 1 } });
  await file('national.csv', 'Customer,Phone\nTern Ltd,555-0142\n');
  const national = await run('import', 'quickbooks-customers', 'national.csv');
  expect(national.errors, 'the file is read before the service is called').toContain('Add --calling-code');
  await file('customers.csv', 'Customer,Phone\nTern Ltd,\n');
  const customers = ['import', 'quickbooks-customers', 'customers.csv', '--apply'];
  expect(await run(...customers)).toMatchObject({ code: 2, errors: expect.stringContaining('second (Second)') });
  expect(await run(...customers, '--org', 'second')).toMatchObject({ code: 0 });
  const row = 'INV-2026-005,Tern Ltd,01/02/2026,01/03/2026,Advice,1,700.00,700.00';
  await file('invoices.csv', `Invoice no.,Customer,Invoice date,Due date,Product/Service,Qty,Rate,Amount\n${row}\n`);
  const invoices = ['import', 'quickbooks-invoices', 'invoices.csv', '--apply', '--dates', 'dmy', '--org', 'second'];
  expect(await run(...invoices)).toMatchObject({ code: 0, output: expect.stringMatching(/created +1\n/) });
  await file('second.xml', camt(statement('DE10', entry('700.00', 'Tern Ltd', 'INV-2026-005'))));
  const words = ['bank', 'second.xml', '--apply', '--min-score', '90'];
  expect(await run(...words)).toMatchObject({ code: 2, errors: expect.stringContaining('--org') });
  expect(await run(...words, '--org', 'second')).toMatchObject({ code: 0 });
  const { data } = await orThrow(
    api.searchInvoices({ body: { where: { invoiceNumber: { _eq: 'INV-2026-005' } }, with: ['org', 'client'] } }),
  );
  expect(data.map(({ amountDue, ...row }) => [row.with?.org?.name, row.with?.client?.name, amountDue])).toEqual([
    ['Firm', 'Tern Ltd', '82.00'],
    ['Second', 'Tern Ltd', '0.00'],
  ]);
  const journal = ['export', 'journal', '--from', '2026-01-01', '--to', '2026-12-31', '--file', 'second.csv'];
  expect((await run(...journal, '--org', 'second')).output).toContain('USD: debit 2100.00, credit 2100.00');
});

/** Payments without a client. */
async function unidentified(): Promise<string[]> {
  const found: string[] = [];
  for await (const { amount, payerName } of api.searchPayments.rows({
    body: { where: { clientId: { _is_null: true } } },
  }))
    found.push(`${amount} ${payerName}`);
  return found;
}

/** All payments with the numbers of their invoices, by day. */
async function payments(): Promise<string[]> {
  const numbers = new Map<string, string>();
  for await (const row of api.searchInvoices.rows({ body: {} })) numbers.set(row.id, row.invoiceNumber);
  const found: string[] = [];
  for await (const { paymentDate, amount, allocations } of api.searchPayments.rows({ body: {} }))
    found.push(`${paymentDate} ${amount} ${allocations.map(({ invoiceId }) => numbers.get(invoiceId)).join(' ')}`);
  return found.sort();
}
