import findMyWay from 'find-my-way';
import { allOperations, type Operation } from '../contract/contract.ts';
import { Problem } from './problem.ts';

export interface Route {
  readonly operation: Operation;
  readonly path: Record<string, string>;
}

/** All paths share one method in the look-up tree, because a path is found independently of the method. */
const anyMethod = 'GET';

/**
 * Finds the operation of a request in one look-up. Fixed segments take precedence over parameters, whatever the method:
 * `/gql/v1/staff/search` is never a staff member.
 *
 * @throws Problem `NOT_FOUND` if no operation has the path, `METHOD_NOT_ALLOWED` if only operations with other methods
 * have it.
 */
export function createRouter(): (method: string, path: string) => Route {
  const router = findMyWay({ caseSensitive: true, maxParamLength: 500 });
  for (const [path, operations] of Map.groupBy(allOperations, (operation) => operation.path)) {
    const byMethod = new Map<string, Operation>(operations.map((operation) => [operation.method, operation]));
    router.on(anyMethod, path.replaceAll(/\{([^{}]+)\}/g, ':$1'), () => {}, byMethod);
  }

  return (method, path) => {
    const found = router.find(anyMethod, path);
    const parameters = Object.entries(found?.params ?? {}).map(([name, value]) => [name, value ?? ''] as const);
    // An empty segment is not a valid parameter.
    if (found === null || parameters.some(([, value]) => value === '')) {
      throw new Problem('NOT_FOUND', 'This path does not exist. See /reference.');
    }
    const byMethod: ReadonlyMap<string, Operation> = found.store;
    const operation = byMethod.get(method);
    if (operation !== undefined) return { operation, path: Object.fromEntries(parameters) };
    const allowed = [...byMethod.keys()];
    throw new Problem('METHOD_NOT_ALLOWED', `This path supports only ${allowed.join(' and ')}.`, {
      headers: { Allow: allowed.join(', ') },
    });
  };
}
