import { type Operation, safeMethods } from '../document/operation.ts';
import { pathPattern } from './deserialize.ts';
import type { WireRequest } from './serialize.ts';

/** A request that was not sent. What needs it is skipped, and the run continues. */
export class NotSent extends Error {}

/** The run is over: its time is up, it was interrupted, or the server died. Nothing is sent any more. */
export class RunStopped extends Error {}

interface Permission {
  readonly operations: readonly Operation[];
  readonly isAllowed: (operation: Operation) => boolean;
  /** Whether a path is excluded as such, whatever its method. */
  readonly isExcludedPath: (method: string, path: string) => boolean;
  /** Whether only selected operations may be called. Undeclared paths must then be below one of theirs. */
  readonly isSelective: boolean;
  /** Whether undeclared operations may be tried with methods that change data. */
  readonly isDisposable: boolean;
  /** Whether an operation may change what a path names: it is the run's own, or does not exist. */
  readonly mayChange: (operation: Operation, path: string) => boolean;
  /** The path of the server's URL, which precedes every path of the contract. */
  readonly base: string;
}

/**
 * The only way to the server: `HttpClient` sends nothing that the gate rejects. It judges the request as sent, not the
 * operation that a check meant to call: every operation to which a server could route the request must be allowed.
 */
export class Gate {
  readonly #permission: Permission;
  readonly #templates: readonly { readonly operation: Operation; readonly pattern: RegExp; readonly rank: string }[];

  constructor(permission: Permission) {
    this.#permission = permission;
    this.#templates = permission.operations.map((operation) => ({
      operation,
      pattern: templatePattern(operation.path),
      rank: rankOf(operation.path),
    }));
  }

  /** @throws NotSent if a request must not be sent. */
  check({ method, target, headers }: WireRequest): void {
    const reason = this.#refusal(method.toUpperCase(), target, headers);
    if (reason !== undefined) throw new NotSent(`${method} ${target} is not sent: ${reason}.`);
  }

  #refusal(method: string, target: string, headers: WireRequest['headers']): string | undefined {
    const { base, isExcludedPath, isSelective, isDisposable, isAllowed, mayChange } = this.#permission;
    const methods = methodsOf(method, headers);
    const [raw = ''] = target.split(/[?#]/);
    const changed = new Map<Operation, string[]>();
    for (const path of readingsOf(raw, base)) {
      if (methods.some((one) => isExcludedPath(one, path))) return 'its path is excluded';
      const onPath = this.#templates.filter(({ pattern }) => pattern.test(path));
      if (onPath.length > 0 && !onPath.some(({ operation }) => isAllowed(operation)))
        return `it is on the path of ${onPath[0]?.operation.id}, which is not called`;
      const meant = methods.flatMap((one) => this.#operationOf(one, onPath));
      for (const operation of meant) {
        if (!isAllowed(operation)) return `it would call ${operation.id}`;
        changed.set(operation, [...(changed.get(operation) ?? []), path]);
      }
      if (meant.length > 0) continue;
      if (!isDisposable && methods.some((one) => !safeMethods.includes(one)))
        return 'an undeclared operation could change data';
      if (isSelective && !this.#isNearAllowed(path)) return 'its path is not below a selected operation';
    }
    // An ID can be read in several ways; the run knows it in one of them.
    for (const [operation, paths] of isDisposable ? [] : changed)
      if (!paths.some((path) => mayChange(operation, path)))
        return `it would change data that this run did not create (${operation.id})`;
    return undefined;
  }

  /** The operation that a router selects: the most specific template that has the method. */
  #operationOf(method: string, onPath: readonly { operation: Operation; rank: string }[]): Operation[] {
    const candidates = onPath.filter(({ operation }) => operation.method === method);
    const [best] = candidates.toSorted((one, other) => (one.rank < other.rank ? -1 : 1));
    if (best !== undefined) return [best.operation];
    // Routers call the handler of GET for HEAD.
    return method === 'HEAD' ? this.#operationOf('GET', onPath) : [];
  }

  #isNearAllowed(path: string): boolean {
    const { isAllowed } = this.#permission;
    return this.#templates.some(
      ({ operation }) => isAllowed(operation) && templatePattern(operation.path, '(?:/.*)?').test(path),
    );
  }
}

/** Headers by which some frameworks replace the method. */
const methodHeaders = ['x-http-method-override', 'x-http-method', 'x-method-override'];

function methodsOf(method: string, headers: WireRequest['headers']): string[] {
  const others = Object.entries(headers).flatMap(([name, value]) =>
    methodHeaders.includes(name.toLowerCase()) ? [value.toUpperCase()] : [],
  );
  return [method, ...others];
}

/** The pattern of a path template, in lower case, because some routers ignore case. */
function templatePattern(template: string, end = ''): RegExp {
  return pathPattern(normal(template), end, 'is');
}

/** Orders templates: fixed segments precede parameters (OpenAPI, "Path Templating Matching"). */
function rankOf(template: string): string {
  return template
    .split('/')
    .map((segment) => (segment.startsWith('{') ? '2' : segment.includes('{') ? '1' : '0'))
    .join('');
}

/**
 * The paths that servers can read in a request: with escapes decoded up to three times, dot segments resolved, slashes
 * merged, and without path parameters or a file extension.
 */
function readingsOf(raw: string, base: string): string[] {
  const readings = new Set<string>();
  let text = `${base}${raw}`;
  for (let depth = 0; depth <= 3; depth += 1) {
    for (const form of [text, text.replaceAll('\\', '/'), text.replaceAll(/;[^/]*/g, ''), text.split('\0')[0] ?? '']) {
      const path = below(base, normal(form));
      readings.add(path).add(path.replace(/\.(?:json|xml|html)$/i, ''));
    }
    const decoded = decodedOnce(text);
    if (decoded === text) break;
    text = decoded;
  }
  return [...readings];
}

function below(base: string, path: string): string {
  const isBelow = base !== '' && path.toLowerCase().startsWith(`${base.toLowerCase()}/`);
  return isBelow ? path.slice(base.length) : path === base && base !== '' ? '/' : path;
}

/** Merges slashes, resolves dot segments, and removes a trailing slash. */
function normal(path: string): string {
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  return `/${segments.join('/')}`;
}

/** Decodes every valid escape, and keeps the others. */
function decodedOnce(text: string): string {
  return text.replaceAll(/(?:%[\da-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('latin1');
    }
  });
}
