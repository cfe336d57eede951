import type { Operation } from '../src/contract/contract.ts';
import { declarationsOf, referred } from '../src/contract/parameters.ts';

/** The examples of the request body of an operation in the contract, by name. */
export function requestExamplesOf(operation: Operation): ReadonlyMap<string, unknown> {
  const [, own] = declarationsOf(operation);
  const examples = own?.requestBody?.content['application/json']?.examples ?? {};
  return new Map(Object.entries(examples).map(([name, example]) => [name, referred(example).value]));
}
