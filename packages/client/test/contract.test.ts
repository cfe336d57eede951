/** Every operation of the contract, called through the client with the contract's own examples, answered by the mock. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Operation, operationsOf, type Parameter, readContract } from '../../mock/src/contract.ts';
import { type RunningMock, startMock } from '../../mock/src/server.ts';
import { createClient } from '../src/index.ts';
import type { AnyAnswer, AnyInput } from '../src/types.ts';

const operations = operationsOf(await readContract());
let mock: RunningMock;
let call: (operationId: string, input: AnyInput) => Promise<AnyAnswer>;

beforeAll(async () => {
  mock = await startMock({ port: 0 });
  const api = createClient({ baseUrl: mock.url, tenant: 'hartwell', apiKey: 'header.payload.signature' });
  // Here the operation is not known to the compiler, so neither is its input.
  call = api.call as unknown as typeof call;
});
afterAll(() => mock.close());

describe.each(operations)('$id', (operation) => {
  it('is answered with success', async () => {
    const [success] = operation.answers;
    const answer = await call(operation.id, inputOf(operation));
    expect(answer).toMatchObject({ status: success?.status, ok: true });
    expect(answer.body).toEqual(success?.examples[0]?.value);
  });

  it('is answered with every declared answer of the mock', async () => {
    for (const { status, examples } of operation.answers) {
      for (const example of examples) {
        const prefer = { code: status, example: example.name };
        const answer = await call(operation.id, { ...inputOf(operation), prefer });
        expect(answer).toMatchObject({ status, ok: status < 300 });
        expect(answer.body, `${status} ${example.name}`).toEqual(example.value);
      }
    }
  });
});

function inputOf({ parameters, body }: Operation): AnyInput {
  const examplesIn = (place: Parameter['in']) =>
    Object.fromEntries(
      parameters.filter((parameter) => parameter.in === place).map(({ name, example }) => [name, example]),
    );
  const input = { path: examplesIn('path'), query: examplesIn('query'), headers: examplesIn('header') };
  return body === null ? input : { ...input, body: body.examples[0]?.value };
}
