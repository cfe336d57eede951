import type { Operation } from '../document/operation.ts';
import type { CheckName } from '../finding/rules.ts';
import type { Exchange } from '../http/call.ts';
import { pathPattern } from '../http/deserialize.ts';
import { serialize, type WireRequest } from '../http/serialize.ts';
import { isObject } from '../json.ts';
import type { Candidate } from '../judge/judge.ts';
import { isSuccess } from '../run/baseline.ts';
import { isReadingPost } from '../run/names.ts';
import { eachOperation, ifSent, inParallel } from '../run/parallel.ts';
import type { Session } from '../run/session.ts';
import type { CheckContext } from './check.ts';
import { isAccepted, isRejected } from './outcome.ts';

/** Finds endpoints that are not in the contract: undeclared methods, paths, path spellings and parameters. */
export async function checkUndeclaredEndpoints(context: CheckContext): Promise<void> {
  const { session, baselines, onProgress } = context;
  const known = session.judged.filter((operation) => baselines.of(operation) !== undefined);
  const paths = [...new Map(known.map((operation) => [operation.path, operation])).values()];
  let done = 0;
  await eachOperation(paths, 4, async (operation) => {
    if (!session.isOver) await otherMethods(context, operation);
    done += 1;
    onProgress(done, paths.length + 3);
  });
  const isCatching = await ifSent(() => isCatchAll(context));
  if (isCatching === undefined) {
    session.notices.add('Undeclared paths were not called, because --only selects operations.');
  } else if (isCatching) {
    session.notices.add('The server returns 200 for unknown paths, so undeclared endpoints cannot be detected.');
  } else {
    await otherPaths(context, paths);
    await ifSent(() => ownRouteList(context));
  }
  onProgress(paths.length + 1, paths.length + 3);
  for (const habit of habits) if (!session.isOver) await ifSent(() => byHabit(context, habit));
  onProgress(paths.length + 3, paths.length + 3);
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/**
 * Methods that many frameworks handle automatically. Only server faults and a TRACE that echoes (RFC 9110, 9.3.8) are
 * reported.
 */
const quiet = ['HEAD', 'OPTIONS', 'TRACE'] as const;

/** An undeclared method must return 405 with `Allow` listing the declared methods (RFC 9110, 15.5.6). */
async function otherMethods({ session, baselines }: CheckContext, operation: Operation): Promise<void> {
  const baseline = baselines.of(operation);
  if (baseline === undefined) return;
  const target = serialize(baseline.call).target.split('?')[0] ?? '';
  // Another path template may match, too. `Allow` may omit its methods.
  const declared = new Set(matching(session.declared, target).map(({ method }) => method));
  const own = new Set(session.declared.filter(({ path }) => path === operation.path).map(({ method }) => method));
  for (const method of quiet) {
    if (declared.has(method) || session.isOver) continue;
    const wire: WireRequest = { method, target, headers: { accept: '*/*' }, body: undefined };
    const exchange = await ifSent(() => session.sendRaw(wire, undefined));
    if (exchange === undefined) continue;
    session.observed(operation, 'undeclared endpoints');
    const isTraced = method === 'TRACE' && exchange.response.status < 400;
    const isServerError = exchange.response.status >= 500 && exchange.response.status !== 501;
    const wrong =
      isTraced || isServerError
        ? methodFinding(session.document.placeOf(operation.node), operation, method, own, exchange)
        : undefined;
    if (wrong !== undefined) await session.report(wrong, [exchange]);
  }
  for (const method of methods) {
    if (declared.has(method) || session.isOver) continue;
    const wire: WireRequest = {
      method,
      target,
      headers: { accept: '*/*', ...bodyHeaders(method) },
      body: method === 'GET' || method === 'DELETE' ? undefined : '{}',
    };
    const exchange = await ifSent(() => session.sendRaw(wire, undefined));
    if (exchange === undefined) continue;
    session.observed(operation, 'undeclared endpoints');
    const wrong = methodFinding(session.document.placeOf(operation.node), operation, method, own, exchange);
    if (wrong === undefined) continue;
    await session.report(wrong, [exchange], async () => {
      const again = await session.sendRaw(wire, undefined);
      return methodFinding(undefined, operation, method, own, again)?.check === wrong.check ? [again] : undefined;
    });
  }
}

function methodFinding(
  place: Candidate['place'],
  operation: Operation,
  method: string,
  own: ReadonlySet<string>,
  { response }: Exchange,
): Candidate | undefined {
  const base = { category: 'undeclared endpoints' as const, operation: operation.id, place };
  const allowed = [...own].join(', ');
  if (response.status >= 500 || response.status === 0) {
    return {
      ...base,
      check: 'method-fault',
      title: `${method} ${operation.path} fails with ${response.status || 'no response'}`,
      expected: `405 with Allow: ${allowed}`,
      actual: `${response.status} ${response.text.slice(0, 160)}`,
      fix: 'Return 405 for methods that a path does not have.',
      cause: `method-fault ${operation.path} ${method}`,
    };
  }
  if (response.status < 400) {
    return {
      ...base,
      check: 'undeclared-operation',
      title: `${method} ${operation.path} returns ${response.status}, but is not in the contract`,
      expected: `405 with Allow: ${allowed}`,
      actual: `${response.status} ${response.text.slice(0, 160)}`,
      fix: 'Declare the operation in the contract, or remove it from the server.',
      cause: `undeclared-operation ${method} ${operation.path}`,
    };
  }
  // A server may check permissions before it routes the request.
  if ([401, 403, 429].includes(response.status)) return undefined;
  if (response.status !== 405) {
    return {
      ...base,
      check: response.status === 404 ? 'method-not-405' : 'undeclared-operation',
      title:
        response.status === 404
          ? `An undeclared method of ${operation.path} returns 404`
          : `${method} ${operation.path} returns ${response.status}: it exists, but is not in the contract`,
      expected: `405 with Allow: ${allowed} (RFC 9110, 15.5.6)`,
      actual: `${method}: ${response.status} ${response.text.slice(0, 120)}`,
      fix:
        response.status === 404
          ? 'Return 405 with Allow for undeclared methods of a known path.'
          : 'Declare the operation in the contract, or return 405.',
      cause:
        response.status === 404
          ? `method-not-405 ${operation.path}`
          : `undeclared-operation ${method} ${operation.path}`,
    };
  }
  const allow = (response.headers.allow ?? '').split(',').map((one) => one.trim().toUpperCase());
  const missing = [...own].filter((one) => !allow.includes(one));
  if (missing.length === 0 && !allow.includes(method)) return undefined;
  return {
    ...base,
    check: 'allow-header',
    title: `Allow of ${operation.path} lists other methods than the contract`,
    expected: `Allow: ${allowed} (RFC 9110, 10.2.1)`,
    actual: response.headers.allow === undefined ? 'no Allow' : `Allow: ${response.headers.allow}`,
    fix: 'Send Allow with the methods of the path.',
    cause: `allow-header ${operation.path}`,
  };
}

/** Operations whose path template matches a concrete path. */
function matching(operations: readonly Operation[], target: string): Operation[] {
  return operations.filter(({ path }) => pathPattern(path).test(target));
}

function bodyHeaders(method: string): Record<string, string> {
  return method === 'GET' || method === 'DELETE' ? {} : { 'content-type': 'application/json' };
}

async function isCatchAll({ session }: CheckContext): Promise<boolean> {
  const target = `/undeclared-path-${Math.abs(session.seedFor('catch-all'))}`;
  const exchange = await session.sendRaw({ method: 'GET', target, headers: { accept: '*/*' }, body: undefined });
  return exchange.response.status < 400 && exchange.response.status > 0;
}

/** Common paths next to a collection or below a resource that contracts often omit. */
const usual = [
  'search',
  'count',
  'export',
  'import',
  'bulk',
  'batch',
  'all',
  'stats',
  'summary',
  'history',
  'archive',
  'internal',
  'debug',
  'admin',
  'v2',
];

async function otherPaths({ session, baselines }: CheckContext, operations: readonly Operation[]): Promise<void> {
  const probes = operations.flatMap((operation) => {
    const baseline = baselines.of(operation);
    if (baseline === undefined) return [];
    const target = (serialize(baseline.call).target.split('?')[0] ?? '').replace(/\/$/, '');
    const beside = usual.flatMap((word) => [
      `${target}/${word}`,
      `${target.slice(0, target.lastIndexOf('/'))}/${word}`,
    ]);
    const resource = operation.path.includes('{') ? [] : [`${target}/1`];
    return [...beside, ...resource]
      .filter((path) => matching(session.declared, path).length === 0)
      .flatMap((path) => [
        { operation, path, method: 'GET' },
        ...(path.endsWith('/1') ? [{ operation, path, method: 'DELETE' }] : []),
      ]);
  });
  const unique = [...new Map(probes.map((probe) => [`${probe.method} ${probe.path}`, probe])).values()];
  await inParallel(unique, session.options.concurrency ?? 8, async ({ operation, path, method }) => {
    if (session.isOver) return;
    const wire = { method, target: path, headers: { accept: '*/*' }, body: undefined };
    const exchange = await session.sendRaw(wire);
    session.observed(operation, 'undeclared endpoints');
    const { status } = exchange.response;
    const succeeds = status > 0 && status < 400;
    const isServerError = status >= 500 && status !== 501;
    if (!succeeds && !isServerError) return;
    const shown = general(path, operation);
    await session.report(
      {
        check: succeeds ? 'undeclared-operation' : 'server-error',
        category: succeeds ? 'undeclared endpoints' : 'robustness',
        operation: operation.id,
        title: succeeds
          ? `${method} ${shown} returns ${status}, but is not in the contract`
          : `${method} ${shown} fails with ${status}`,
        expected: 'only the paths of the contract',
        actual: `${status} ${exchange.response.text.slice(0, 160)}`,
        place: session.document.placeOf(session.document.root, 'paths'),
        fix: 'Declare the operation in the contract, or remove it from the server.',
        cause: `undeclared-path ${method} ${shown}`,
      },
      [exchange],
      async () => {
        const again = await session.sendRaw(wire);
        return again.response.status === status ? [again] : undefined;
      },
    );
  });
}

/** The path with IDs replaced by parameter names. */
function general(path: string, { path: template }: Operation): string {
  const known = template.split('/');
  return path
    .split('/')
    .map((segment, index) => (known[index]?.startsWith('{') ? (known[index] ?? segment) : segment))
    .join('/');
}

const lists = [
  '/openapi.json',
  '/openapi',
  '/swagger.json',
  '/v3/api-docs',
  '/api-docs',
  '/docs/openapi.json',
  '/swagger/v1/swagger.json',
  '/_routes',
  '/routes',
];

/** If the server publishes its own list of operations, it must match the contract. */
async function ownRouteList({ session }: CheckContext): Promise<void> {
  for (const target of lists) {
    if (session.isOver) return;
    const exchange = await session.sendRaw({
      method: 'GET',
      target,
      headers: { accept: 'application/json' },
      body: undefined,
    });
    const listed = routesOf(exchange.response.json?.value);
    const [first] = session.judged;
    if (listed.length === 0 || first === undefined || exchange.response.status >= 300) continue;
    const declared = new Set(session.declared.map(({ method, path }) => shape(method, path)));
    for (const { method, path } of listed) {
      session.observed(first, 'undeclared endpoints');
      if (declared.has(shape(method, path))) continue;
      await session.report(
        {
          check: 'undeclared-operation',
          category: 'undeclared endpoints',
          operation: first.id,
          title: `${method} ${path} is listed by the server at ${target}, but is not in the contract`,
          expected: 'only the operations of the contract',
          actual: `${method} ${path}`,
          place: session.document.placeOf(session.document.root, 'paths'),
          fix: 'Declare the operation in the contract, or remove it from the server.',
          cause: `undeclared-operation ${method} ${path}`,
        },
        [exchange],
      );
    }
    return;
  }
}

function shape(method: string, path: string): string {
  return `${method} ${path.replace(/\/$/, '').replaceAll(/\{[^}]+\}|:[A-Za-z_]\w*/g, '{}')}`;
}

/** The operations in an OpenAPI document, or in a plain list of methods and paths. */
function routesOf(value: unknown): { method: string; path: string }[] {
  if (Array.isArray(value)) {
    return value
      .filter(isObject)
      .flatMap(({ method, path }) =>
        typeof method === 'string' && typeof path === 'string' ? [{ method: method.toUpperCase(), path }] : [],
      );
  }
  if (!isObject(value) || !isObject(value.paths)) return [];
  return Object.entries(value.paths).flatMap(([path, item]) =>
    Object.keys(isObject(item) ? item : {})
      .filter((key) => /^(?:get|put|post|delete|patch|head|options|trace)$/.test(key))
      .map((method) => ({ method: method.toUpperCase(), path })),
  );
}

/**
 * Behavior that contracts do not describe but servers handle consistently: trailing slashes and undeclared parameters.
 * An operation that deviates from the others is reported.
 */
interface Habit {
  readonly check: CheckName;
  readonly name: string;
  readonly fix: string;
  change(wire: WireRequest): WireRequest;
}

const habits: readonly Habit[] = [
  {
    check: 'trailing-slash',
    name: 'a path with a trailing slash',
    fix: 'Treat a trailing slash in the same way everywhere.',
    change: (wire) => {
      const [path = '', query] = wire.target.split('?');
      return { ...wire, target: `${path}/${query === undefined ? '' : `?${query}`}` };
    },
  },
  {
    check: 'reject-unknown-parameter',
    name: 'an undeclared query parameter',
    fix: 'Treat undeclared parameters in the same way everywhere.',
    change: (wire) => ({
      ...wire,
      target: `${wire.target}${wire.target.includes('?') ? '&' : '?'}undeclaredParameter=1`,
    }),
  },
];

async function byHabit({ session, baselines }: CheckContext, habit: Habit): Promise<void> {
  const readers = session.operations.filter(
    (operation) => (operation.method === 'GET' || isReadingPost(operation)) && baselines.of(operation) !== undefined,
  );
  // Operations out of scope count too, because the majority needs several operations.
  const judged = readers.filter((operation) => session.isJudged(operation));
  const others = readers.filter((operation) => !session.isJudged(operation)).slice(0, Math.max(0, 7 - judged.length));
  const votes: { operation: Operation; exchange: Exchange; isAcceptedHere: boolean }[] = [];
  for (const operation of [...judged, ...others]) {
    const baseline = baselines.of(operation);
    if (baseline === undefined || session.isOver) continue;
    const unchanged = serialize(baseline.call);
    // The resource of the baseline may have been deleted since.
    const before = await session.sendRaw(unchanged, undefined);
    if (!isAccepted(before)) continue;
    const wire = habit.change(unchanged);
    const exchange = await session.sendRaw(wire, undefined);
    if (isAccepted(exchange) && exchange.response.text !== before.response.text && session.isJudged(operation)) {
      await anotherResponse(session, operation, habit, unchanged, wire, before, exchange);
    }
    session.observed(operation, habit.check === 'trailing-slash' ? 'undeclared endpoints' : 'invalid input');
    if (isAccepted(exchange) || isRejected(exchange))
      votes.push({ operation, exchange, isAcceptedHere: isSuccess(exchange) });
    else if (exchange.response.status >= 500 && exchange.response.status !== 501)
      votes.push({ operation, exchange, isAcceptedHere: true });
  }
  const accepting = votes.filter(({ isAcceptedHere }) => isAcceptedHere);
  const isRejecting = accepting.length * 2 < votes.length;
  const odd = isRejecting ? accepting : votes.filter(({ isAcceptedHere }) => !isAcceptedHere);
  // Without a clear majority there is nothing to deviate from.
  if (votes.length < 3 || odd.length === 0 || odd.length > Math.max(1, votes.length / 4)) return;
  for (const { operation, exchange } of odd) {
    if (!session.isJudged(operation)) continue;
    await session.report(
      {
        check: habit.check,
        category: habit.check === 'trailing-slash' ? 'undeclared endpoints' : 'invalid input',
        operation: operation.id,
        title: `${habit.name[0]?.toUpperCase()}${habit.name.slice(1)} is ${isRejecting ? 'accepted' : 'rejected'} here, but ${isRejecting ? 'rejected' : 'accepted'} by all other operations`,
        expected: isRejecting
          ? 'a 4xx, as for all other operations'
          : 'the same response as without it, as for all other operations',
        actual: `${exchange.response.status} ${exchange.response.text.slice(0, 120)}`,
        place: session.document.placeOf(operation.node),
        fix: habit.fix,
        cause: `${habit.check} ${operation.id}`,
      },
      [exchange],
    );
  }
}

/** Reports a response that changes although the requests are equivalent. Both requests are repeated to confirm it. */
async function anotherResponse(
  session: Session,
  operation: Operation,
  habit: Habit,
  unchanged: WireRequest,
  changed: WireRequest,
  before: Exchange,
  after: Exchange,
): Promise<void> {
  const candidate: Candidate = {
    check: habit.check,
    category: habit.check === 'trailing-slash' ? 'undeclared endpoints' : 'invalid input',
    operation: operation.id,
    title: `${habit.name[0]?.toUpperCase()}${habit.name.slice(1)} changes the response`,
    expected: before.response.text.slice(0, 160),
    actual: after.response.text.slice(0, 160),
    place: session.document.placeOf(operation.node),
    fix: habit.fix,
    cause: `${habit.check} ${operation.id} otherwise`,
  };
  await session.report(candidate, [before, after], async () => {
    const first = await session.sendRaw(unchanged, undefined);
    const second = await session.sendRaw(changed, undefined);
    const isStable = first.response.text === before.response.text && second.response.text === after.response.text;
    return isStable ? [first, second] : undefined;
  });
}
