import { expect, test } from 'vitest';
import { RecentRequests } from './recent-requests.ts';

const request = (id: string, status = 200) => ({
  id,
  at: Date.UTC(2026, 0, 31, 8),
  operation: 'getClient',
  method: 'GET',
  path: `/gql/v1/client/${id}`,
  status,
  milliseconds: 1.5,
  user: 'ops',
});

test('the latest 200 requests of a tenant are kept, the newest first, apart from those of others', () => {
  const recent = new RecentRequests();
  recent.record('other', request('x'), undefined);
  for (let number = 1; number <= 1_000; number++) recent.record('firm', request(String(number)), undefined);
  const ids = recent.of('firm').map(({ id }) => id);
  expect(ids).toHaveLength(200);
  expect([ids[0], ids[199]]).toEqual(['1000', '801']);
  expect(recent.of('other').map(({ id }) => id)).toEqual(['x']);
  expect(recent.of('nobody')).toEqual([]);
});

test('tenants without recent requests make room for others', () => {
  const recent = new RecentRequests();
  for (let number = 1; number <= 501; number++) recent.record(`firm${number}`, request('1'), undefined);
  expect([recent.of('firm1').length, recent.of('firm501').length]).toEqual([0, 1]);
});

test('recent requests keep the code and a few errors of a problem, cut to a length', () => {
  const recent = new RecentRequests();
  const error = { in: 'body', pointer: '/x'.repeat(1_000), code: 'TYPE', detail: 'd'.repeat(1_000) };
  const body = { code: 'VALIDATION_ERROR', detail: 'Wrong.', requestId: 'r', errors: Array(100).fill(error) };
  recent.record('firm', request('1', 400), body);
  recent.record('firm', request('2', 200), { code: 'no problem' });
  const [second, first] = recent.of('firm');
  expect(second?.problem).toBeUndefined();
  expect(first?.problem).toMatchObject({ code: 'VALIDATION_ERROR', detail: 'Wrong.' });
  expect(first?.problem?.errors).toHaveLength(5);
  expect(first?.problem?.errors[0]).toEqual({ pointer: '/x'.repeat(150), detail: 'd'.repeat(300) });
});
