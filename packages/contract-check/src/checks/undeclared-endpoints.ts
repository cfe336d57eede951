import type { Operation } from '../document/operation.ts';
import { responseText } from '../finding/finding.ts';
import { type Call, type Exchange, isSuccess } from '../http/call.ts';
import { pathPattern } from '../http/deserialize.ts';
import { serialize, type WireRequest } from '../http/serialize.ts';
import { isAccepted, isRejected } from '../judge/outcome.ts';
import { isReadingPost } from '../run/names.ts';
import { eachOperation, ifSent, inParallel } from '../run/parallel.ts';
import { type CheckContext, type Difference, differ, observe } from './observe.ts';

/** Finds endpoints that are not in the contract: undeclared methods, paths, path spellings and parameters. */
export async function checkUndeclaredEndpoints(context: CheckContext): Promise<void> {
  const { session, requests, onProgress } = context;
  const known = session.judged.filter((operation) => requests.of(operation) !== undefined);
  const paths = [...new Map(known.map((operation) => [operation.path, operation])).values()];
  const unlikely = `/undeclared-path-${Math.abs(session.seedFor('catch-all'))}`;
  const caught = await ifSent(() => session.read(unlikely));
  const isCatching = caught !== undefined && caught.response.status < 400 && caught.response.status > 0;
  const all = paths.length + 3;
  const check = async (operation: Operation) => {
    if (!session.isOver) await otherMethods(context, operation, isCatching);
  };
  await eachOperation(paths, 4, check, (done) => onProgress(done, all));
  if (caught === undefined) session.notices.add('Undeclared paths were not called, because --only selects operations.');
  else if (isCatching)
    session.notices.add('The server returns 200 for unknown paths, so undeclared endpoints cannot be detected.');
  else await otherPaths(context, paths);
  onProgress(paths.length + 1, all);
  for (const habit of Object.keys(habits) as Habit[]) if (!session.isOver) await ifSent(() => byHabit(context, habit));
  onProgress(all, all);
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Methods that many frameworks handle. Only faults and a TRACE that echoes (RFC 9110, 9.3.8) are reported. */
const quiet = ['HEAD', 'OPTIONS', 'TRACE'] as const;

/** An undeclared method must return 405 with `Allow` listing the declared methods (RFC 9110, 15.5.6). */
async function otherMethods({ session, requests }: CheckContext, operation: Operation, isCatching: boolean) {
  const { call } = requests.of(operation) ?? {};
  if (call === undefined) return;
  const target = pathOf(call);
  // Another path template may match, too. `Allow` may omit its methods.
  const declared = new Set(matching(session.declared, target).map(({ method }) => method));
  const own = session.declared.filter(({ path }) => path === operation.path).map(({ method }) => method);
  for (const method of [...quiet, ...methods]) {
    if (declared.has(method) || session.isOver) continue;
    const hasBody = ['POST', 'PUT', 'PATCH'].includes(method);
    const headers = { accept: '*/*', ...(hasBody ? { 'content-type': 'application/json' } : {}) };
    const { extension } = operation;
    const wire: WireRequest = { method, target, extension, headers, body: hasBody ? '{}' : undefined };
    // A fault of HEAD is that of GET.
    const get = method === 'HEAD' ? await ifSent(() => session.read(target, operation)) : undefined;
    if (isFault(get?.response.status ?? 0)) continue;
    await observe(session, operation, async function* () {
      const exchange = await session.sendRaw(wire);
      const { status } = exchange.response;
      const isQuiet = quiet.some((one) => one === method) && !(method === 'TRACE' && status < 400);
      const isCaught = isCatching && method === 'GET' && isSuccess(exchange);
      const found = isCaught || (isQuiet && !isFault(status)) ? undefined : ofMethod(operation, method, own, exchange);
      if (found !== undefined) yield found;
    });
  }
}

const pathOf = (call: Call) => serialize(call).target.split('?')[0] ?? '';
const isFault = (status: number) => status >= 500 && status !== 501;

function ofMethod(
  operation: Operation,
  method: string,
  own: readonly string[],
  exchange: Exchange,
): Difference | undefined {
  const { status, headers } = exchange.response;
  const { path } = operation;
  const expected = `405 with Allow: ${own.join(', ')} (RFC 9110, 15.5.6)`;
  const facts = { expected, actual: `${method}: ${responseText(exchange)}`, exchanges: [exchange] };
  if (status >= 500 || status === 0) return differ('method-fault', operation, `${path} ${method}`, facts);
  // A server may check permissions before it routes the request.
  if ([401, 403, 429].includes(status)) return undefined;
  if (status === 404) return differ('method-not-405', operation, path, facts);
  if (status !== 405) return differ('undeclared-operation', operation, `${method} ${path}`, facts);
  const allow = (headers.allow ?? '').split(',').map((one) => one.trim().toUpperCase());
  if (own.every((one) => allow.includes(one)) && !allow.includes(method)) return undefined;
  const actual = headers.allow === undefined ? 'no Allow' : `Allow: ${headers.allow}`;
  return differ('allow-header', operation, path, { ...facts, actual });
}

function matching(operations: readonly Operation[], target: string): Operation[] {
  return operations.filter(({ path }) => pathPattern(path).test(target));
}

/** Common paths next to a collection or below a resource that contracts often omit. */
const usual = 'search count export import bulk batch all stats summary history archive internal debug admin v2'.split(
  ' ',
);

async function otherPaths({ session, requests }: CheckContext, operations: readonly Operation[]): Promise<void> {
  const probes = operations.flatMap((operation) => {
    const { call } = requests.of(operation) ?? {};
    if (call === undefined) return [];
    const target = pathOf(call).replace(/\/$/, '');
    const parent = target.slice(0, target.lastIndexOf('/'));
    const item = operation.path.includes('{') ? [] : [`${target}/1`];
    const paths = [...usual.flatMap((word) => [`${target}/${word}`, `${parent}/${word}`]), ...item];
    const all = [...paths.map((path) => ['GET', path] as const), ...item.map((path) => ['DELETE', path] as const)];
    return all
      .filter(([, path]) => matching(session.declared, path).length === 0)
      .map(([method, path]) => ({ operation, method, path }));
  });
  const unique = [...new Map(probes.map((probe) => [`${probe.method} ${probe.path}`, probe])).values()];
  const place = session.document.placeOf(session.document.root, 'paths');
  await inParallel(unique, session.options.concurrency ?? 8, ({ operation, path, method }) =>
    observe(session, operation, async function* () {
      const exchange = await session.sendRaw({ method, target: path, headers: { accept: '*/*' }, body: undefined });
      const { status } = exchange.response;
      const succeeds = status > 0 && status < 400;
      const check = succeeds ? 'undeclared-operation' : 'server-error';
      const about = `path ${method} ${general(path, operation)}`;
      if (succeeds || isFault(status)) yield differ(check, operation, about, { place, exchanges: [exchange] });
    }),
  );
}

/** The path with IDs replaced by parameter names. */
function general(path: string, { path: template }: Operation): string {
  const known = template.split('/');
  const named = path.split('/').map((segment, at) => (known[at]?.startsWith('{') ? known[at] : segment));
  return named.join('/');
}

/**
 * Behavior that contracts do not describe but servers handle consistently: trailing slashes and undeclared parameters.
 * An operation that deviates from the others is reported.
 */
const habits = {
  'trailing-slash': (target: string) => target.replace(/(?=\?|$)/, '/'),
  'reject-unknown-parameter': (target: string) => `${target}${target.includes('?') ? '&' : '?'}undeclaredParameter=1`,
} as const;

type Habit = keyof typeof habits;

async function byHabit({ session, requests }: CheckContext, habit: Habit): Promise<void> {
  const isPossible = ({ extension }: Operation) => habit !== 'trailing-slash' || extension === '';
  const readers = session.operations.filter(
    (operation) =>
      (operation.method === 'GET' || isReadingPost(operation)) &&
      isPossible(operation) &&
      requests.of(operation) !== undefined,
  );
  // Operations out of scope count too, because the majority needs several operations.
  const judged = readers.filter((operation) => session.isJudged(operation));
  const others = readers.filter((operation) => !session.isJudged(operation)).slice(0, Math.max(0, 7 - judged.length));
  /** Whether an operation accepts it; undefined if that cannot be seen. */
  const vote = async (operation: Operation, unchanged: WireRequest) => {
    // The resource of the known request may have been deleted since.
    if (!isAccepted(await session.sendRaw(unchanged))) return undefined;
    const exchange = await session.sendRaw({ ...unchanged, target: habits[habit](unchanged.target) });
    const isFaulty = isFault(exchange.response.status);
    const isSeen = isAccepted(exchange) || isRejected(exchange) || isFaulty;
    return isSeen ? { operation, unchanged, exchange, isAcceptedHere: isSuccess(exchange) || isFaulty } : undefined;
  };
  const votes: NonNullable<Awaited<ReturnType<typeof vote>>>[] = [];
  for (const operation of [...judged, ...others]) {
    const known = session.isOver ? undefined : requests.of(operation);
    const own = known && (await vote(operation, serialize(known.call)));
    if (own !== undefined) votes.push(own);
  }
  const isRejecting = votes.filter(({ isAcceptedHere }) => isAcceptedHere).length * 2 < votes.length;
  const odd = votes.filter(({ isAcceptedHere }) => isAcceptedHere === isRejecting);
  // Without a clear majority there is nothing to deviate from.
  if (votes.length < 3 || odd.length === 0 || odd.length > Math.max(1, votes.length / 4)) return;
  const [here, elsewhere] = isRejecting ? ['accepted', 'rejected'] : ['rejected', 'accepted'];
  for (const { operation, unchanged } of odd)
    await observe(session, operation, async function* () {
      const again = await vote(operation, unchanged);
      if (again?.isAcceptedHere !== isRejecting) return;
      const actual = `it is ${here}: ${responseText(again.exchange)}`;
      const facts = { expected: `it is ${elsewhere}, as by all other operations`, actual };
      yield differ(habit, operation, '', { ...facts, exchanges: [again.exchange] });
    });
}
