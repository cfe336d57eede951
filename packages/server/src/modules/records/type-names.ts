import { contract } from '../../contract/contract.ts';
import { invalid } from '../../contract/problem.ts';

/** The names of the service's own types - rows, records, codes, entries, events - in lower case. */
const vocabulary: ReadonlySet<string> = new Set(
  Object.entries(contract.components.schemas)
    .filter(([, schema]) => schema['x-entity'] === true)
    .map(([name]) => name)
    .concat(Object.values(contract.webhooks).map((webhook) => webhook.post['x-event'].entityType))
    .map((name) => name.toLowerCase()),
);

/** @throws Rejection `VALIDATION_ERROR` if a custom type cannot have this name. */
export function checkTypeName(name: string): void {
  if (!vocabulary.has(name.toLowerCase())) return;
  throw invalid('/name', 'RESERVED', 'The name is reserved. Choose another one.');
}
