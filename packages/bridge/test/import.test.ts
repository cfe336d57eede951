/** Exports of other systems, in our own words from their documented forms. */
import { expect, test } from 'vitest';
import { orThrow } from '../../client/src/index.ts';
import { bridgeForFile } from './bridge.ts';

const { api, file, killWhen, read, run, runTwice } = await bridgeForFile();

const customers = `Customer Contact List
Hartwell Advisory

Customer,Company,Phone,Email,Bill street,Bill city,Bill state,Bill ZIP,Bill country,Terms
"Cedar, Ferry & Co.",Cedar Ferry Company,(503) 555-0142,ines@cedar.example,"27 Alder Court
Suite 5",Portland,OR,97214,USA,Net 15
"Cedar, Ferry & Co.:Return 2024",,,,,,,,,
Café Zoë,,+15035550143,,,,,,,Due on receipt
=SUM(A1),,,not an address,,,,,,
`;

test('import of QuickBooks customers asks, rehearses, stores once, and writes what failed into a file of the same form', async () => {
  await file('customers.csv', customers);
  const words = ['import', 'quickbooks-customers', 'customers.csv'];
  const asked = await run(...words);
  expect(asked).toMatchObject({ code: 2, errors: expect.stringContaining('such as --calling-code 1') });
  words.push('--calling-code', '1');
  expect(await run(...words)).toMatchObject({ code: 1, output: expect.stringContaining('Nothing is stored') });
  expect(await count('Client')).toBe(0);

  const first = await run(...words, '--apply');
  expect(figuresOf(first.output)).toEqual({ created: 4, 'rows that failed': 1 });
  for (const round of ['second', 'third'])
    expect(await figures(...words, '--apply'), round).toEqual({ unchanged: 4, 'rows that failed': 1 });
  const clients = await orThrow(api.searchClients({ body: { orderBy: [{ name: 'asc' }] } }));
  expect(clients.data).toMatchObject([
    { name: 'Café Zoë', phone: '+15035550143', paymentTermsDays: 0 },
    { name: 'Cedar, Ferry & Co.', legalName: 'Cedar Ferry Company', phone: '+15035550142', paymentTermsDays: 15 },
  ]);
  const { data } = await orThrow(api.listContactInfos({ body: {} }));
  expect(data[0]?.address).toMatchObject({ line1: '27 Alder Court\nSuite 5', country: 'US', state: 'OR' });
  expect(await read('customers.failed.csv')).toMatch(/Terms,Reason\r\n'=SUM\(A1\),,,not an address,.*email: /s);

  const corrected = (await read('customers.failed.csv')).replace('not an address', 'sum@cedar.example');
  await file('corrected.csv', corrected);
  const last = await run('import', 'quickbooks-customers', 'corrected.csv', '--apply');
  expect(figuresOf(last.output)).toEqual({ created: 1 });
  expect((await orThrow(api.searchClients({ body: { where: { name: { _eq: '=SUM(A1)' } } } }))).data).toHaveLength(1);
});

test('import of QuickBooks invoices and payments keeps numbers, lines, tax and balances', async () => {
  await file(
    'invoices.csv',
    `*InvoiceNo,*Customer,*InvoiceDate,*DueDate,Memo,Item(Product/Service),ItemDescription,ItemQuantity,ItemRate,*ItemAmount,Tax rate
Q-1,"Cedar, Ferry & Co.:Return 2024",03/31/2025,04/15/2025,,Advice,Return 2024,4,225.00,900.00,8.25%
Q-1,"Cedar, Ferry & Co.:Return 2024",03/31/2025,04/15/2025,,Discount,"Thanks, ""old"" friend",,,-100.00,
Q-2,Café Zoë,04/01/2025,,,Advice,,1.66666667,900.00,"1,500.00",
Q-3,Nobody,04/01/2025,,,Advice,,1,10.00,10.00,
Q-4,Café Zoë,02/30/2025,,,Advice,,1,10.00,10.00,
Q-1,Café Zoë,04/01/2025,,,Advice,,1,10.00,10.00,
`,
  );
  const words = ['import', 'quickbooks-invoices', 'invoices.csv', '--apply'];
  expect((await run(...words)).errors).toContain('Add --dates mdy.');
  words.push('--dates', 'mdy');
  const first = await run(...words);
  expect(figuresOf(first.output)).toEqual({ created: 2, 'rows that failed': 3 });
  expect(await figures(...words)).toEqual({ unchanged: 2, 'rows that failed': 3 });
  const failed = await read('invoices.failed.csv');
  expect(failed).toMatch(/Q-3,.*There is no client “Nobody”/);
  expect(failed).toMatch(/Q-4,.*“02\/30\/2025” is not a date of the calendar/);
  expect(failed).toMatch(/Q-1,Café.*An earlier row has the same key/);

  await file(
    'payments.csv',
    `Date;Customer;Ref no.;Payment method;Invoice no.;Amount;Memo
20.04.2025;Cedar, Ferry & Co.;1021;Check;Q-1;74,25;
20.04.2025;Café Zoë;1021;Check;Q-2;1.000,00;first part
21.04.2025;Café Zoë;;Visa;Q-2;100,00;
21.04.2025;Café Zoë;;Visa;Q-2;100,00;
22.04.2025;Café Zoë;;Visa;Q-99;100,00;
`,
  );
  const payments = ['import', 'quickbooks-payments', 'payments.csv', '--dates', 'dmy', '--apply'];
  expect((await run(...payments)).errors).toContain('Add --decimal comma.');
  payments.push('--decimal', 'comma');
  // Two at once store the same rows.
  const both = await runTwice(...payments);
  expect(both.map(({ code, errors }) => [code, errors])).toEqual([
    [1, ''],
    [1, ''],
  ]);
  expect(await figures(...payments)).toEqual({ unchanged: 4, 'rows that failed': 1 });
  expect(await read('payments.failed.csv')).toMatch(/Q-99;100,00;;There is no invoice “Q-99”/);
  const invoices = await orThrow(api.searchInvoices({ body: { orderBy: [{ invoiceNumber: 'asc' }] } }));
  expect(invoices.data).toMatchObject([
    { invoiceNumber: 'Q-1', subtotal: '900.00', taxTotal: '74.25', total: '874.25', amountDue: '800.00' },
    { invoiceNumber: 'Q-2', invoiceDate: '2025-04-01', total: '1500.00', amountDue: '300.00' },
  ]);
  expect(await count('Payment')).toBe(4);
});

test('import stores the same rows after a kill, by two runs at once, and again, and leaves no half file of failures', async () => {
  const names = Array.from({ length: 300 }, (_, index) => `Customer ${index}`);
  await file('many.csv', `Name,Email\r\n${names.map((name) => `${name},\r\n`).join('')}Bad,nowhere\r\n`);
  await file('many.failed.csv', 'of an earlier run');
  const before = await count('Client');
  const words = ['import', 'quickbooks-customers', 'many.csv', '--apply'];
  await killWhen(async () => (await count('Client')) > before, ...words);
  expect(await count('Client')).toBeLessThan(before + names.length);
  expect(await read('many.failed.csv')).toBe('of an earlier run');
  await runTwice(...words);
  expect(await figures(...words)).toEqual({ unchanged: 300, 'rows that failed': 1 });
  expect(await read('many.failed.csv')).toMatch(/^\ufeffName,Email,Reason\r\nBad,nowhere,.*\r\n$/);
  expect(await count('Client')).toBe(before + names.length);
});

test('import of Xero contacts, invoices and credit notes brings paid amounts, inclusive tax and voids', async () => {
  const contacts = `*ContactName,AccountNumber,EmailAddress,POAddressLine1,POCity,POPostalCode,POCountry,TaxNumber
Möwe & Söhne,X-100,post@moewe.example,Kai 1,Hamburg,20457,Germany,DE 136695976
Tern Ltd,X-101,,,,,,
`;
  // UTF-16 with a byte order mark, as spreadsheets save it.
  await file('contacts.csv', Buffer.from(`\ufeff${contacts}`, 'utf16le'));
  expect(await figures('import', 'xero-contacts', 'contacts.csv', '--apply')).toEqual({ created: 3 });

  const header =
    'ContactName,InvoiceNumber,Reference,InvoiceDate,DueDate,Total,InvoiceAmountPaid,Description,Quantity,UnitAmount,LineAmount,TaxAmount,Currency,Type,Status';
  const invoices = `${header}
Möwe & Söhne,INV-1,PO 7,2025-05-02,2025-05-30,340.00,340.00,Beratung,1,340.00,340.00,54.29,USD,Sales invoice,Paid
Tern Ltd,INV-2,,2025-05-03,2025-06-02,120.00,20.00,Advice,2,50.00,100.00,20.00,USD,Sales invoice,Awaiting Payment
Tern Ltd,INV-3,,2025-05-04,2025-06-02,10.00,0,Advice,1,10.00,10.00,0,USD,Sales invoice,Voided
Tern Ltd,INV-4,,2025-05-04,2025-06-02,10.00,0,Advice,1,10.00,10.00,0,USD,Sales invoice,Draft
Tern Ltd,INV-5,,2025-05-04,2025-06-02,99.00,0,Advice,1,10.00,10.00,0,USD,Sales invoice,Paid
`;
  // As an old spreadsheet saves it.
  await file('xero.csv', Buffer.from(invoices, 'latin1'));
  const words = ['import', 'xero-invoices', 'xero.csv', '--apply'];
  expect((await run(...words)).errors).toContain('--encoding windows-1252');
  words.push('--encoding', 'windows-1252');
  expect((await run(...words)).errors).toContain('--paid-on');
  words.push('--paid-on', 'due-date');
  expect(await figures(...words)).toEqual({ created: 5, 'rows that failed': 2 });
  expect(await figures(...words)).toEqual({ unchanged: 5, 'rows that failed': 2 });

  await file(
    'notes.csv',
    `${header.replace('InvoiceNumber', 'CreditNoteNumber')}
Tern Ltd,CN-9,,2025-06-01,,24.00,,Advice,1,20.00,20.00,4.00,USD,Sales credit note,Awaiting payment
`,
  );
  expect(await figures('import', 'xero-credit-notes', 'notes.csv', '--apply')).toEqual({ created: 1 });
  const where = { invoiceNumber: { _in: ['INV-1', 'INV-2', 'INV-3', 'CN-9'] } };
  const stored = await orThrow(api.searchInvoices({ body: { where, orderBy: [{ invoiceNumber: 'asc' }] } }));
  expect(stored.data).toMatchObject([
    { invoiceNumber: 'CN-9', documentType: 'CREDIT_NOTE', total: '-24.00', taxTotal: '-4.00' },
    { invoiceNumber: 'INV-1', status: 'PAID', total: '340.00', taxTotal: '54.29', paidDate: '2025-05-30' },
    { invoiceNumber: 'INV-2', status: 'PARTIALLY_PAID', total: '120.00', amountDue: '100.00' },
    { invoiceNumber: 'INV-3', status: 'VOIDED' },
  ]);
});

test('import of mapped files brings staff, clients, jobs and time, and of a clock the time of the same people', async () => {
  await orThrow(api.createStaffTypes({ body: { items: [{ name: 'Senior', code: 'SR', rank: 2, isBillable: true }] } }));
  const mapping = (records: string, columns: object, more: object = {}) =>
    file(`${records}.json`, JSON.stringify({ records, system: 'practice', columns, ...more }));
  const write = async (records: string, content: string) => {
    await file(`${records}.csv`, content);
    const words = ['--mapping', `${records}.json`, '--dates', 'dmy', '--decimal', 'comma', '--apply'];
    const { output, errors } = await run('import', 'mapped', `${records}.csv`, ...words);
    return errors === '' ? figuresOf(output) : errors;
  };
  await mapping('staff', { number: 'Nr', name: 'Person', email: 'Mail' }, { constants: { staffType: 'SR' } });
  expect(await write('staff', 'Nr;Person;Mail\n7;"Okoye, Ada";Ada@Firm.example\n')).toEqual({ created: 1 });
  await mapping(
    'clients',
    { number: 'Code', name: 'Mandant', status: 'Stand' },
    { values: { status: { aktiv: 'ACTIVE', alt: 'INACTIVE' } } },
  );
  expect(
    await write(
      'clients',
      'Code;Mandant;Stand\nM1;Birke KG;aktiv\nM2;Esche KG;alt\nM3;Ulme;neu\nM4;;aktiv\nSumme;;4\n',
    ),
  ).toEqual({
    created: 2,
    'rows that failed': 2,
    'totals and notes left out': 1,
  });
  expect(await read('clients.failed.csv')).toContain('M4;;aktiv;Mandant is missing.');
  expect(await read('clients.failed.csv')).toContain('Stand “neu” is not one of PROSPECT, ACTIVE, INACTIVE, ARCHIVED.');
  await mapping('jobs', { number: 'Auftrag', name: 'Titel', client: 'Mandant', due: 'Frist' });
  expect(await write('jobs', 'Auftrag;Titel;Mandant;Frist\nA-1;Abschluss;M1;31.12.2026\n')).toEqual({ created: 1 });
  await mapping('time', { staff: 'Wer', date: 'Tag', hours: 'Std', job: 'Auftrag', description: 'Text' });
  const hours =
    'Wer;Tag;Std;Auftrag;Text\n7;05.01.2026;1,5;A-1;gleich\n7;05.01.2026;1,5;A-1;gleich\n7;06.01.2026;25;A-1;\n';
  expect(await write('time', hours)).toEqual({ created: 2, 'rows that failed': 1 });
  expect(await write('time', hours)).toEqual({ unchanged: 2, 'rows that failed': 1 });

  await file(
    'clock.csv',
    `Email,Date,Start time,End time,Break,Job
ada@firm.example,2026-01-07,22:30,00:15,15,A-1
Ada Okoye,2026-01-08,9:00 AM,12:30 PM,,A-1
ada@firm.example,2026-01-09,9:00 AM,,,A-1
`,
  );
  const clock = await run('import', 'clock', 'clock.csv', '--apply', '--time-as', 'draft');
  expect(figuresOf(clock.output)).toEqual({ created: 2, 'rows that failed': 1 });
  await file(
    'qb-time.csv',
    `Activity Date,Employee,Customer,Memo/Description,Duration,Billable
2026-01-12,Ada Okoye,Birke KG,Call,0:45,No
`,
  );
  const missing = await run('import', 'quickbooks-time', 'qb-time.csv', '--apply');
  expect(missing.output).toContain('There is no client “Birke KG”. Import or create it first');
  const entries = await orThrow(api.searchTimeEntries({ body: { orderBy: [{ workDate: 'asc' }] } }));
  expect(entries.data.map(({ workDate, hours: time, status }) => [workDate, time, status])).toEqual([
    ['2026-01-05', '1.50', 'SUBMITTED'],
    ['2026-01-05', '1.50', 'SUBMITTED'],
    ['2026-01-07', '1.50', 'DRAFT'],
    ['2026-01-08', '3.50', 'DRAFT'],
  ]);
});

async function count(type: 'Client' | 'Payment'): Promise<number> {
  const body = { includeTotal: true, pageSize: 1 };
  if (type === 'Client') return (await orThrow(api.searchClients({ body }))).total ?? -1;
  return (await orThrow(api.searchPayments({ body }))).total ?? -1;
}

/** Runs a command. @returns the figures that it prints */
async function figures(...words: string[]): Promise<Record<string, number>> {
  const { output, errors } = await run(...words);
  if (errors !== '') throw new Error(errors);
  return figuresOf(output);
}

function figuresOf(output: string): Record<string, number> {
  const found = [...output.matchAll(/^ {2}([a-z -]+?) {2,}(\d[\d,]*)$/gm)];
  return Object.fromEntries(found.map(([, name, figure]) => [name ?? '', Number(figure?.replaceAll(',', ''))]));
}
