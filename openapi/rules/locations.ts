/** `Location` leads from a creation to the resource. Its example must, too: it is a path of the contract, with the ID in the example of the body. */
import { isObject, operationsOf, wholeContract } from './contract.ts';

export const locations = wholeContract((root, report) => {
  const operations = operationsOf(root);
  const paths = [...new Set(operations.map(({ path }) => path))];
  for (const { id, success } of operations) {
    const header = success?.get('headers', 'Location');
    const example = header?.text('example');
    if (success === undefined || header === undefined || example === undefined) continue;
    const values = paths.map((path) => valuesOf(path, example)).find((found) => found !== undefined);
    if (values === undefined) {
      report(header, `Add an example to Location of ${id} that is a path of the contract: ${example} is not one.`);
      continue;
    }
    const shown = success
      .map('content')
      .flatMap(([, media]) => media.map('examples').map(([, one]) => one.get('value')));
    const leaves = new Set(shown.flatMap((value) => leavesOf(value?.value)));
    const strange = values.filter((value) => !leaves.has(value) && !isTypeName(value));
    if (strange.length > 0) report(header, `Show the same resource in Location of ${id} and in the body: ${strange}.`);
  }
});

/** The values of a path's parameters, if the text is such a path. */
function valuesOf(path: string, text: string): string[] | undefined {
  const pattern = path.replaceAll(/\{\w+\}/g, '([^/]+)');
  return new RegExp(`^${pattern}$`).exec(text)?.slice(1);
}

/** A lookup is for all records of a type. */
function isTypeName(value: string): boolean {
  return /^[A-Z][A-Za-z]+$/.test(value);
}

function leavesOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(leavesOf);
  return isObject(value) ? Object.values(value).flatMap(leavesOf) : [value];
}
