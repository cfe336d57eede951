import { expect, it } from 'vitest';
import { exchangeOf, findingOf } from '../../test/doubles/report.ts';
import type { Finding } from './finding.ts';
import { mergedByCause } from './merge.ts';
import type { CheckName } from './rules.ts';

let count = 0;

/** A finding without a place in the contract, unless it has one. */
function found(check: CheckName, operation: string, about: string, changes: Partial<Finding> = {}): Finding {
  const title = `${check} ${about}`;
  const cause = `${check} ${operation} ${about}`.trim();
  return findingOf({ check, operation, about, title, cause, place: undefined, ...changes });
}

/** A place of its own for each call. */
function place(line = ++count) {
  return { place: { file: 'openapi.yaml', line, pointer: `#/${line}` } };
}

function causesOf(findings: readonly Finding[]): string[][] {
  return mergedByCause(findings).map(({ places }) => places.map(({ cause }) => cause));
}

it('an update that is not stored is one finding with what follows from it', () => {
  const lost = found('update-lost', 'updateTool', 'most members');
  const all = [
    found('update-timestamp', 'updateTool', ''),
    lost,
    found('etag-stays', 'updateTool', ''),
    found('update-echo', 'updateTool', 'name'),
    found('etag-stays', 'updateJob', ''),
  ];
  const [first, second, ...rest] = mergedByCause(all);
  expect(first).toMatchObject({ check: 'update-lost', operation: 'updateTool', also: [] });
  expect(first?.places.map(({ check }) => check)).toEqual([
    'update-lost',
    'update-timestamp',
    'etag-stays',
    'update-echo',
  ]);
  expect(second).toMatchObject({ check: 'etag-stays', operation: 'updateJob' });
  expect(rest).toEqual([]);
});

it('paging that is ignored by all operations is one finding', () => {
  const operations = ['listTools', 'listJobs', 'listBoxes'];
  const all = operations.flatMap((operation) => [
    found('page-position', operation, 'query offset'),
    found('page-overlap', operation, ''),
    found('page-order', operation, ''),
  ]);
  const [first, ...rest] = mergedByCause(all);
  expect(first).toMatchObject({ check: 'page-position', operation: 'listTools', also: ['listJobs', 'listBoxes'] });
  expect(first?.places).toHaveLength(9);
  expect(rest).toEqual([]);
});

it('a parameter that is not validated is one finding in all operations that refer to it', () => {
  const type = place();
  const minimum = place();
  const all = ['listTools', 'listJobs'].flatMap((operation) => [
    found('reject-type', operation, 'query.limit', type),
    found('reject-minimum', operation, 'query.limit', minimum),
  ]);
  expect(causesOf([...all, found('reject-type', 'listTools', 'query.offset', place())])).toEqual([
    all.map(({ cause }) => cause),
    ['reject-type listTools query.offset'],
  ]);
});

it('parts of an object in a parameter are one finding if none of it seems to be validated', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const some = names.map((name) => found('reject-type', 'findTool', `query.filter/${name}`, place()));
  const other = found('reject-type', 'findTool', 'query.limit', place());
  expect(causesOf([...some, other])).toHaveLength(2);
  expect(causesOf([...some.slice(1), other])).toHaveLength(6);
});

it('properties of a body are separate findings, unless none of it seems to be validated', () => {
  const some = ['a', 'b', 'c', 'd', 'e'].map((name) => found('reject-type', 'createTool', `body/${name}`, place()));
  expect(causesOf(some)).toHaveLength(5);
  expect(causesOf([...some, found('reject-required', 'createTool', 'body/f', place())])).toHaveLength(1);
});

it('an ignored filter does not hide what is wrong with another one', () => {
  const all = [
    found('filter-ignored', 'listTools', 'query kind'),
    found('filter-total', 'listTools', 'query kind'),
    found('filter-total', 'listTools', 'query colour'),
  ];
  expect(causesOf(all)).toEqual([
    ['filter-ignored listTools query kind', 'filter-total listTools query kind'],
    ['filter-total listTools query colour'],
  ]);
});

it('the worst findings come first', () => {
  const all = [
    found('trailing-slash', 'listTools', ''),
    found('response-unknown-property', 'listTools', ''),
    found('server-error', 'listTools', ''),
  ];
  expect(mergedByCause(all).map(({ check }) => check)).toEqual([
    'server-error',
    'response-unknown-property',
    'trailing-slash',
  ]);
});

const pointer = (text: string) => ({ place: { file: 'openapi.yaml', line: 1, pointer: text } });
const failed = (operation: string, message: string) =>
  found('server-error', operation, '500', {
    exchanges: [exchangeOf({}, { status: 500, text: JSON.stringify({ message }) })],
  });

it('errors that differ alike from what operations declare are one finding for each difference', () => {
  const all = ['getTool', 'getJob'].flatMap((operation) => [
    found('response-unknown-property', operation, '404 /details', pointer(`#/${operation}/404`)),
    found('response-unknown-property', operation, '401 /path', pointer(`#/${operation}/401`)),
    found('response-unknown-property', operation, '200 /color', pointer(`#/${operation}/200`)),
    found('response-status', operation, '400', pointer(`#/${operation}/400`)),
    found('response-status', operation, '201', pointer(`#/${operation}/201`)),
  ]);
  expect(causesOf(all).map((causes) => causes.length)).toEqual([2, 1, 1, 4, 1, 1]);
});

it('properties that differ from one object of a schema are one finding, also below keys of a map', () => {
  const all = [
    found('response-body', 'getTool', '200 /version additionalProperties', pointer('#/Tool/additionalProperties')),
    found('response-body', 'getTool', '200 /name required', pointer('#/Tool/required')),
    found('response-body', 'getTool', '200 /boxes/red/size type', pointer('#/Box/properties/size/type')),
    found('response-body', 'getTool', '200 /boxes/blue/size type', pointer('#/Box/properties/size/type')),
  ];
  expect(causesOf(all).map((causes) => causes.length)).toEqual([2, 2]);
});

it('faults whose messages end with the same reason are one finding, unless they say nothing', () => {
  const reason = 'invalid byte sequence for encoding "UTF8": 0x00';
  const all = [
    failed('listTools', `select * from tools - ${reason}`),
    failed('listJobs', `select count(*) from jobs - ${reason}`),
    failed('getTool', 'Internal Server Error'),
    failed('getJob', 'Internal Server Error'),
  ];
  expect(causesOf(all).map((causes) => causes.length)).toEqual([2, 1, 1]);
});

it('faults with the same reason are one finding, whatever the rejected value and its length', () => {
  const reason = 'update jobs set position = $1 - invalid input syntax for type integer';
  const all = [
    failed('listTools', `${reason}: "491.93"`),
    failed('listJobs', `${reason}: "-1.5"`),
    failed('getJob', `${reason}: "Ember Delta"`),
    failed('getTool', 'insert into jobs - violates foreign key constraint "jobs_tool_fkey"'),
    failed('getBox', 'insert into jobs - violates foreign key constraint "jobs_box_fkey"'),
  ];
  expect(causesOf(all).map((causes) => causes.length)).toEqual([3, 1, 1]);
});

it('faults of a null character are one finding, wherever it is stored', () => {
  const withNull = (operation: string, message: string, sent: Parameters<typeof exchangeOf>[0]) =>
    found('server-error', operation, '500', {
      exchanges: [exchangeOf(sent, { status: 500, text: JSON.stringify({ message }) })],
    });
  const all = [
    withNull('getTool', 'invalid byte sequence for encoding "UTF8": 0x00', { url: 'http://tools.test/tools/%00' }),
    withNull('createTool', 'unsupported Unicode escape sequence', { body: '{"name":"a\\u0000b"}' }),
    withNull('createJob', 'violates foreign key constraint "jobs_tool_fkey"', { body: '{"name":"a\\u0000b"}' }),
    withNull('listJobs', 'URI malformed', {}),
  ];
  expect(causesOf(all).map((causes) => causes.length)).toEqual([2, 1, 1]);
});

it('paths below resources that a wildcard serves are one finding', () => {
  const paths = ['/a/{id}/stats', '/a/{id}/admin', '/b/{id}/stats', '/c/{id}/v2'];
  const all = paths.map((path) => found('undeclared-operation', 'getA', `path GET ${path}`));
  expect(causesOf([...all, found('undeclared-operation', 'getA', 'DELETE /a')]).map((causes) => causes.length)).toEqual(
    [4, 1],
  );
  expect(causesOf(all.slice(1))).toHaveLength(3);
});

it('vague faults are one finding for each kind of value that causes them', () => {
  const vague = (operation: string, body: string) =>
    found('server-error', operation, '500', {
      exchanges: [exchangeOf({ body }, { status: 500, text: '{"message":"Internal error"}' })],
    });
  const all = [
    vague('a', '{"n":"x\\u0000"}'),
    vague('b', '{"m":"\\u0000"}'),
    vague('c', '{"n":9223372036854775808}'),
    vague('d', '{}'),
    ...['e', 'f'].map((operation) => vague(operation, '['.repeat(500))),
    ...['g', 'h'].map((operation) => vague(operation, '{"a":Infinity}')),
  ];
  expect(causesOf(all).map((causes) => causes.length)).toEqual([2, 1, 1, 2, 2]);
});

it('what a generator of documents says of all operations is one finding', () => {
  const all = ['a', 'b'].flatMap((operation) => [
    found('reject-required', operation, 'query.page', {
      title: 'query.page: query.page, which has a default, is missing, but the request is accepted',
    }),
    found('accept-type', operation, `body/${operation}`, {
      title: `body/${operation}: ${operation} is 1.5, as type "number" allows, but the request is rejected`,
    }),
    ...['body', 'body/file'].map((about) => found('accept-required', operation, about)),
  ]);
  expect(causesOf(all).map((causes) => causes.length)).toEqual([2, 2, 2, 2]);
});

it('properties of one object that are null are one finding', () => {
  const all = ['note', 'color'].map((name) =>
    found('response-body', 'getTool', `200 /${name} type`, {
      ...pointer(`#/Tool/properties/${name}/type`),
      actual: 'null',
    }),
  );
  const other = found('response-body', 'getTool', '200 /size type', {
    ...pointer('#/Tool/properties/size/type'),
    actual: '"large"',
  });
  expect(causesOf([...all, other]).map((causes) => causes.length)).toEqual([2, 1]);
});

it('entries of maps with the same schema are one finding', () => {
  const [entry, other] = [place(), place()];
  const isNull = (key: string) => ({ title: `body/query/*: query.${key} is null, as type allows, but it is rejected` });
  const all = [
    found('accept-type', 'findTools', 'body/query/*', { ...isNull('amber-1'), ...entry }),
    found('accept-type', 'findJobs', 'body/query/*', { ...isNull('birch-2'), ...entry }),
    found('accept-type', 'findBoxes', 'body/query/*', { ...isNull('amber-1'), ...other }),
  ];
  expect(mergedByCause(all).map(({ also }) => also)).toEqual([['findJobs'], []]);
});

it('values that many operations treat alike are one finding', () => {
  const all = ['one', 'two', 'three', 'four', 'five'].map((operation, index) =>
    found('accept-type', operation, `body/name${index}`, {
      title: `body/name${index}: name${index} is ${index < 4 ? 'empty' : 'null'}, but the request is rejected`,
    }),
  );
  const coerced = ['one', 'two', 'three', 'four'].map((operation, index) =>
    found('reject-type', operation, `body/size${index}`, {
      title: `body/size${index}: size${index} is ${index}, which violates type ${index < 3 ? '"string"' : '["string","null"]'}, but the request is accepted`,
    }),
  );
  expect(causesOf([...all, ...coerced]).map((causes) => causes.length)).toEqual([4, 1, 4]);
});

it('a fault of behavior in many operations is one finding, in a few one each', () => {
  const wrong = ['createTool', 'createJob', 'createBox', 'createLid'].map((operation) =>
    found('location', operation, ''),
  );
  expect(causesOf(wrong)).toHaveLength(1);
  expect(causesOf(wrong.slice(1))).toHaveLength(3);
  // Different values have different causes.
  const echoes = wrong.map(({ operation }, index) => found('update-lost', operation, `member ${index}`));
  expect(causesOf(echoes)).toHaveLength(4);
});
