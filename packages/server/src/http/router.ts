import findMyWay from 'find-my-way';
import { allOperations, type Operation } from '../contract/contract.ts';
import type { OperationId } from '../contract/handler.ts';
import { Problem } from './problem.ts';

export interface Route {
  readonly operation: Operation;
  readonly path: Record<string, string>;
}

/**
 * Finds the operation of a request in one look-up, however many there are. Segments that are fixed win over parameters.
 *
 * @throws Problem `NOT_FOUND` where no operation has the path, `METHOD_NOT_ALLOWED` where one has it with other methods.
 */
export function createRouter(): (method: string, path: string) => Route {
  const router = findMyWay({ caseSensitive: true, maxParamLength: 500 });
  const byId = new Map<string, Operation>(allOperations.map((operation) => [operation.id, operation]));
  for (const operation of allOperations) {
    const pattern = operation.path.replaceAll(/\{([^}]+)\}/g, ':$1');
    router.on(operation.method, pattern, () => {}, operation.id satisfies OperationId);
  }
  const methods = [...new Set(allOperations.map((operation) => operation.method))];

  return (method, path) => {
    const found = isMethod(method) ? router.find(method, path) : null;
    const operation = byId.get(found?.store);
    if (found !== null && operation !== undefined) {
      return {
        operation,
        path: Object.fromEntries(Object.entries(found.params).map(([name, value]) => [name, value ?? ''])),
      };
    }
    const allowed = methods.filter((other) => byId.has(router.find(other, path)?.store));
    if (allowed.length === 0) throw new Problem('NOT_FOUND', 'There is no operation at this path. See /reference.');
    throw new Problem('METHOD_NOT_ALLOWED', `This path answers ${allowed.join(' and ')} only.`, {
      headers: { Allow: allowed.join(', ') },
    });
  };

  function isMethod(method: string): method is Operation['method'] {
    return (methods as string[]).includes(method);
  }
}
