import type { OpenApiDocument } from '../document/document.ts';
import { addressOf, type Operation, readAt } from '../document/operation.ts';
import { literal } from '../json.ts';
import { Effects } from './effects.ts';
import { collectionPath, isPutCreation, itemOf, lastParameter, pathNames } from './names.ts';
import type { CheckOptions } from './options.ts';
import type { Effect, PlanEntry } from './report.ts';

export class Plan {
  readonly #effects: Effects;
  readonly #entries: ReadonlyMap<Operation, PlanEntry>;
  readonly #excluded: readonly RegExp[];

  constructor(document: OpenApiDocument, operations: readonly Operation[], options: CheckOptions) {
    const selected = chosen(operations, options);
    this.#effects = new Effects(document, operations);
    const entryOf = (operation: Operation): PlanEntry => {
      const { id, method } = operation;
      const path = addressOf(operation);
      const { effect, why, isSafe } = this.#effects.of(operation);
      const reason = isSafe || options.disposable === true ? undefined : 'needs --disposable';
      const skipped = selected.includes(operation) ? reason : 'excluded';
      return { operation: id, method, path, effect, why, skipped };
    };
    this.#entries = new Map(operations.map((operation) => [operation, entryOf(operation)]));
    this.#excluded = (options.exclude ?? []).map(patternOf);
  }

  get entries(): PlanEntry[] {
    return [...this.#entries.values()];
  }

  entryOf(method: string, path: string): PlanEntry | undefined {
    return [...this.#entries].find(([operation]) => operation.method === method && operation.path === path)?.[1];
  }

  effectOf(operation: Operation): Effect {
    return this.#entries.get(operation)?.effect ?? 'irreversible';
  }

  /** The parameter that selects from the collection to which an operation adds. */
  itemIn({ path }: Operation): string | undefined {
    const items = [...this.#entries.keys()].flatMap((one) => itemOf(one.path) ?? []);
    return items.find(({ collection }) => collection === path)?.name;
  }

  resourcesIn(operation: Operation): string[] {
    return this.#effects.resourcesIn(operation);
  }

  isCalled(operation: Operation): boolean {
    const entry = this.#entries.get(operation);
    return entry !== undefined && entry.skipped === undefined;
  }

  /** Whether an operation changes something that exists once, such as a mode of the server, on which others can depend. */
  isSetting(operation: Operation): boolean {
    return this.effectOf(operation) === 'change existing' && !operation.path.includes('{');
  }

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
  const address = addressOf(operation);
  const names = [operation.id, `${operation.method} ${address}`, address, ...operation.tags];
  return patterns.map(patternOf).some((pattern) => names.some((name) => pattern.test(name)));
}

function patternOf(text: string): RegExp {
  return new RegExp(`^${literal(text).replaceAll('\\*', '.*')}$`, 'i');
}

type Known = ReadonlyMap<string, unknown>;

/** The operation that creates what the path names, or the nearest of its parents, and the parameter that names it. */
export function creatorFor(
  operations: readonly Operation[],
  operation: Operation,
  known: Known,
): { readonly creator: Operation; readonly name: string } | undefined {
  for (const name of pathNames(operation.path).toReversed()) {
    const collection = collectionPath(operation.path, name);
    const item = operation.path.slice(0, operation.path.indexOf(`{${name}}`) + name.length + 2);
    const shown = shownBy(readAt(operations, item));
    const isCreator = (one: Operation) =>
      one.method === 'POST' ? one.path === collection : one.path === operation.path && isPutCreation(one, operations);
    // `POST /user/repos` returns what is read at `/repos/{owner}/{repo}`.
    const isElsewhere = (one: Operation) => one.method === 'POST' && shown !== undefined && shownBy(one) === shown;
    const all = operations.filter((one) => known.has(one.id));
    const creator = all.find(isCreator) ?? all.find(isElsewhere);
    if (creator !== undefined) return { creator, name };
  }
  return undefined;
}

/** The name of the schema of what an operation returns. */
function shownBy(operation: Operation | undefined): string | undefined {
  const success = operation?.responses.find(({ status }) => /^20[01]$/.test(status));
  const reference = success?.contents[0]?.schema?.$ref;
  return typeof reference === 'string' ? reference : undefined;
}

/** The POST or PUT to the same path that a DELETE takes back, such as a mark as favorite. */
export function undoneBy(
  operations: readonly Operation[],
  { method, path }: Operation,
  known: Known,
): Operation | undefined {
  const isSame = (one: Operation) => /^P(?:OS|U)T$/.test(one.method) && one.path === path && known.has(one.id);
  return method === 'DELETE' && !path.endsWith('}') ? operations.find(isSame) : undefined;
}

/** Why no value is known for a path: often because the operation that creates one is not called. */
export function whyNoId(plan: Plan, operation: Operation, onlyCreated: boolean): string {
  const creator = plan.entryOf('POST', collectionPath(operation.path, lastParameter(operation.path) ?? ''));
  if (creator?.skipped !== undefined)
    return `${creator.operation}, which creates what its path names, is not called: ${creator.skipped}`;
  return onlyCreated ? 'it changes or deletes resources, and no operation creates one' : 'no id is known for its path';
}
