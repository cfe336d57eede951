/** The operations with their examples, which the served reference loads when a reader tries one. */
import { type Contract, operationsOf } from '../../packages/spec/src/examples.ts';
import { operations as index } from '../../packages/spec/src/index.ts';

/** The path of the file, relative to the folder of the reference. */
export const tryItPath = 'reference/try-it.json';

/** What the page needs to send the example of each operation, by the address of its section, without the number sign. */
export function tryItOperations(contract: Contract) {
  const operations = operationsOf(contract).map(({ id, summary: title, method, path, secured, parameters, body }) => {
    const own = parameters.map(({ name, in: place, required, example }) => ({ name, in: place, required, example }));
    const operation = { id, title, method, path, secured, parameters: own, bodies: body?.examples ?? [] };
    return [`/${index[id].tag}/${id.toLowerCase()}`, operation] as const;
  });
  return Object.fromEntries(operations);
}
