import { describe, expect, test } from 'vitest';
import { CsvFile } from './csv.ts';

const cells = (...values: (string | null)[]) => new CsvFile('cells.csv', [values]).text;

test('a CSV file quotes cells with separators, quotes and line breaks, and ends lines as in RFC 4180', () => {
  expect(
    new CsvFile('rows.csv', [
      ['a', 'b'],
      ['x, y', 'say "no"'],
      ['two\nlines', null],
    ]).text,
  ).toBe('a,b\r\n"x, y","say ""no"""\r\n"two\nlines",\r\n');
});

describe('a CSV file', () => {
  test.each(['=1+1', '+1+1', '-1+1', '@SUM(A1)', '\t=1', ' =1', '\r=1', '＝1', '-', '-2-3', '=cmd|" /C calc"!A0'])(
    'shows %j as a text',
    (text) => expect(cells(text).replace(/^"/, '')).toMatch(/^'/),
  );
  test.each([
    ['x;=HYPERLINK("https://evil.example","pay")', `x;'=HYPERLINK("https://evil.example","pay")`],
    ['x;"=WEBSERVICE(A1);', `x;'"=WEBSERVICE(A1);`],
    ["x\n -2+cmd|' /C calc'!A0", "x\n' -2+cmd|' /C calc'!A0"],
    ['x\t@SUM(A1)', "x\t'@SUM(A1)"],
  ])('has no call in %j for spreadsheets that separate by semicolons', (text, shown) =>
    expect(
      cells(text)
        .replace(/^"(.*)"\r\n$/s, '$1')
        .replaceAll('""', '"')
        .trimEnd(),
    ).toBe(shown),
  );
  test.each(['Call; -5 minutes', 'x;y=f(x)', '-12.50', '12', '0.00', 'a=b', "it's", '2026-01-31', ''])(
    'leaves %j as it is',
    (text) => expect(cells(text)).toBe(`${text}\r\n`),
  );
});
