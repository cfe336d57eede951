import type { Operation } from '../document/operation.ts';
import { type Candidate, candidateOf, responseText } from '../finding/finding.ts';
import type { CheckName } from '../finding/rules.ts';
import { type Call, type Exchange, isSuccess } from '../http/call.ts';
import { pathPattern } from '../http/deserialize.ts';
import { serialize, type WireRequest } from '../http/serialize.ts';
import { isAccepted, isRejected } from '../judge/outcome.ts';
import { isReadingPost } from '../run/names.ts';
import { eachOperation, ifSent, inParallel } from '../run/parallel.ts';
import type { Session } from '../run/session.ts';
import type { CheckContext } from './check.ts';

/** Finds endpoints that are not in the contract: undeclared methods, paths, path spellings and parameters. */
export async function checkUndeclaredEndpoints(context: CheckContext): Promise<void> {
  const { session, requests, onProgress } = context;
  const known = session.judged.filter((operation) => requests.of(operation) !== undefined);
  const paths = [...new Map(known.map((operation) => [operation.path, operation])).values()];
  const isCatching = await ifSent(() => isCatchAll(context));
  let done = 0;
  await eachOperation(paths, 4, async (operation) => {
    if (!session.isOver) await otherMethods(context, operation, isCatching === true);
    done += 1;
    onProgress(done, paths.length + 3);
  });
  if (isCatching === undefined) {
    session.notices.add('Undeclared paths were not called, because --only selects operations.');
  } else if (isCatching) {
    session.notices.add('The server returns 200 for unknown paths, so undeclared endpoints cannot be detected.');
  } else {
    await otherPaths(context, paths);
  }
  onProgress(paths.length + 1, paths.length + 3);
  for (const habit of Object.keys(habits) as Habit[]) if (!session.isOver) await ifSent(() => byHabit(context, habit));
  onProgress(paths.length + 3, paths.length + 3);
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
    await ifSent(async () => {
      // A fault of HEAD is that of GET.
      if (method === 'HEAD' && isFault((await session.read(target, operation)).response.status)) return;
      await observe(session, wire, (exchange) => {
        const { status } = exchange.response;
        const isQuiet = quiet.some((one) => one === method) && !(method === 'TRACE' && status < 400);
        const isCaught = isCatching && method === 'GET' && isSuccess(exchange);
        if (isCaught || (isQuiet && !isFault(status))) return undefined;
        return methodFinding(session, operation, method, own, exchange);
      });
    });
  }
}

/** Sends a request that no operation declares, and reports what two responses to it show. */
async function observe(
  session: Session,
  wire: WireRequest,
  wrongIn: (exchange: Exchange) => Candidate | undefined,
): Promise<void> {
  const exchange = await session.sendRaw(wire);
  const wrong = wrongIn(exchange);
  if (wrong === undefined) return;
  await session.report(wrong, [exchange], async () => {
    const again = await session.sendRaw(wire);
    return wrongIn(again)?.check === wrong.check ? [again] : undefined;
  });
}

/** The path of a call, without its query. */
const pathOf = (call: Call) => serialize(call).target.split('?')[0] ?? '';
const isFault = (status: number) => status >= 500 && status !== 501;

function methodFinding(
  { document }: Session,
  { id, path, node }: Operation,
  method: string,
  own: readonly string[],
  exchange: Exchange,
): Candidate | undefined {
  const { status, headers } = exchange.response;
  const differs = (check: CheckName, about: string, actual = `${method}: ${responseText(exchange)}`) => {
    const expected = `405 with Allow: ${own.join(', ')} (RFC 9110, 15.5.6)`;
    const found = candidateOf(check, { id }, about, { expected, actual, place: document.placeOf(node) });
    return { ...found, cause: `${check} ${about}` };
  };
  if (status >= 500 || status === 0) return differs('method-fault', `${path} ${method}`);
  // A server may check permissions before it routes the request.
  if ([401, 403, 429].includes(status)) return undefined;
  if (status === 404) return differs('method-not-405', path);
  if (status !== 405) return differs('undeclared-operation', `${method} ${path}`);
  const allow = (headers.allow ?? '').split(',').map((one) => one.trim().toUpperCase());
  if (own.every((one) => allow.includes(one)) && !allow.includes(method)) return undefined;
  return differs('allow-header', path, headers.allow === undefined ? 'no Allow' : `Allow: ${headers.allow}`);
}

/** Operations whose path template matches a concrete path. */
function matching(operations: readonly Operation[], target: string): Operation[] {
  return operations.filter(({ path }) => pathPattern(path).test(target));
}

async function isCatchAll({ session }: CheckContext): Promise<boolean> {
  const target = `/undeclared-path-${Math.abs(session.seedFor('catch-all'))}`;
  const exchange = await session.read(target);
  return exchange.response.status < 400 && exchange.response.status > 0;
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
  const { document } = session;
  await inParallel(unique, session.options.concurrency ?? 8, async ({ operation, path, method }) => {
    if (session.isOver) return;
    const wire = { method, target: path, headers: { accept: '*/*' }, body: undefined };
    await observe(session, wire, (exchange) => {
      const { status } = exchange.response;
      const succeeds = status > 0 && status < 400;
      if (!succeeds && !isFault(status)) return undefined;
      const about = `path ${method} ${general(path, operation)}`;
      const facts = { actual: responseText(exchange), place: document.placeOf(document.root, 'paths') };
      const found = candidateOf('undeclared-operation', operation, about, facts);
      return { ...found, check: succeeds ? found.check : 'server-error', cause: `${found.check} ${about}` };
    });
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
  const votes: { operation: Operation; exchange: Exchange; isAcceptedHere: boolean }[] = [];
  for (const operation of [...judged, ...others]) {
    const known = requests.of(operation);
    if (known === undefined || session.isOver) continue;
    const unchanged = serialize(known.call);
    // The resource of the known request may have been deleted since.
    const before = await session.sendRaw(unchanged, undefined);
    if (!isAccepted(before)) continue;
    const wire = { ...unchanged, target: habits[habit](unchanged.target) };
    const exchange = await session.sendRaw(wire, undefined);
    const { status } = exchange.response;
    if (isAccepted(exchange) || isRejected(exchange) || isFault(status))
      votes.push({ operation, exchange, isAcceptedHere: isSuccess(exchange) || isFault(status) });
  }
  const isRejecting = votes.filter(({ isAcceptedHere }) => isAcceptedHere).length * 2 < votes.length;
  const odd = votes.filter(({ isAcceptedHere }) => isAcceptedHere === isRejecting);
  // Without a clear majority there is nothing to deviate from.
  if (votes.length < 3 || odd.length === 0 || odd.length > Math.max(1, votes.length / 4)) return;
  const [here, elsewhere] = isRejecting ? ['accepted', 'rejected'] : ['rejected', 'accepted'];
  for (const { operation, exchange } of odd) {
    if (!session.isJudged(operation)) continue;
    const found = candidateOf(habit, operation, '', {
      expected: `it is ${elsewhere}, as by all other operations`,
      actual: `it is ${here}: ${responseText(exchange)}`,
      place: session.document.placeOf(operation.node),
    });
    await session.report(found, [exchange]);
  }
}
