import { expect, test } from 'vitest';
import { serialized } from '../contract/serialized.ts';
import { client } from '../modules/clients/client.ts';
import { parsedPage } from './page.ts';

test('the rows of a page are parsed when they are read, and its JSON is sent as the database wrote it', () => {
  const written = { data: [{ json: '{ "name": "A" }' }, { json: '{"name":' }], page: 0, pageSize: 2 };
  const page = parsedPage({ holds: () => true }, client, { ...written, hasMore: false, nextCursor: null });
  const json = '{"data":[{ "name": "A" },{"name":],"page":0,"pageSize":2,"hasMore":false,"nextCursor":null}';
  expect(serialized(page)).toBe(json);
  expect(() => page.data).toThrow(SyntaxError);
});

test('pages whose rows are parsed when they are read share the getter, which V8 would keep with each of them', () => {
  const read = (name: string) => {
    const written = { data: [{ json: `{"name":"${name}"}` }], page: 0, pageSize: 1, hasMore: false, nextCursor: null };
    return parsedPage({ holds: () => true }, client, written);
  };
  const [first, second] = [read('A'), read('B')];
  const getterOf = (page: object) => Object.getOwnPropertyDescriptor(page, 'data')?.get;
  expect(getterOf(first)).toBeTypeOf('function');
  expect(getterOf(first)).toBe(getterOf(second));
  expect([first.data, second.data, { ...first }.data]).toEqual([[{ name: 'A' }], [{ name: 'B' }], [{ name: 'A' }]]);
  expect(first.data).toBe(first.data);
});
