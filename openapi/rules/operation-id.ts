/**
 * Operations become methods of the client, files of the server and keys of the index. A closed table of verbs keeps
 * the names predictable: there is no `fetchClients` next to `getClient`.
 */
import { eachOperation } from './contract.ts';

export const verbs: Record<string, readonly string[]> = {
  get: ['get', 'list'],
  put: ['update'],
  patch: ['update'],
  delete: ['delete', 'deactivate'],
  post: [
    'list',
    'search',
    'aggregate',
    'lookup',
    'create',
    'upsert',
    'onboard',
    'merge',
    'assign',
    'remove',
    'reactivate',
    'retry',
    'recover',
    'advance',
    'rotate',
    'send',
    'generate',
    'validate',
  ],
};

export const operationId = eachOperation(({ method, place, id }, report) => {
  const allowed = verbs[method] ?? [];
  const verb = /^([a-z]+)[A-Z][A-Za-z0-9]*$/.exec(id)?.[1];
  if (verb === undefined || !allowed.includes(verb)) {
    report(
      place.get('operationId') ?? place,
      `Name the operation by a verb and a noun in camelCase; for ${method.toUpperCase()} the verbs are ${allowed.join(', ')}.`,
    );
  }
});
