import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Call, Exchange } from '../http/call.ts';
import type { JsonObject } from '../json.ts';
import { shrink } from './shrink.ts';

function callOf(body: unknown, query: JsonObject = {}): Call {
  return {
    operation: { id: 'any' } as Call['operation'],
    path: { id: 7 },
    query,
    headers: {},
    cookies: {},
    body,
    mediaType: 'application/json',
  };
}

/** The smallest call that shows the finding, and the number of calls sent. */
async function smallest(
  call: Call,
  shows: (call: Call) => boolean,
  isLike: (call: Call) => boolean = () => true,
  tries = 200,
) {
  let sent = 0;
  let last = call;
  await shrink(call, {
    isLike,
    shows: async (smaller) => {
      sent += 1;
      if (!shows(smaller)) return undefined;
      last = smaller;
      return {} as Exchange;
    },
    tries,
  });
  return { body: last.body, query: last.query, sent };
}

describe('a call that shows a finding', () => {
  it('loses all irrelevant parts of query and body, at every depth', async () => {
    const call = callOf({ name: 'Ada', address: { city: 'Bern', zip: '3000' }, notes: ['a'] }, { page: 1, size: 5 });
    const found = await smallest(call, ({ body }) => (body as { address?: JsonObject }).address?.zip !== undefined);
    expect(found.body).toEqual({ address: { zip: '' } });
    expect(found.query).toEqual({});
  });

  it('gets the shortest lists and texts and the smallest numbers that still show it', async () => {
    const call = callOf({ list: [1, 2, 3, 4, 5], text: 'x'.repeat(40), count: 1000 });
    const found = await smallest(call, ({ body }) => {
      const { list, text, count } = body as { list?: unknown[]; text?: string; count?: number };
      return (list?.length ?? 0) >= 2 && (text?.length ?? 0) >= 5 && (count ?? 0) >= 17;
    });
    const { list, text, count } = found.body as { list: unknown[]; text: string; count: number };
    expect([list.length, text.length, count]).toEqual([2, 5, 17]);
  });

  it('does not change if no smaller call is similar, and nothing is sent', async () => {
    const call = callOf({ name: 'Ada', age: 36 });
    const found = await smallest(
      call,
      () => true,
      () => false,
    );
    expect(found).toEqual({ body: call.body, query: {}, sent: 0 });
  });

  it('is sent at most as often as allowed, and never grows', async () => {
    const bodies = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { minKeys: 1, maxKeys: 6 });
    await fc.assert(
      fc.asyncProperty(bodies, fc.integer({ min: 0, max: 20 }), fc.nat(), async (body, tries, pick) => {
        const expected = Object.keys(body)[pick % Object.keys(body).length] as string;
        const found = await smallest(
          callOf(body),
          (call) => Object.hasOwn(call.body as object, expected),
          undefined,
          tries,
        );
        expect(found.sent).toBeLessThanOrEqual(tries);
        expect(Object.hasOwn(found.body as object, expected)).toBe(true);
        expect(JSON.stringify(found.body).length).toBeLessThanOrEqual(JSON.stringify(body).length + 5);
      }),
    );
  });

  it('keeps a text that fast-check could not have generated, and removes the rest', async () => {
    for (const text of ['größer', '\ud800', '👩‍👩‍👧‍👦', 'é'.repeat(300)]) {
      const found = await smallest(callOf({ text, other: text }, { q: text }), ({ query }) => query.q === text);
      expect(found.query).toEqual({ q: text });
      expect(Object.keys(found.body as object)).toEqual([]);
    }
  });

  it('does not change if its raw text is set', async () => {
    const call = { ...callOf({ name: 'Ada' }), raw: { body: '{' } };
    expect((await smallest(call, () => true)).sent).toBe(0);
  });
});
