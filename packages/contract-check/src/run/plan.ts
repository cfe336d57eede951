import type { OpenApiDocument } from '../document/document.ts';
import { extensionOf, type Operation } from '../document/operation.ts';
import type { CheckOptions } from '../options.ts';
import { type Effect, effects, type PlanEntry } from '../report/report.ts';
import {
  collectionPath,
  hasRows,
  isCreating,
  isPutCreation,
  isReading,
  itemOf,
  kindOfPath,
  kindOfReference,
  kindsOfOperation,
  lastParameter,
  pathNames,
} from './names.ts';

/** Effects that a run has only on servers whose data may be changed. */
const disposableEffects: readonly Effect[] = ['change existing', 'irreversible'];

/** What the run may call, and the effect of each operation. */
export class Plan {
  readonly #entries: ReadonlyMap<Operation, PlanEntry>;
  readonly #excluded: readonly RegExp[];

  constructor(document: OpenApiDocument, operations: readonly Operation[], options: CheckOptions) {
    const selected = chosen(operations, options);
    const creators = operations.filter((operation) => isCreator(operation, operations));
    const entryOf = (operation: Operation): PlanEntry => {
      const { id, method, path } = operation;
      const effect = effectIn(document, operation, operations, creators);
      const isDisposing = options.disposable !== true && disposableEffects.includes(effect);
      const reason = isDisposing ? 'needs --disposable' : undefined;
      return { operation: id, method, path, effect, skipped: selected.includes(operation) ? reason : 'excluded' };
    };
    this.#entries = new Map(operations.map((operation) => [operation, entryOf(operation)]));
    this.#excluded = (options.exclude ?? []).map(patternOf);
  }

  get entries(): PlanEntry[] {
    return [...this.#entries.values()];
  }

  effectOf(operation: Operation): Effect {
    return this.#entries.get(operation)?.effect ?? 'irreversible';
  }

  isCalled(operation: Operation): boolean {
    const entry = this.#entries.get(operation);
    return entry !== undefined && entry.skipped === undefined;
  }

  /** Whether an operation changes something that exists once, such as a mode of the server, on which others can depend. */
  isSetting(operation: Operation): boolean {
    return this.effectOf(operation) === 'change existing' && !operation.path.includes('{');
  }

  /** Why an operation is not called. */
  reasonFor(operation: Operation): string | undefined {
    return this.#entries.get(operation)?.skipped;
  }

  /** Whether a pattern of `--exclude` matches a path or `METHOD /path`, even of no operation. */
  isExcludedPath(method: string, path: string): boolean {
    return this.#excluded.some((pattern) => pattern.test(path) || pattern.test(`${method} ${path}`));
  }
}

/** The operations that `--only` and `--exclude` select, by ID, `METHOD /path`, path or tag. */
export function chosen(
  operations: readonly Operation[],
  { only = [], exclude = [] }: { only?: CheckOptions['only'] | undefined; exclude?: CheckOptions['exclude'] },
): Operation[] {
  return operations.filter(
    (operation) => (only.length === 0 || isNamedBy(only, operation)) && !isNamedBy(exclude, operation),
  );
}

function isNamedBy(patterns: readonly string[], operation: Operation): boolean {
  const names = [operation.id, `${operation.method} ${operation.path}`, operation.path, ...operation.tags];
  return patterns.map(patternOf).some((pattern) => names.some((name) => pattern.test(name)));
}

function patternOf(text: string): RegExp {
  return new RegExp(`^${text.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`, 'i');
}

/**
 * The effect of an operation: declared, or inferred from its method, its path and its statuses. Whatever cannot be
 * recognized counts as irreversible.
 */
function effectIn(
  document: OpenApiDocument,
  operation: Operation,
  operations: readonly Operation[],
  creators: readonly Operation[],
): Effect {
  const declared = extensionOf(operation.node).effect;
  const known = effects.find((effect) => effect === declared);
  if (known !== undefined) return known;
  if (isReading(operation)) return extensionOf(operation.node).safe === false ? 'irreversible' : 'read';
  if (creators.includes(operation)) return 'create';
  if (creators.some((creator) => creates(document, creator, operation))) return 'change own';
  const read = operations.find(({ method, path }) => method === 'GET' && path === operation.path);
  const isRead = read !== undefined && (operation.method !== 'POST' || !hasRows(document, read));
  return isRead && operation.method !== 'DELETE' ? 'change existing' : 'irreversible';
}

/** A POST that declares 201 or has a path for each resource below its own, or a PUT to an unused path. */
function isCreator(operation: Operation, operations: readonly Operation[]): boolean {
  if (isPutCreation(operation, operations)) return true;
  if (!isCreating(operation)) return false;
  const { creates: declared } = extensionOf(operation.node);
  if (declared !== undefined) return declared !== false;
  return (
    operation.responses.some(({ status }) => status === '201') ||
    operations.some(({ path }) => itemOf(path)?.collection === operation.path)
  );
}

/** Whether an operation creates what the path of another one names. */
function creates(document: OpenApiDocument, creator: Operation, { path }: Operation): boolean {
  const name = lastParameter(path);
  if (name === undefined) return false;
  const collection = collectionPath(path, name);
  if (creator.method === 'PUT') return path.startsWith(creator.path);
  if (creator.path === collection) return true;
  const kinds = kindsOfOperation(document, creator);
  return [kindOfPath(collection), kindOfReference(name)].some((kind) => kind !== undefined && kinds.includes(kind));
}

/** The operations with a call that succeeds, by ID. */
type Known = ReadonlyMap<string, unknown>;

/** The operation that creates what the path names, or the nearest of its parents, and the parameter that names it. */
export function creatorFor(
  operations: readonly Operation[],
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
export function undoneBy(
  operations: readonly Operation[],
  { method, path }: Operation,
  known: Known,
): Operation | undefined {
  const isSame = (one: Operation) => one.method === 'POST' && one.path === path && known.has(one.id);
  return method === 'DELETE' && !path.endsWith('}') ? operations.find(isSame) : undefined;
}

/** Why no value is known for a path: often because the operation that creates one is not called. */
export function whyNoId({ entries }: Plan, operation: Operation, onlyCreated: boolean): string {
  const collection = collectionPath(operation.path, lastParameter(operation.path) ?? '');
  const creator = entries.find(({ method, path }) => method === 'POST' && path === collection);
  if (creator?.skipped !== undefined)
    return `${creator.operation}, which creates what its path names, is not called: ${creator.skipped}`;
  return onlyCreated ? 'it changes or deletes resources, and no operation creates one' : 'no id is known for its path';
}
