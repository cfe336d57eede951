import { describe, expect, test } from 'vitest';
import { dataLists, listOf } from './catalog.ts';
import { decimal, money, when } from './formats.ts';
import { nameOf } from './values.ts';
import {
  comparisons,
  fieldAt,
  fieldInWords,
  operatorInWords,
  sentenceInWords,
  transitionInWords,
  typesInWords,
  valueInWords,
} from './words.ts';

describe('formats', () => {
  test('show amounts with separators, all places and their currency', () => {
    expect(['0.00', '999.5', '1000', '-1234567.89', '12345678901234567890.12'].map(decimal)).toEqual([
      '0.00',
      '999.5',
      '1,000',
      '-1,234,567.89',
      '12,345,678,901,234,567,890.12',
    ]);
    expect(money('1250.00', 'USD').text).toContain('1,250.00 <span class="soft">USD</span>');
  });

  test('take a time as text, on the clock of the firm', () => {
    const newYork = { timeZone: 'America/New_York' };
    expect(when(newYork, '2026-03-31T01:30:00.123Z').text).toMatch(/>Mar 30, 2026, 9:30\sPM</);
    expect(when(newYork, null).text).toContain('never');
    // @ts-expect-error a number is not a time: it was once shown as "never"
    const wrong = () => when(newYork, 1_774_920_600_000);
    expect(wrong).toBeTypeOf('function');
  });
});

test('sentences have words instead of names of the contract, but the names of people as they are', () => {
  expect(sentenceInWords('the invoice has neither a buyerReference nor a `purchaseOrder`')).toBe(
    'The invoice has neither a buyer reference nor a purchase order',
  );
  expect(sentenceInWords('WipEntry events are IN_REVIEW')).toBe('Work in progress events are in review');
  expect(sentenceInWords('The country, such as `EL` for Greece, and `EUR`.')).toBe(
    'The country, such as EL for Greece, and EUR.',
  );
  const roles = 'This operation requires the STAFF_R or DINVC_APRV role.';
  expect(sentenceInWords(roles)).toBe(roles);
  expect(sentenceInWords('None is called “McDonald eBay”.')).toBe('None is called “McDonald eBay”.');
});

test('a sentence about a field names it once, and a row without a name is called by its type', () => {
  const pointer = '/records/0/attributes/paymentDate';
  expect(fieldAt(pointer, 'The month is closed.')).toBe('Payment date: ');
  expect(fieldAt(pointer, 'paymentDate is in a closed month.')).toBe('');
  expect(fieldAt('/records/0/attributes/lines/1/quantity', 'quantity is zero.')).toBe('Line 2: quantity: ');
  const nameFor = (systemRef: string) => nameOf(listOf('TimeEntry'), { systemRef });
  expect([nameFor('console-01a22bdc-ec83-71d8-aa52-aca17de1d082'), nameFor('T-7')]).toEqual([
    'Time entry',
    'Time entry T-7',
  ]);
});

test('every name of a list, column and filter, and every state has words', () => {
  const offered = Object.values(comparisons).flatMap(([, ...operators]) => operators);
  const names = [...dataLists.values()].flatMap((list) => [
    ...[...offered, '_in', '_nin', '_gt', '_lt'].map(operatorInWords),
    typesInWords(list.type),
    ...[...list.properties.keys()].map(fieldInWords),
    ...list.filters.map(({ name }) => fieldInWords(name)),
    ...[...list.properties.values()].flatMap((schema) => [
      ...(schema.enum ?? []).map(valueInWords),
      ...(schema['x-state-machine']?.transitions ?? []).flatMap(({ from, to, operations, events }) =>
        // The others happen by themselves.
        operations === undefined && events !== undefined ? [] : from.map((state) => transitionInWords(state, to)),
      ),
    ]),
  ]);
  expect(names.filter((name) => /[a-z][A-Z]|_|^Change to|^$/.test(name))).toEqual([]);
});
