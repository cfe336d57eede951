import type { Operation } from '../document/operation.ts';
import { collectionPath, isPutCreation, lastParameter, pathNames } from './names.ts';
import type { Session } from './session.ts';

/** The operations with a call that succeeds, by ID. */
type Known = ReadonlyMap<string, unknown>;

/** The operation that creates what the path names, or the nearest of its parents, and the parameter that names it. */
export function creatorFor(
  { operations }: Session,
  operation: Operation,
  known: Known,
): { readonly creator: Operation; readonly name: string } | undefined {
  for (const name of pathNames(operation.path).toReversed()) {
    const collection = collectionPath(operation.path, name);
    const creator = operations.find(
      (one) =>
        known.has(one.id) &&
        (one.method === 'POST'
          ? one.path === collection
          : one.path === operation.path && isPutCreation(one, operations)),
    );
    if (creator !== undefined) return { creator, name };
  }
  return undefined;
}

/** The POST to the same path that a DELETE takes back, such as a mark as favorite. */
export function undoneBy({ operations }: Session, { method, path }: Operation, known: Known): Operation | undefined {
  const isSame = (one: Operation) => one.method === 'POST' && one.path === path && known.has(one.id);
  return method === 'DELETE' && !path.endsWith('}') ? operations.find(isSame) : undefined;
}

/** Why no value is known for a path: often because the operation that creates one is not called. */
export function whyNoId({ declared, plan }: Session, operation: Operation, onlyCreated: boolean): string {
  const collection = collectionPath(operation.path, lastParameter(operation.path) ?? '');
  const creator = declared.find(({ method, path }) => method === 'POST' && path === collection);
  const skipped = creator === undefined ? undefined : plan.reasonFor(creator);
  if (creator !== undefined && skipped !== undefined)
    return `${creator.id}, which creates what its path names, is not called: ${skipped}`;
  return onlyCreated ? 'it changes or deletes resources, and no operation creates one' : 'no id is known for its path';
}
