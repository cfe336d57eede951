import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { exchangeOf, findingOf, reportWith } from '../../test/doubles/report.ts';
import { renderJson, renderSarif } from '../report/formats.ts';
import { maskedExchange } from '../report/masked.ts';
import { renderTerminal } from '../report/terminal.ts';
import type { Exchange } from './call.ts';
import { isSecretName, Mask, type Secret } from './mask.ts';

const maskText = (text: string, secrets: readonly Secret[]) => new Mask(secrets).text(text);
const maskExchange = (exchange: Exchange, secrets: readonly Secret[] = []) =>
  maskedExchange(exchange, new Mask(secrets));

test.each([
  ...['Authorization', 'cookie', 'X-Api-Key', 'apiKey', 'api_key', 'accessToken', 'refresh_token', 'client_secret'],
  ...['password', 'newPassword', 'X-CSRF-Token', 'sessionId', 'private-key', 'client_assertion', 'token'],
])('%s is the name of a secret', (name) => expect(isSecretName(name)).toBe(true));

test.each([
  ...['pageToken', 'next_page_token', 'tokenType', 'token_type', 'secretary', 'name', 'tokenUrl', 'passwordPolicy'],
  ...['apiKeyId', 'keyboard', 'expires_in', 'Idempotency-Key', 'syncToken'],
])('%s is not the name of a secret', (name) => expect(isSecretName(name)).toBe(false));

test('credentials are masked in headers, except for the scheme and cookie names', () => {
  const { request, response } = maskExchange(
    exchangeOf(
      {
        headers: {
          Authorization: 'Basic dXNlcjpwYXNz',
          cookie: 'sid=1234; theme=dark',
          'X-Api-Key': 'k1',
          accept: '*/*',
        },
      },
      { headers: { 'set-cookie': 'sid=9876; Expires=Wed, 09 Jun 2027 10:18:14 GMT; HttpOnly', etag: '"1"' } },
    ),
  );
  expect(request.headers).toEqual({
    Authorization: 'Basic $CREDENTIALS',
    cookie: 'sid=$COOKIE_SID; theme=$COOKIE_THEME',
    'X-Api-Key': '$API_KEY',
    accept: '*/*',
  });
  expect(response.headers).toEqual({
    'set-cookie': 'sid=$COOKIE_SID_2; Expires=Wed, 09 Jun 2027 10:18:14 GMT; HttpOnly',
    etag: '"1"',
  });
});

test('JSON properties are masked by name at any depth, and the rest of the text is unchanged', () => {
  const body =
    '{ "name": "a",\n "password": "p\\"1", "keys": [{"apiKey":"k", "secret": {"value": "v", "n": 1}}], "token": null }';
  const { request, response } = maskExchange(
    exchangeOf(
      { method: 'POST', headers: { 'content-type': 'application/json' }, body },
      { text: '[{"token":"t1"},{"token":"t2"}]' },
    ),
  );
  expect(request.body).toBe(
    '{ "name": "a",\n "password": "$PASSWORD", "keys": [{"apiKey":"$API_KEY", "secret": {"value": "$SECRET", "n": 1}}], "token": null }',
  );
  expect(response.body).toBe('[{"token":"$TOKEN"},{"token":"$TOKEN_2"}]');
});

test('malformed JSON is masked as far as possible', () => {
  const masked = maskExchange(
    exchangeOf({}, { mediaType: 'application/json', text: '}]{"password": "hidden", "name": "shown' }),
  );
  expect(masked.response.body).toBe('}]{"password": "$PASSWORD", "name": "shown');
});

// A quadratic implementation does not finish within the timeout.
test('hostile text is masked in linear time', () => {
  for (const text of [
    `{"token":"${'\\"'.repeat(500_000)}`,
    '"'.repeat(1_000_001),
    'a://'.repeat(100_000),
    '?a='.repeat(100_000),
    '"token":"caller-token",'.repeat(50_000),
    JSON.stringify(Array.from({ length: 50_000 }, (_, index) => ({ token: `${index}` }))),
  ]) {
    const masked = maskExchange(exchangeOf({}, { text, mediaType: 'application/json', json: undefined }), [
      { value: 'caller-token', variable: 'TOKEN' },
    ]);
    expect(masked.response.body).not.toContain('caller-token');
  }
});

test('secrets in forms, multipart bodies, queries and URLs are masked', () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const parts = { 'content-type': 'multipart/form-data; boundary=b' };
  const part = '--b\r\nContent-Disposition: form-data; name="password"\r\n\r\nhidden\r\n--b--';
  expect(maskExchange(exchangeOf({ headers: form, body: 'grant_type=x&client_secret=hidden' })).request.body).toBe(
    'grant_type=x&client_secret=$CLIENT_SECRET',
  );
  expect(maskExchange(exchangeOf({ headers: parts, body: part })).request.body).toBe(
    part.replace('hidden', '$PASSWORD'),
  );
  expect(
    maskExchange(exchangeOf({ url: 'http://me:hidden@host/a?access_token=hidden2&pageToken=p' })).request.url,
  ).toBe('http://me:$PASSWORD@host/a?access_token=$ACCESS_TOKEN&pageToken=p');
});

test('a known secret is masked everywhere, even if encoded', () => {
  const secrets = [{ value: 'k/1"2+3é', variable: 'API_KEY' }];
  const { request, response } = maskExchange(
    exchangeOf({ url: `http://host/k%2F1%222%2B3%C3%A9` }, { text: '{"echo":"k/1\\"2+3é","other":"shown"}' }),
    secrets,
  );
  expect(request.url).toBe('http://host/$API_KEY');
  expect(response.body).toBe('{"echo":"$API_KEY","other":"shown"}');
  expect(maskText('It sent k/1"2+3é twice: k/1"2+3é.', secrets)).toBe('It sent $API_KEY twice: $API_KEY.');
});

test('another credential than a known one becomes another variable', () => {
  const secrets = [{ value: 'right-one', variable: 'TOKEN' }];
  const headers = (value: string) =>
    maskExchange(exchangeOf({ headers: { authorization: value } }), secrets).request.headers;
  expect(headers('Bearer right-one')).toEqual({ authorization: 'Bearer $TOKEN' });
  expect(headers('Bearer wrong')).toEqual({ authorization: 'Bearer $TOKEN_2' });
  expect(headers('Bearer right-one and another secret')).toEqual({ authorization: 'Bearer $TOKEN_2' });
});

test('apparent credentials are removed from sentences', () => {
  const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl';
  expect(maskText(`It echoed ${jwt}, and "Bearer abc12345".`, [])).toBe('It echoed $TOKEN, and "Bearer $TOKEN_2".');
  expect(maskText('Basic authentication is required.', [])).toBe('Basic authentication is required.');
});

test('a secret is masked everywhere in an exchange', () => {
  const secret = fc.stringMatching(/^[A-Za-z0-9_.-]{8,40}$/);
  fc.assert(
    fc.property(secret, fc.jsonValue(), (value, other) => {
      const body = JSON.stringify({ a: [value, other], note: `x${value}y` });
      const exchange = exchangeOf(
        {
          url: `http://host/${value}?q=${value}`,
          headers: { authorization: `Bearer ${value}`, 'x-other': value },
          body,
        },
        { text: body, headers: { location: `/${value}` } },
      );
      fc.pre(!JSON.stringify(other).includes(value));
      expect(JSON.stringify(maskExchange(exchange, [{ value, variable: 'T' }]))).not.toContain(value);
    }),
  );
});

describe('a secret that is recognized by its position', () => {
  it.each([
    ['terminal', renderTerminal],
    ['json', renderJson],
    ['sarif', renderSarif],
  ])('appears nowhere in the report as %s', (_format, render) => {
    const secret = 'hunter2-Zx9';
    const finding = findingOf({
      title: `The value ${secret} is rejected`,
      actual: `400 ${secret} is wrong`,
      expected: `not ${secret}`,
      fix: `Accept ${secret}.`,
      exchanges: [
        exchangeOf(
          {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ password: secret }),
          },
          { text: JSON.stringify({ note: `You sent ${secret}` }) },
        ),
      ],
    });
    const left = { created: [{ operation: 'a', targets: [`/keys/${secret}`], unidentified: 0 }], changed: [] };
    const report = reportWith({ findings: [finding], notices: [`About ${secret}`], left });
    expect(render(report, { secrets: [] })).not.toContain(secret);
    expect(render(report, { secrets: [] })).toContain('$PASSWORD');
  });
});
