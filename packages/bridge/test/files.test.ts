/** What files of people have, without a service: what has two readings is asked for, and what is wrong is named. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { parseBai2 } from '../src/bank/bai2.ts';
import { parseCamt053 } from '../src/bank/camt053.ts';
import { bankForm } from '../src/bank/csv.ts';
import { parseMt940 } from '../src/bank/mt940.ts';
import { parseOfx } from '../src/bank/ofx.ts';
import { openStatement } from '../src/bank/read.ts';
import type { BankPart } from '../src/bank/statement.ts';
import { progress } from '../src/commands/options.ts';
import { openTable } from '../src/files/table.ts';
import { parseDay } from '../src/files/values.ts';
import { readMapping } from '../src/import/form.ts';
import { forms } from '../src/import/forms.ts';
import { bai2, balances, camt, entry, mt940, ofx, statement } from './bank-files.ts';

const folder = await mkdtemp(join(tmpdir(), 'bridge-files-'));
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, content: string): Promise<string> {
  await writeFile(join(folder, name), content);
  return join(folder, name);
}

test('parseDay asks for the order and the century of a day that does not say them, and reads it then', () => {
  const dmy = { dates: 'dmy', twoDigitYears: '2000' } as const;
  const days = ['03/04/26', '3-Apr-26', '3 April 26', '03.04.2026', 'Apr 3, 26', '2026-04-03'];
  for (const day of days) expect(parseDay(day, dmy), day).toBe('2026-04-03');
  expect(parseDay('04/03/26', { ...dmy, dates: 'mdy' })).toBe('2026-04-03');
  expect(['70', '69', '26'].map((year) => parseDay(`03/04/${year}`, { ...dmy, twoDigitYears: '1970' }))).toEqual([
    '1970-04-03',
    '2069-04-03',
    '2026-04-03',
  ]);
  expect(() => parseDay('03/04/26', {})).toThrow(/Add --dates dmy .* --dates mdy .*; and add --two-digit-years 2000/);
  expect(() => parseDay('03/04/26', { dates: 'dmy' })).toThrow(/“03\/04\/26”. Add --two-digit-years 2000/);
  expect(() => parseDay('3-Apr-26', {})).toThrow('--two-digit-years');
  expect(() => parseDay('31/04/26', dmy)).toThrow('not a date of the calendar');
  expect(() => parseDay('03/04/126', dmy)).toThrow('“03/04/126” is not a date.');
});

test('openTable finds the columns before a quotation mark that is never closed, and reading says where it is', async () => {
  const { columns } = forms['quickbooks-customers'];
  const table = await openTable(await file('open.csv', 'Customer,Email\n"Never closed,a@b.example\nNext,\n'), columns, [
    'name',
  ]);
  await expect(table.rows().next()).rejects.toThrow(/not a CSV file from line \d+ on: a quotation mark/);
  await expect(openTable(await file('empty.csv', '\ufeff\n'), columns, ['name'])).rejects.toThrow(
    'empty.csv is empty.',
  );
  await expect(openTable(join(folder, 'none.csv'), columns, ['name'])).rejects.toThrow('There is no file');
});

test('progress is a line for every 10,000 rows, and one for the last', () => {
  const line = vi.spyOn(console, 'error').mockImplementation(() => {});
  const { show } = progress('Stored', 'rows');
  for (let count = 100; count <= 25_000; count += 100) show(count, 25_000);
  expect(line.mock.calls).toEqual([10, 20, 25].map((thousand) => [`Stored ${thousand},000 of 25,000 rows`]));
  line.mockRestore();
});

test('a mapping requires the columns that it names, so that no value is left out in silence', async () => {
  const columns = { name: 'Client', email: 'E-Mail' };
  const path = await file('clients.json', JSON.stringify({ records: 'clients', system: 'practice', columns }));
  const form = await readMapping(path, { clients: ['name', 'email'] });
  const csv = await file('clients.csv', 'Client,Mail\nTern Ltd,post@tern.example\n');
  await expect(openTable(csv, form.columns, form.required ?? [])).rejects.toThrow(
    'clients.csv has no column “E-Mail”. It has Client, Mail.',
  );
});

async function statementOf(name: string, content: string, options: { account?: string; currency?: string } = {}) {
  const path = await file(name, content);
  return openStatement({ path, form: bankForm, notation: {}, ignoreBalance: false, ...options }, () => {});
}

test('openStatement rejects a billion entities, a wrong balance, two accounts and half a file', async () => {
  const entities = [...'bcdefghij'].reduce(
    (text, name, index) => `${text}<!ENTITY ${name} "${`&${'abcdefghi'[index]};`.repeat(10)}">`,
    '<!ENTITY a "lol">',
  );
  const doctype = `<!DOCTYPE x [${entities}]>\n`;
  const good = camt(statement('DE02', balances('142.00') + entry('42.00', 'Tern', '&j; INV-2026-005')));
  const [one, two] = ['DE02', 'DE03'].map((iban) => statement(iban, entry('42.00', 'T', 'x')));
  const started = ':20:A\n:25:1\n:60F:C260309USD100,00\n:61:260311CR49,50NTRFNONREF\n';
  const cases = {
    'entities.xml': [good.replace('<Document', `${doctype}<Document`), 'document type'],
    'entities.ofx': [ofx.replace('<OFX>', `${doctype}<OFX>`), 'document type'],
    'wrong.xml': [
      camt(statement('DE02', balances('999.00') + entry('42.00', 'Tern', 'INV-2026-005'))),
      'does not add up: 100.00 and its movements are 142.00, but its closing balance is 999.00',
    ],
    'wrong.sta': [`${started}:62F:C260309USD100,00\n`, 'does not add up'],
    'wrong.txt': [bai2.replace('015,70000', '015,70001'), 'does not add up'],
    'two.xml': [camt(`${one}`, `${two}`), 'several accounts: DE02 (USD), DE03 (USD). Add --account'],
    'half.sta': [started, 'not complete'],
    'long.sta': [`${started}:86:${'x'.repeat(1_000_001)}`, 'more than 1,000,000 characters without a “line break”'],
  } as const;
  for (const [name, [content, reason]] of Object.entries(cases))
    await expect(statementOf(name, content), name).rejects.toThrow(reason);
});

test('openStatement chooses an account, and one of its currencies', async () => {
  const euros = statement('DE02', entry('17.00', 'Tern', 'x')).replaceAll('USD', 'EUR');
  const content = camt(statement('DE02', entry('42.00', 'T', 'x')), euros, statement('DE03', entry('1.00', 'T', 'x')));
  await expect(statementOf('all.xml', content, { account: 'DE02' })).rejects.toThrow(
    'and --currency if it has several',
  );
  const { account, currency, movements } = await statementOf('all.xml', content, { account: 'DE02', currency: 'EUR' });
  expect({ account, currency, movements }).toEqual({ account: 'DE02', currency: 'EUR', movements: 1 });
});

test.each([
  ['ABN AMRO', 'ABNANL2A\n940\nABNANL2A\n'],
  ['ING', '0000 01INGBNL2AXXXX00001\n0000 01INGBNL2AXXXX00001\n940 00\n'],
  ['mBank', '\u0001\r\n'],
  ['Rabobank', ':940:\n'],
])('openStatement reads MT940 with the header of %s, and all details of a movement', async (_bank, header) => {
  const movement = ':61:260311C500NTRFNONREF\n:86:INV-2026-004\n:86:MOEWE SOEHNE\n';
  const content = `${header}:20:A\n:25:NL02ABNA0123456789\n:28C:1/1\n:60F:C260309EUR100,00\n${movement}:62F:C260311EUR600,00\n-\n`;
  const opened = await statementOf('header.sta', content);
  expect(opened).toMatchObject({ account: 'NL02ABNA0123456789', currency: 'EUR', movements: 1 });
  for await (const { amount, text } of opened.lines())
    expect(`${amount.toFixed(2)} ${text}`).toBe('500.00 INV-2026-004 MOEWE SOEHNE');
});

const formats = {
  OFX: [ofx, parseOfx],
  'CAMT.053': [
    camt(
      statement('DE02', `${balances('450.00')}${entry('300.00', 'Möwe &amp; Söhne', 'a')}${entry('50.00', 'b', 'c')}`),
    ),
    parseCamt053,
  ],
  MT940: [mt940, parseMt940],
  BAI2: [bai2, parseBai2],
} as const;

test.for(Object.entries(formats))(
  '%s is read the same in parts of any size, and no part of it as a whole',
  async ([, [content, parse]]) => {
    const read = async (text: string, size: number): Promise<BankPart[]> => {
      async function* parts() {
        for (let from = 0; from < text.length; from += size) yield text.slice(from, from + size);
      }
      const found: BankPart[] = [];
      for await (const part of parse(parts())) found.push(part);
      return found;
    };
    const whole = await read(content, content.length);
    expect(whole.filter(({ line }) => line !== undefined).length).toBeGreaterThan(0);
    for (const size of [1, 2, 3, 7, 64]) expect(await read(content, size), `parts of ${size}`).toEqual(whole);
    for (let end = 0; end < content.length; end += 3) {
      const part = await read(content.slice(0, end), content.length).catch(() => undefined);
      // A balance that is cut does not agree with the movements.
      if (part !== undefined)
        expect(
          part.map(({ line }) => line),
          `the first ${end} characters`,
        ).toEqual(whole.map(({ line }) => line));
    }
  },
);
