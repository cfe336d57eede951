import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { TestService } from './service.ts';
import { wireAlsoToMock } from './wire-to-mock.ts';

const list = '/gql/v1/clients';
const search = '/gql/v1/clients/search';

interface ProblemBody {
  readonly code: string;
  readonly errors?: readonly { readonly in: string; readonly pointer: string; readonly code: string }[];
}

/** What no request may contain, in the words of the service and the mock. */
export function badInputTests({ call, address, token, tenant }: TestService): void {
  const credentials = { Authorization: `Bearer ${token}`, Tenant: tenant.name };

  async function post(body: string | Buffer, headers: Record<string, string> = {}, path = list) {
    const response = await wireAlsoToMock(address, {
      method: 'POST',
      path,
      headers: { ...credentials, 'Content-Type': 'application/json', ...headers },
      body,
    });
    return { status: response.status, code: (response.json as ProblemBody | undefined)?.code, response };
  }

  describe('a body that is not JSON', () => {
    test.each([
      ['cut off', '{"page":'],
      ['not quoted', '{page:0}'],
      ['two values', '{}{}'],
      ['a comment', '{/* */}'],
      ['a trailing comma', '{"page":0,}'],
      ['NaN', '{"page":NaN}'],
      ['blank', '   '],
    ])('is malformed: %s', async (_name, body) => {
      expect(await post(body)).toMatchObject({ status: 400, code: 'MALFORMED_REQUEST' });
    });

    test.each(['null', '[]', '"x"', '1', 'true'])('is rejected if it is JSON but not an object: %s', async (body) => {
      expect(await post(body)).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    });

    test('is missing if it is empty', async () => {
      expect(await post('')).toMatchObject({ status: 400, code: 'MISSING_BODY' });
      const nothing = await wireAlsoToMock(address, { method: 'POST', path: list, headers: credentials });
      expect(nothing.json).toMatchObject({ status: 400, code: 'MISSING_BODY' });
    });

    test('is malformed if its bytes are not UTF-8', async () => {
      const wrong = Buffer.concat([Buffer.from('{"cursor":"'), Buffer.from([0xc3, 0x28, 0xff]), Buffer.from('"}')]);
      expect(await post(wrong)).toMatchObject({ status: 400, code: 'MALFORMED_REQUEST' });
      const surrogate = Buffer.concat([Buffer.from('{"cursor":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]);
      expect(await post(surrogate)).toMatchObject({ status: 400, code: 'MALFORMED_REQUEST' });
      const utf16 = Buffer.from('\ufeff{"page":0}', 'utf16le');
      expect(await post(utf16)).toMatchObject({ status: 400, code: 'MALFORMED_REQUEST' });
    });

    test('may start with a byte order mark, which RFC 8259 lets a reader ignore', async () => {
      expect(await post('\ufeff{"page":0}')).toMatchObject({ status: 200 });
    });
  });

  describe('the content type of a body', () => {
    test.each([
      'application/json',
      'APPLICATION/JSON',
      'application/json; charset=utf-8',
      'application/json;charset=UTF-8',
      'application/json; charset="utf-8"',
      'application/json;',
    ])('can be %s', async (type) => {
      expect(await post('{}', { 'Content-Type': type })).toMatchObject({ status: 200 });
    });

    test.each([
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/json; charset=utf-16',
      'application/json; charset=latin1',
      'application/json, text/plain',
      'application/vnd.api+json',
      'json',
      `application/json; x=${'y'.repeat(8000)}`,
    ])('cannot be %s', async (type) => {
      expect(await post('{}', { 'Content-Type': type })).toMatchObject({ status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' });
    });

    test('is required', async () => {
      const response = await wireAlsoToMock(address, { method: 'POST', path: list, headers: credentials, body: '{}' });
      expect(response.json).toMatchObject({ status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' });
    });
  });

  describe('a compressed body', () => {
    test('is decompressed', async () => {
      expect(await post(gzipSync('{"page":0}'), { 'Content-Encoding': 'gzip' })).toMatchObject({ status: 200 });
    });

    test('counts with its decompressed size', async () => {
      const bomb = gzipSync(`{"cursor":"${'a'.repeat(50_000_000)}"}`);
      expect(await post(bomb, { 'Content-Encoding': 'gzip' })).toMatchObject({
        status: 413,
        code: 'PAYLOAD_TOO_LARGE',
      });
    });

    test('is malformed if it is not in the declared encoding, or is truncated', async () => {
      for (const [encoding, body] of [
        ['gzip', Buffer.from('{"page":0}')],
        ['deflate', Buffer.from('{"page":0}')],
        ['br', Buffer.from('{"page":0}')],
        ['gzip', gzipSync('{"page":0}').subarray(0, 12)],
      ] as const) {
        expect(await post(body, { 'Content-Encoding': encoding })).toMatchObject({
          status: 400,
          code: 'MALFORMED_REQUEST',
        });
      }
    });

    test('is rejected in an unknown encoding', async () => {
      expect(await post('{}', { 'Content-Encoding': 'zstd-17' })).toMatchObject({ status: 415 });
    });
  });

  describe('the size of a body', () => {
    test('is limited, with and without Content-Length', async () => {
      const large = `{"cursor":"${'a'.repeat(2_000_000)}"}`;
      expect(await post(large)).toMatchObject({ status: 413, code: 'PAYLOAD_TOO_LARGE' });
      expect(await post(large, { 'Transfer-Encoding': 'chunked' })).toMatchObject({ status: 413 });
    });

    test('does not matter for a GET', async () => {
      const headers = { ...credentials, 'Content-Type': 'application/json', 'Content-Length': 11 };
      const response = await wireAlsoToMock(address, { path: '/gql/v1/client_types', headers, body: '{"page":"x"' });
      expect(response.status).toBe(200);
    });
  });

  describe('characters that are not allowed in text', () => {
    const fault = (pointer: string) => ({ errors: [{ in: 'body', pointer, code: 'CHARACTER' }] });

    test.each([
      ['an escaped NUL', '{"where":{"name":{"_eq":"a\\u0000b"}}}'],
      ['a byte order mark at the start of a text', '{"where":{"name":{"_eq":"\\ufeffb"}}}'],
      ['an escaped high surrogate', '{"where":{"name":{"_eq":"\\ud800"}}}'],
      ['an unpaired low surrogate', '{"where":{"name":{"_eq":"\\udc00x"}}}'],
    ])('are rejected in a body: %s', async (_name, body) => {
      const { response } = await post(body, {}, search);
      expect(response.json).toMatchObject({ status: 400, code: 'MALFORMED_REQUEST', ...fault('/where/name/_eq') });
    });

    test('are rejected unescaped', async () => {
      expect(await post('{"cursor":"a\0b"}')).toMatchObject({ status: 400, code: 'MALFORMED_REQUEST' });
    });

    test('are rejected in the name of a property', async () => {
      expect(await post('{"a\\u0000":1}')).toMatchObject({ status: 400, code: 'MALFORMED_REQUEST' });
    });

    test('are rejected in path and query', async () => {
      const inPath = await call<ProblemBody>('GET', '/gql/v1/client/%00');
      expect(inPath.body).toMatchObject({ code: 'MALFORMED_REQUEST', errors: [{ in: 'path', pointer: '/id' }] });
      const inQuery = await call<ProblemBody>('GET', '/gql/v1/client_types?cursor=a%00');
      expect(inQuery.body).toMatchObject({ code: 'MALFORMED_REQUEST', errors: [{ in: 'query', pointer: '/cursor' }] });
      const twice = await call<ProblemBody>('GET', '/gql/v1/client_types?cursor=a&cursor=%00');
      expect(twice).toMatchObject({ status: 400 });
    });

    test('do not include complete surrogate pairs', async () => {
      expect(await post('{"where":{"name":{"_eq":"\\ud83d\\ude00"}}}', {}, search)).toMatchObject({ status: 200 });
    });
  });

  describe('properties', () => {
    test.each([
      '{"__proto__":{"page":1}}',
      '{"__proto__":{"pageSize":1}}',
      '{"\\u005f_proto__":{"page":1}}',
      '{"constructor":{"prototype":{"page":1}}}',
      '{"prototype":1}',
      '{"toString":1}',
      '{"hasOwnProperty":1}',
      '{"where":{"constructor":{"_eq":"x"}}}',
      '{"where":{"name":{"__proto__":"x"}}}',
      '{"where":{"name":{"_eq":"x","constructor":"x"}}}',
      '{"orderBy":[{"constructor":"asc"}]}',
    ])('inherited by every object are unknown to the contract: %s', async (body) => {
      const { status, response } = await post(body, {}, search);
      expect({ status, text: response.text }).toMatchObject({ status: 400 });
      expect(Object.prototype).not.toHaveProperty('page');
    });

    test.each(['1e999', '-1e999', '1.00000000000000000001', '12345678901234567890'])(
      'reject numbers that JavaScript cannot represent exactly: %s',
      async (number) => {
        const { response } = await post(`{"page":${number}}`);
        expect(response).toMatchObject({
          status: 400,
          json: { code: 'VALIDATION_ERROR', errors: [{ pointer: '/page' }] },
        });
      },
    );

    test('that are unknown are reported with their pointers', async () => {
      const { response } = await post('{"pageSize":1,"a/b~c":2}');
      expect(response.json).toMatchObject({
        code: 'VALIDATION_ERROR',
        errors: [{ in: 'body', pointer: '/a~1b~0c', code: 'UNKNOWN_PROPERTY' }],
      });
      const deep = await post('{"where":{"_or":[{"name":{"_eq":"x","_equals":"y"}}]}}', {}, search);
      expect((deep.response.json as ProblemBody).errors).toContainEqual(
        expect.objectContaining({ pointer: '/where/_or/0/name/_equals', code: 'UNKNOWN_PROPERTY' }),
      );
    });

    test('can have any name and number, and the response remains a problem document', async () => {
      const long = 'x'.repeat(5_000);
      expect(await post(JSON.stringify({ [long]: 1 }))).toMatchObject({ status: 400, code: 'MALFORMED_REQUEST' });
      expect(await post(`{"${long}":`)).toMatchObject({ status: 400, code: 'MALFORMED_REQUEST' });
      expect(await post(`{"${long}\\u0000":1}`)).toMatchObject({ status: 400, code: 'MALFORMED_REQUEST' });
      const many = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`p${index}`, index]));
      const { status, response } = await post(JSON.stringify(many));
      expect(status).toBe(400);
      expect((response.json as ProblemBody).errors).toHaveLength(100);
    });
  });

  describe('nesting', () => {
    const levels = 10_000;
    test.each([
      ['lists', '['.repeat(levels) + ']'.repeat(levels)],
      ['objects', `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`],
      ['both', '{"a":['.repeat(levels) + ']}'.repeat(levels)],
      ['endless arrays', '['.repeat(levels)],
    ])('is limited: %s', async (_name, body) => {
      expect(await post(body)).toMatchObject({ status: 400, code: 'MALFORMED_REQUEST' });
    });
  });

  describe('what takes more than linear time to read', () => {
    const marks = '\u0301'.repeat(31);
    test.each([
      ['a number with many zeros', `{"page":1${'0'.repeat(120_000)}}`, '/page'],
      ['many combining marks', `{"where":{"name":{"_eq":"${'\u0301\u0323'.repeat(40_000)}"}}}`, '/where/name/_eq'],
      ['a long name', `{"${'/'.repeat(120_000)}":1}`, `/${'~1'.repeat(500)}`.slice(0, 1_000)],
      ['a property twice', '{"where":{"name":{"_eq":"x","_eq":"y"}}}', '/where/name/_eq'],
    ])('is malformed, in all bodies: %s', async (_name, body, pointer) => {
      for (const encoded of [post(body, {}, search), post(gzipSync(body), { 'Content-Encoding': 'gzip' }, search)]) {
        const { response } = await encoded;
        expect(response.json).toMatchObject({
          status: 400,
          code: 'MALFORMED_REQUEST',
          errors: [{ in: 'body', pointer }],
        });
      }
      const withoutToken = await wireAlsoToMock(address, {
        method: 'POST',
        path: '/v1/auth/token',
        headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
        body: gzipSync(body.slice(0, 8_000)),
      });
      expect(withoutToken).toMatchObject({ status: 400 });
    });

    test('is malformed in path and query', async () => {
      const inPath = await call<ProblemBody>('GET', `/gql/v1/client/${encodeURIComponent(marks)}`);
      expect(inPath.body).toMatchObject({ errors: [{ in: 'path', pointer: '/id', code: 'COMBINING_MARKS' }] });
      const inQuery = await call<ProblemBody>('GET', `/gql/v1/client_types?cursor=${encodeURIComponent(marks)}`);
      expect(inQuery.body).toMatchObject({ errors: [{ in: 'query', pointer: '/cursor', code: 'COMBINING_MARKS' }] });
    });
  });

  describe('query parameters', () => {
    test('that are unknown are rejected', async () => {
      const response = await call<ProblemBody>('GET', '/gql/v1/client_types?pagesize=3');
      expect(response.body).toMatchObject({
        status: 400,
        code: 'VALIDATION_ERROR',
        errors: [{ in: 'query', pointer: '/pagesize', code: 'UNKNOWN_PARAMETER' }],
      });
      expect(await call('POST', `${list}?page=0`, {})).toMatchObject({ status: 400 });
    });

    test.each(['__proto__=1', '__proto__[page]=1', 'constructor=1', 'page[]=1', 'page[a]=1', '=1', '%00=1'])(
      'have restricted values: %s',
      async (query) => {
        const response = await wireAlsoToMock(address, { path: `/gql/v1/client_types?${query}`, headers: credentials });
        expect(response).toMatchObject({ status: 400 });
      },
    );

    test.each([
      'page=1&page=2',
      'includeTotal=true&includeTotal=false',
      'page=',
      'page=x',
      'page=1.5',
      'page=-1',
      'pageSize=0',
      'pageSize=1001',
      'page=1e999',
      'page=99999999999',
      'includeTotal=maybe',
      'cursor=',
    ])('are rejected: %s', async (query) => {
      expect(await call('GET', `/gql/v1/client_types?${query}`)).toMatchObject({ status: 400 });
    });

    test('have their types', async () => {
      const { status, body } = await call('GET', '/gql/v1/client_types?page=3&pageSize=7&includeTotal=true');
      expect({ status, body }).toMatchObject({ status: 200, body: { page: 3, pageSize: 7, total: 0 } });
    });
  });
}
