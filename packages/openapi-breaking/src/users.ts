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
  return everyone.filter(({ components }) => components.has(component)).map(({ user }) => user);
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
  /** The components that references lead to, from the operation and what its path defines for all operations. */
  readonly components: ReadonlySet<string>;
}

/** A gate asks for the users of each break. */
const known = new WeakMap<Bundle, readonly Place[]>();

function places(bundle: Bundle): readonly Place[] {
  const places = known.get(bundle) ?? findPlaces(bundle);
  known.set(bundle, places);
  return places;
}

function findPlaces(bundle: Bundle): readonly Place[] {
  const direct = new Map<string, readonly string[]>();
  const referencesOf = (component: string) => {
    const references = direct.get(component) ?? referencesIn(valueAt(bundle, component));
    direct.set(component, references);
    return references;
  };
  return operationsOf(bundle).map(({ root, path, key, item, operation }) => {
    const method = root === 'paths' ? key.toUpperCase() : 'webhook';
    const id = typeof operation.operationId === 'string' ? operation.operationId : `${method} ${path}`;
    const components = new Set(referencesIn([operation, item.parameters]));
    // A set also iterates over what is added meanwhile.
    for (const component of components) for (const reference of referencesOf(component)) components.add(reference);
    return { root, path, key, user: { id, method, path }, components };
  });
}

function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const here = '$ref' in value && typeof value.$ref === 'string' ? [value.$ref] : [];
  return [...here, ...Object.values(value).flatMap(referencesIn)];
}
