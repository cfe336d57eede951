/** The operations with their examples, which the served reference loads when a reader tries one. */
import { type Contract, operationsOf } from '../../packages/spec/src/examples.ts';
import { operations as index } from '../../packages/spec/src/index.ts';
import type { TryItOperation, TryItOperations } from './in-page/try-it-operation.ts';

/** The path of the file, relative to the folder of the reference. */
export const tryItPath = 'reference/try-it.json';

export function tryItOperations(contract: Contract): TryItOperations {
  const operations = operationsOf(contract).map(({ id, summary, method, path, secured, parameters, body }) => {
    const own = parameters.map(({ name, in: place, required, example }) => ({ name, in: place, required, example }));
    const operation: TryItOperation = {
      id,
      title: summary,
      method,
      path,
      secured,
      parameters: own,
      bodies: body?.examples ?? [],
    };
    return [`/${index[id].tag}/${id.toLowerCase()}`, operation];
  });
  return Object.fromEntries(operations);
}
