/** What files of people have, without a service: what has two readings is asked for, and what is wrong is named. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openTable } from '../src/files/table.ts';
import { parseDay } from '../src/files/values.ts';
import { readMapping } from '../src/import/form.ts';
import { forms } from '../src/import/forms.ts';

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

test('a mapping requires the columns that it names, so that no value is left out in silence', async () => {
  const columns = { name: 'Client', email: 'E-Mail' };
  const path = await file('clients.json', JSON.stringify({ records: 'clients', system: 'practice', columns }));
  const form = await readMapping(path, { clients: ['name', 'email'] });
  const csv = await file('clients.csv', 'Client,Mail\nTern Ltd,post@tern.example\n');
  await expect(openTable(csv, form.columns, form.required ?? [])).rejects.toThrow(
    'clients.csv has no column “E-Mail”. It has Client, Mail.',
  );
});
