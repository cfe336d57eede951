/** Machine-readable reports: JSON, SARIF and JUnit. */
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { exchangeOf, findingOf, reportWith } from '../../test/doubles/report.ts';
import { renderJson, renderJunit, renderSarif, sarifLog } from './formats.ts';

const evil = '<&>"\' ]]> &lt; \u0000\u001b\ud800 é 😀';
const report = reportWith({
  findings: [
    findingOf(),
    findingOf({ title: evil, actual: evil, place: undefined, exchanges: [exchangeOf({}, { text: evil })] }),
    findingOf({ operation: 'GET /unknown', category: 'undeclared endpoints', title: 'It is not in the contract.' }),
  ],
});

const jsonOf = (one: typeof report) => JSON.parse(renderJson(one));

test('JSON has a version, all findings, and no secret', () => {
  const json = jsonOf(report);
  expect(Object.keys(json).sort()).toEqual([
    ...['accepted', 'coverage', 'findings', 'formatVersion', 'left', 'milliseconds', 'notices', 'operations', 'plan'],
    ...['requests', 'seed', 'shortfall', 'spec', 'stopped', 'title', 'url'],
  ]);
  expect(json.formatVersion).toBe(2);
  expect(json.stopped).toBeNull();
  expect(json.findings[1]).toMatchObject({ title: evil, place: null });
  expect(json.findings[0]?.exchanges[0]).toMatchObject({
    curl: 'curl -i http://localhost:3000/clients -H "authorization: Bearer $TOKEN"',
    request: { headers: { authorization: 'Bearer $TOKEN' }, body: null },
    response: { status: 200, body: expect.stringContaining('Client 1') },
  });
  expect(renderJson(report)).not.toContain('caller-token-1');
});

test('a creation whose body names what it creates is repeated with this name', () => {
  const body = '{"name":"harbor-fnh5dc"}';
  const headers = { 'content-type': 'application/json' };
  const exchange = exchangeOf({ method: 'POST', headers, body }, { status: 201, text: body });
  const read = exchangeOf({ url: 'http://localhost:3000/clients/harbor-fnh5dc' });
  const setup = [{ id: 'harbor-fnh5dc', exchange, body: undefined }];
  const [finding] = jsonOf(reportWith({ findings: [findingOf({ exchanges: [read], setup })] })).findings;
  expect(finding.setup[0]).toMatch(/^ID=\$\(curl .*harbor-fnh5dc/);
  expect(finding.exchanges[0].curl).toBe('curl -i "http://localhost:3000/clients/$ID"');
});

test('JUnit has a test for each operation, which fails with its findings, and no secret', () => {
  const xml = renderJunit(report);
  const [, tests, failures] = /tests="(\d+)" failures="(\d+)"/.exec(xml) ?? [];
  expect([Number(tests), Number(failures)]).toEqual([report.operations.length + 1, 2]);
  expect(xml.match(/<failure /g)).toHaveLength(3);
  expect(xml).toContain('<failure type="response-body" message="A client has a name that is too long.">');
  expect(xml).toContain('&#60;&#38;&#62;&#34;&#39; ]]&#62; &#38;lt;');
  expect(xml).not.toContain('caller-token-1');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML does not allow them.
  expect(xml).not.toMatch(/[\x00-\x08\x0b\x0c\x0e-\x1f]/);
});

test('SARIF refers to lines of the contract, relative to the source root', () => {
  const [run] = sarifLog(report).runs;
  expect(run?.results?.[0]).toMatchObject({
    ruleId: 'response-body',
    ruleIndex: 0,
    level: 'error',
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: 'openapi/schemas/client.yaml', uriBaseId: '%SRCROOT%' },
          region: { startLine: 12 },
        },
        logicalLocations: [{ name: 'listClients', fullyQualifiedName: 'GET /v1/clients' }],
      },
    ],
  });
  expect(run?.tool.driver.rules).toMatchObject([
    {
      id: 'response-body',
      shortDescription: { text: 'Reject such names when they are written, or raise `maxLength`.' },
      defaultConfiguration: { level: 'error' },
    },
  ]);
  expect(run?.results?.[1]?.locations?.[0]?.physicalLocation?.artifactLocation?.uri).toBe('openapi/openapi.yaml');
});

test('SARIF refers to files outside the source root by URI, and encodes names', () => {
  const uriOf = (file: string) => {
    const findings = [findingOf({ place: { file, line: 1, pointer: '' } })];
    return sarifLog(reportWith({ findings })).runs[0]?.results?.[0]?.locations?.[0]?.physicalLocation?.artifactLocation;
  };
  expect(uriOf(resolve('a dir/b#c.yaml'))).toEqual({ uri: 'a%20dir/b%23c.yaml', uriBaseId: '%SRCROOT%' });
  expect(uriOf('/elsewhere/a b.yaml')).toEqual({ uri: 'file:///elsewhere/a%20b.yaml' });
  expect(uriOf('https://host/a b.yaml')).toEqual({ uri: 'https://host/a%20b.yaml' });
});

test('SARIF fingerprints depend only on the cause', () => {
  const fingerprint = (changes: Parameters<typeof findingOf>[0]) =>
    sarifLog(reportWith({ findings: [findingOf(changes)] })).runs[0]?.results?.[0]?.partialFingerprints?.['cause/v1'];
  expect(fingerprint({ title: 'One', actual: '1' })).toMatch(/^[0-9a-f]{64}$/);
  expect(fingerprint({ title: 'One', actual: '1' })).toBe(fingerprint({ title: 'Two', actual: '2', exchanges: [] }));
  expect(fingerprint({ cause: 'one' })).not.toBe(fingerprint({ cause: 'two' }));
});

test('SARIF contains no secret', () => {
  expect(renderSarif(report)).not.toContain('caller-token-1');
});

test('SARIF and JSON have the severity, the rule and all places of a cause', () => {
  const places = ['getClient', 'listClients'].map((operation, index) => ({
    operation,
    check: 'trailing-slash' as const,
    title: `Title ${index}`,
    place: { file: resolve('openapi/a.yaml'), line: index + 5, pointer: '' },
    cause: `head-differs ${operation}`,
  }));
  const merged = reportWith({ findings: [findingOf({ check: 'trailing-slash', severity: 'note', places })] });
  expect(sarifLog(merged).runs[0]?.results?.[0]).toMatchObject({
    level: 'note',
    relatedLocations: [{ physicalLocation: { region: { startLine: 6 } }, message: { text: 'Title 1' } }],
  });
  expect(jsonOf(merged).findings[0]).toMatchObject({
    severity: 'note',
    places: [{ operation: 'getClient' }, { operation: 'listClients', title: 'Title 1' }],
  });
});
