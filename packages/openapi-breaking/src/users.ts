/** The operations and webhooks that use an element of a bundle. */
import { type Bundle, isMethod, keysOf, operationsOf, valueAt } from './document.ts';

export interface User {
  /** The `operationId`, or the method and the path. */
  readonly id: string;
  /** `PUT`, or `webhook`. */
  readonly method: string;
  /** The path, or the name of the webhook. */
  readonly path: string;
}

/** Returns the operations that use the element of a pointer: all of them if it concerns none in particular. */
export function usersOf(bundle: Bundle, pointer: string): readonly User[] {
  const [root, name, part = ''] = keysOf(pointer);
  const everyone = places(bundle);
  if (root === 'paths' || root === 'webhooks') {
    const here = everyone.filter((place) => place.root === root && place.path === name);
    return here.filter(({ key }) => !isMethod(part) || key === part).map(({ user }) => user);
  }
  if (root !== 'components' || name === 'securitySchemes') return everyone.map(({ user }) => user);
  const component = `#/components/${name}/${part}`;
  return everyone.filter(({ parts }) => reaches(bundle, parts, component)).map(({ user }) => user);
}

/**
 * Returns the words by which a changelog can refer to a break: an operation's ID or path, a webhook, a component, a part
 * of the root.
 */
export function wordsFor(bundle: Bundle, pointer: string): readonly string[] {
  const [root = '', , component] = keysOf(pointer);
  const users = usersOf(bundle, pointer);
  const words = users.flatMap(({ id, path }) => [id, path]);
  if (root === 'paths' || root === 'webhooks') return words;
  if (root !== 'components' || component === undefined) return [root];
  // The best word comes first: that of the only operation, or that of the shared component.
  return users.length === 1 ? [...words, component] : [component, ...words];
}

interface Place {
  readonly root: string;
  readonly path: string;
  readonly key: string;
  readonly user: User;
  /** The operation, and what its path defines for all operations. */
  readonly parts: unknown;
}

function places(bundle: Bundle): Place[] {
  return operationsOf(bundle).map(({ root, path, key, item, operation }) => {
    const method = root === 'paths' ? key.toUpperCase() : 'webhook';
    const id = typeof operation.operationId === 'string' ? operation.operationId : `${method} ${path}`;
    return { root, path, key, user: { id, method, path }, parts: [operation, item.parameters] };
  });
}

/** Whether references lead from a part of a bundle to a component. */
function reaches(bundle: Bundle, from: unknown, component: string): boolean {
  const seen = new Set<string>();
  const waiting: unknown[] = [from];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value !== 'object' || value === null) continue;
    const reference = '$ref' in value && typeof value.$ref === 'string' ? value.$ref : undefined;
    if (reference === component) return true;
    if (reference !== undefined && !seen.has(reference)) {
      seen.add(reference);
      waiting.push(valueAt(bundle, reference));
    }
    waiting.push(...Object.values(value));
  }
  return false;
}
