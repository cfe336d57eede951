/** Calls every operation of the contract through the client, with the contract's examples, on the mock. */

import { type RunningMock, startMock } from '@financial-automation/mock';
import { operations as index } from '@financial-automation/spec';
import { type Operation, operationsOf, type Parameter, readContract } from '@financial-automation/spec/examples';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../src/index.ts';
import type { AnyApiResponse, AnyInput } from '../src/types.ts';

interface AnyCall {
  (input: AnyInput): Promise<AnyApiResponse>;
  rows(input: AnyInput): AsyncIterable<unknown>;
}

const operations = operationsOf(await readContract());
/**
 * The client handles the responses of all operations with the same method and status of success, or kind of pages, alike; all of them are
 * compared with `MOCK=all`.
 */
const firstOfEach = (kindOf: (operation: Operation) => unknown) =>
  [...Map.groupBy(operations, kindOf).values()].flatMap(([first]) => first ?? []);
const isWhole = process.env.MOCK === 'all';
const compared = new Set(
  isWhole
    ? operations
    : [
        ...firstOfEach(({ method, responses: [success] }) => `${method} ${success?.status}`),
        ...firstOfEach(({ id }) => index[id].paging),
      ],
);
let mock: RunningMock;
let api: Record<string, AnyCall>;

beforeAll(async () => {
  mock = await startMock({ port: 0 });
  const client = createClient({ baseUrl: mock.url, tenant: 'hartwell', apiKey: 'header.payload.signature' });
  // The operation is not known at compile time, so neither is its input.
  api = client as unknown as typeof api;
});
afterAll(() => mock.close());

describe.each(operations.filter((operation, index) => compared.has(operation) || index % 9 === 0))(
  '$id',
  (operation) => {
    it('succeeds', async () => {
      const [success] = operation.responses;
      const response = await api[operation.id]?.(inputOf(operation));
      expect(response).toMatchObject({ status: success?.status, ok: true });
      expect(response?.body).toEqual(paged(success?.examples[0]?.value));
    });

    if (index[operation.id].paging !== null)
      it('has rows that end, one on each page', async () => {
        const place = operation.method === 'GET' ? 'query' : 'body';
        const { [place]: sent, ...input } = inputOf(operation);
        const { page: _page, cursor: _cursor, after: _after, ...others } = Object(sent);
        const size = takesSize(operation) ? { pageSize: 1 } : {};
        const rows: unknown[] = [];
        const list = api[operation.id]?.rows({ ...input, [place]: { ...others, ...size } });
        for await (const row of list ?? []) rows.push(row);
        expect(rows).toEqual(Object(operation.responses[0]?.examples[0]?.value).data);
      });

    if (!compared.has(operation)) return;
    it('returns every declared response of the mock', async () => {
      for (const { status, examples } of operation.responses) {
        for (const example of examples) {
          const prefer = { code: status, example: example.name };
          const response = await api[operation.id]?.({ ...inputOf(operation), prefer });
          expect(response).toMatchObject({ status, ok: status < 300 });
          const expected = status === 200 ? paged(example.value) : example.value;
          expect(response?.body, `${status} ${example.name}`).toEqual(expected);
        }
      }
    });
  },
);

function takesSize({ body, parameters }: Operation): boolean {
  return body !== null || parameters.some(({ name }) => name === 'pageSize');
}

/** Pages have the requested size and end, whatever the example says. */
function paged(example: unknown): unknown {
  const { data }: { data?: unknown } = Object(example);
  return Array.isArray(data) ? expect.objectContaining({ data: expect.toBeOneOf([[], data]) }) : example;
}

/** A part of a row is no example. */
function inputOf({ parameters: all, body }: Operation): AnyInput {
  const parameters = all.filter(({ name }) => !['fields', 'with'].includes(name));
  const examplesIn = (place: Parameter['in']) =>
    Object.fromEntries(
      parameters.filter((parameter) => parameter.in === place).map(({ name, example }) => [name, example]),
    );
  const input = { path: examplesIn('path'), query: examplesIn('query'), headers: examplesIn('header') };
  return body === null ? input : { ...input, body: body.examples[0]?.value };
}
