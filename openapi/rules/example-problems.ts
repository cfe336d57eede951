/**
 * Callers copy the examples of problems into their tests. So an operation shows only codes that it can return and values that it has,
 * and some example has each code.
 */
import { type Operation, operationsOf, type Place, parameterNamed, type Report, wholeContract } from './contract.ts';
import { contentOf, partsOf, propertiesOf } from './schemas.ts';

export const exampleProblems = wholeContract((root, report) => {
  const shown = new Set<unknown>();
  for (const operation of operationsOf(root)) {
    for (const [status, response] of operation.responses) {
      const problems = examplesOf(response);
      for (const problem of problems) collectCodes(problem, shown);
      if (!['400', '403', '409'].includes(status)) continue;
      checkCodes(operation, status, response, problems, report);
      for (const problem of problems) checkPointers(operation, response, problem, report);
      if (status === '400') checkPart(operation, response, problems, report);
    }
  }
  const codes = root.get('components', 'schemas', 'ProblemCode');
  const outside = codes?.get('x-codes-outside-operations')?.keys() ?? [];
  for (const code of codes?.list('enum') ?? []) {
    if (!shown.has(code.value) && !outside.includes(String(code.value))) {
      report(code, `Show an example with the code ${code.value}.`);
    }
  }
});

function examplesOf(response: Place): Place[] {
  return response
    .map('content')
    .flatMap(([, media]) => media.map('examples').flatMap(([, example]) => example.get('value') ?? []));
}

/** The codes of a problem, or of the failed items in a result. */
function collectCodes(value: Place, codes: Set<unknown>): void {
  for (const part of value.items()) collectCodes(part, codes);
  if (typeof value.value !== 'object') return;
  for (const [key, part] of value.entries()) {
    if (key === 'code') codes.add(part.value);
    else collectCodes(part, codes);
  }
}

/** What the operation can return depends on its parts, or is in its description. */
function checkCodes(operation: Operation, status: string, response: Place, problems: Place[], report: Report): void {
  const body = bodyOf(operation);
  const has = (name: string) =>
    parameterNamed(operation, name) !== undefined || body.some((schema) => propertiesOf(schema).has(name));
  const usual: Record<string, readonly string[]> = {
    '400': [
      'VALIDATION_ERROR',
      ...(body.length > 0 ? ['MALFORMED_REQUEST'] : []),
      ...(has('cursor') ? ['INVALID_CURSOR'] : []),
      ...(has('where') ? ['SEARCH_TOO_COMPLEX'] : []),
    ],
    '403': ['FORBIDDEN', 'TENANT_MISMATCH', 'ACCESS_RESTRICTED'],
    '409': has('Idempotency-Key') ? ['IDEMPOTENCY_KEY_REUSED', 'REQUEST_IN_PROGRESS'] : [],
  };
  const description = operation.place.text('description') ?? '';
  for (const problem of problems) {
    const code = problem.text('code') ?? '';
    if (usual[status]?.includes(code) !== true && !description.includes(`\`${code}\``)) {
      report(
        response,
        `Remove the example with the code ${code}, or describe in ${operation.id} when it returns this code.`,
      );
    }
  }
}

function checkPointers(operation: Operation, response: Place, problem: Place, report: Report): void {
  // These point into the row that the path names, and the rows that it refers to.
  if (problem.text('code') === 'DOCUMENT_INCOMPLETE') return;
  for (const error of problem.list('errors')) {
    const [place, pointer = ''] = [error.text('in'), error.text('pointer')];
    const isUnknown = error.text('code')?.startsWith('UNKNOWN_') === true;
    const tokens = pointer.split('/').slice(1, isUnknown ? -1 : undefined);
    const isThere =
      place === 'body'
        ? bodyOf(operation).some((schema) => leadsSomewhere(schema, tokens))
        : isUnknown || parameterNamed(operation, tokens.join('/'))?.text('in') === place;
    if (!isThere) report(response, `Show a problem of ${operation.id}: its ${place} has no value at "${pointer}".`);
  }
}

/** A 400 shows what is particular to the operation: its body or its parameters, and not only the headers that all have. */
function checkPart(operation: Operation, response: Place, problems: Place[], report: Report): void {
  // Each value of a path with an enum is a resource of its own, so another one is not found.
  const checked = operation.parameters.filter((parameter) => parameter.get('schema', 'enum') === undefined);
  const parts = checked.map((parameter) => parameter.text('in'));
  const own = bodyOf(operation).length > 0 ? ['body'] : ['path', 'query'].filter((part) => parts.includes(part));
  const named = problems.flatMap((problem) => problem.list('errors').map((error) => error.text('in')));
  if (own.length > 0 && !named.some((part) => part !== undefined && own.includes(part))) {
    report(response, `Show a 400 of ${operation.id} with an invalid value in its ${own.join(' or ')}.`);
  }
}

function bodyOf({ body }: Operation): Place[] {
  return body === undefined ? [] : contentOf(body);
}

/** Whether a value of the schema can have something at the end of the pointer. */
function leadsSomewhere(schema: Place, [token, ...rest]: readonly string[]): boolean {
  if (token === undefined) return true;
  return partsOf(schema).some((part) => {
    const child = /^\d+$/.test(token) ? part.get('items') : part.get('properties', token);
    if (child !== undefined && leadsSomewhere(child, rest)) return true;
    return [...part.list('oneOf'), ...part.list('anyOf')].some((branch) => leadsSomewhere(branch, [token, ...rest]));
  });
}
