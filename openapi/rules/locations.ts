/**
 * `Location` leads from a creation, or from what goes on after the response, to a resource that `GET` returns. Its example must, too: it is
 * such a path of the contract, with an ID of the example of the body, or of its own path.
 */
import { isObject, operationsOf, wholeContract } from './contract.ts';

export const locations = wholeContract((root, report) => {
  const operations = operationsOf(root);
  const paths = operations.filter(({ method }) => method === 'get').map(({ path }) => path);
  for (const { id, success, responses, place, parameters } of operations) {
    const header = success?.get('headers', 'Location');
    if (header === undefined && responses.some(([status]) => status === '201' || status === '202'))
      report(place, `Declare the header Location of ${id}: where GET returns what it creates or starts.`);
    const example = header?.text('example');
    if (success === undefined || header === undefined || example === undefined) continue;
    const values = paths.map((path) => valuesOf(path, example)).find((found) => found !== undefined);
    if (values === undefined) {
      report(header, `Add an example to Location of ${id} that is a path with GET: ${example} is not one.`);
      continue;
    }
    const shown = success
      .map('content')
      .flatMap(([, media]) => media.map('examples').map(([, one]) => one.get('value')));
    const inPath = parameters.flatMap((parameter) => parameter.text('example') ?? []);
    const leaves = new Set([...inPath, ...shown.flatMap((value) => leavesOf(value?.value))]);
    const strange = values.filter((value) => !leaves.has(value));
    if (strange.length > 0) report(header, `Show the same resource in Location of ${id} and in the body: ${strange}.`);
  }
});

/** The values of a path's parameters, if the text is such a path. */
function valuesOf(path: string, text: string): string[] | undefined {
  const pattern = path.replaceAll(/\{\w+\}/g, '([^/]+)');
  return new RegExp(`^${pattern}$`).exec(text)?.slice(1);
}

function leavesOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(leavesOf);
  return isObject(value) ? Object.values(value).flatMap(leavesOf) : [value];
}
