import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { exchangeOf, findingOf, operationOf, reportWith } from '../../test/doubles/report.ts';
import { progressLine, renderTerminal } from './terminal.ts';

const report = reportWith();
const lines = renderTerminal(report).split('\n');

test('a finding has everything needed to reproduce and fix it', () => {
  const text = lines.join('\n');
  for (const part of [
    '✗ 1  A client has a name that is too long.',
    '     listClients GET /v1/clients\n     error · responses · response-body\n',
    'expected   `name` has at most 200 characters.',
    'actual     `/items/3/name` has 201 characters.',
    'contract   openapi/schemas/client.yaml:12',
    'request    curl -i http://localhost:3000/clients -H "authorization: Bearer $TOKEN"',
    'response   200 application/json',
    'fix        Reject such names',
    'also in    getClient, searchClients',
  ]) {
    expect(text).toContain(part);
  }
});

test('a place in a document of one line is a pointer', () => {
  const place = { file: resolve('openapi.json'), line: 1, pointer: '#/paths/~1clients/get' };
  expect(renderTerminal(reportWith({ findings: [findingOf({ place })] }))).toContain(
    'openapi.json#/paths/~1clients/get',
  );
});

test('the part of the body that is wrong is shown with its pointer; if it is missing, its parent is', () => {
  expect(lines).toContainEqual(expect.stringMatching(/^ {16}\/items\/3\/name: "x+… \(218 characters\)$/));
  const finding = findingOf({
    pointer: '/items/1/b~1c',
    exchanges: [exchangeOf({}, { text: '{"items":[{"a":1},{"b/c":7}]}' })],
  });
  expect(renderTerminal(reportWith({ findings: [finding] }))).toContain('/items/1/b~1c: 7\n');
  const missing = { ...finding, pointer: '/items/0/d' };
  expect(renderTerminal(reportWith({ findings: [missing] }))).toMatch(/\/items\/0: \{\n +"a": 1\n/);
});

test('coverage, unreached operations with reasons, and the verdict are at the end', () => {
  expect(lines).toContainEqual(expect.stringMatching(/^ {2}operations +83 of 97 +85 %$/));
  expect(lines).toContain('  3 operations: It returns 501 NOT_IMPLEMENTED.');
  expect(lines).toContain('    listReportHistory, archiveReport, restoreReport');
  expect(lines.at(-2)).toMatch(/^3 findings in 83 of 97 operations, .* constraints; 12,345 requests, 41 s, seed 42$/);
  expect(lines[0]).toBe(lines.at(-2));
  expect(renderTerminal(reportWith({ findings: [] }))).toMatch(/^No findings in 83 of 97 operations/);
});

test('colors are used only on request', () => {
  expect(renderTerminal(report)).not.toContain('\u001b');
  expect(renderTerminal(report, { color: true })).toContain('\u001b[31m');
});

test('responses cannot control the terminal', () => {
  const evil = '\u001b]0;owned\u0007\u009b2J\r\u202e\u200b';
  const finding = findingOf({
    title: evil,
    expected: evil,
    actual: evil,
    fix: evil,
    operation: evil,
    also: [evil],
    exchanges: [
      exchangeOf(
        { method: 'POST', url: `http://host/${evil}`, headers: { 'x-evil': evil }, body: evil },
        { text: evil, mediaType: 'text/plain', headers: { location: evil } },
      ),
    ],
  });
  const text = renderTerminal(
    reportWith({
      title: evil,
      findings: [finding],
      notices: [evil],
      operations: [operationOf({ id: evil, reached: false, reason: evil })],
    }),
  );
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there.
  expect(text).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e]/);
});

test('very many findings are truncated, with a note', () => {
  const findings = Array.from({ length: 400 }, (_, index) => findingOf({ title: `Number ${index}` }));
  const text = renderTerminal(reportWith({ findings }));
  expect(text).toContain('… and 350 more findings: --json FILE has all.');
  expect(text).not.toContain('Number 399');
});

const progress = { phase: 'Refusals', done: 3, all: 97, requests: 1234, findings: 1 };

test('on a terminal, progress is one line that is updated', () => {
  const written: string[] = [];
  let now = 0;
  const line = progressLine({ write: (text) => written.push(text), isTTY: true, columns: 40 }, () => now);
  line.update(progress);
  line.update(progress);
  now = 41_000;
  line.update(progress);
  line.clear();
  expect(written).toEqual([
    '\r\u001b[KRefusals 3/97 · 1,234 requests, 1 findi',
    '\r\u001b[KRefusals 3/97 · 1,234 requests, 1 findi',
    '\r\u001b[K',
  ]);
});

test('without a terminal, progress is an occasional line', () => {
  const written: string[] = [];
  let now = 0;
  const line = progressLine({ write: (text) => written.push(text) }, () => now);
  for (now = 0; now <= 25_000; now += 500) line.update(progress);
  line.clear();
  expect(written).toEqual([
    'Refusals 3/97 · 1,234 requests, 1 finding · 10 s\n',
    'Refusals 3/97 · 1,234 requests, 1 finding · 20 s\n',
  ]);
});
