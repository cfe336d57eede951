import type { Category } from '../../src/finding/finding.ts';
import { isObject, type JsonObject } from '../../src/json.ts';
import type { Drift } from './drift.ts';
import type { Alter } from './front.ts';
import {
  type Ask,
  changeAt,
  edit,
  jsonOf,
  type Reply,
  rowsOf,
  valuesAt,
  type Where,
  withHeader,
  withJson,
} from './message.ts';
import { type RequestInput, seen, send } from './wire.ts';

type Change = (value: unknown) => unknown;
type Test = (value: unknown) => boolean;
type ChangeReply = (reply: Reply, ask: Ask) => Reply | undefined;

/** What the drifts of a suite lean on. */
export interface Base<World> {
  /** The plainest call of an operation that succeeds. */
  sample(operation: string, world: World, expected?: RequestInput): Ask;
  /** What makes the plainest call be rejected with a status. */
  rejected(status: number): RequestInput | ((world: World) => RequestInput);
  /** A rejection as the server itself writes it. */
  problem(status: number): Reply;
}

/** The words in which the drifts of a suite are written. */
export function combinatorsOf<World>({ sample, rejected, problem }: Base<World>) {
  type Own = Drift<World>;
  type Probe = Own['probe'];
  /** The call that shows a drift. */
  type Shown = RequestInput | ((world: World) => RequestInput);
  type Showing = Shown | Probe;

  /** The drifts of one part of the suite, all to be found by the same checks. */
  function expecting(expect: readonly Category[], drifts: readonly Own[]): Own[] {
    return drifts.map((drift) => ({ ...drift, expect }));
  }

  /** A drift that says itself how requests and returns are altered, whatever their operation. */
  function drift(
    operation: string,
    kind: string,
    what: string,
    alter: (world: World) => Alter,
    probe: Showing = {},
  ): Own {
    return {
      name: `${operation}: ${what}`,
      kind,
      operation,
      what,
      alter,
      probe: typeof probe === 'function' && probe.length === 2 ? (probe as Probe) : showing(operation, probe as Shown),
    };
  }

  /** The same drift, which nobody sees who does not call these operations too. */
  function seenBy(needs: readonly string[], drift: Own): Own {
    return { ...drift, needs };
  }

  /** A probe of one call. */
  function showing(operation: string, shown: Shown): Probe {
    return async (url, world) => look(url, world, operation, typeof shown === 'function' ? shown(world) : shown);
  }

  /** One call, as its caller sees it. */
  async function look(url: string, world: World, operation: string, expected?: RequestInput): Promise<unknown> {
    const ask = sample(operation, world, expected);
    try {
      return seen(await send(url, ask));
    } catch {
      return 'no response';
    }
  }

  /** One call, and the JSON of its response. */
  async function tell(url: string, world: World, operation: string, expected?: RequestInput): Promise<JsonObject> {
    const reply = await send(url, sample(operation, world, expected));
    const body = jsonOf(reply);
    return { ...(isObject(body) ? body : { body }), '(status)': reply.status };
  }

  /** responses of an operation are changed, where they succeed. */
  function response(operation: string, kind: string, what: string, change: ChangeReply, shown?: Showing): Own {
    return drift(operation, kind, what, () => altering(operation, (reply) => reply.status < 300, change), shown);
  }

  /** A value in the body of every success. */
  function member(
    operation: string,
    kind: string,
    what: string,
    pointer: string,
    change: Change,
    shown?: Showing,
  ): Own {
    return response(operation, kind, what, (reply) => withJson(reply, edit(jsonOf(reply), pointer, change)), shown);
  }

  /** A header of every success; undefined takes it out. */
  function header(
    operation: string,
    kind: string,
    what: string,
    name: string,
    value: string | undefined,
    shown?: Showing,
  ): Own {
    return response(operation, kind, what, (reply) => withHeader(reply, name, value), shown);
  }

  /** responses of an operation with one status, which is a rejection. */
  function failure(
    operation: string,
    status: number,
    kind: string,
    what: string,
    change: ChangeReply,
    shown: Showing = rejected(status),
  ): Own {
    return drift(operation, kind, what, () => altering(operation, (reply) => reply.status === status, change), shown);
  }

  function altering(operation: string, when: (reply: Reply) => boolean, change: ChangeReply): Alter {
    return async (ask, next) => {
      const reply = await next(ask);
      return ask.operation === operation && when(reply) ? change(reply, ask) : reply;
    };
  }

  /** Requests of an operation are changed before the server sees them. */
  function request(
    operation: string,
    kind: string,
    what: string,
    change: (ask: Ask, world: World) => Ask,
    shown: Showing,
  ): Own {
    const alter =
      (world: World): Alter =>
      (ask, next) =>
        next(ask.operation === operation ? change(ask, world) : ask);
    return drift(operation, kind, what, alter, shown);
  }

  /** A value that breaks a constraint is accepted as a right one. */
  function loosen(
    operation: string,
    kind: string,
    what: string,
    where: Where,
    isWrong: Test,
    mend: Change,
    shown: Showing,
  ): Own {
    const change = (ask: Ask) => {
      if (!valuesAt(ask, where).some(isWrong)) return ask;
      return changeAt(ask, where, (value) => (isWrong(value) ? mend(value) : value));
    };
    return request(operation, kind, what, change, shown);
  }

  /** A value that the contract allows is rejected. */
  function tighten(operation: string, kind: string, what: string, where: Where, isRejected: Test, shown: Showing): Own {
    const alter: Alter = (ask, next) =>
      ask.operation === operation && valuesAt(ask, where).some(isRejected) ? problem(400) : next(ask);
    return drift(operation, kind, what, () => alter, shown);
  }

  /** Requests that a test holds for are returned by something else altogether. */
  function instead(
    operation: string,
    kind: string,
    what: string,
    when: (ask: Ask) => boolean,
    reply: () => Reply | undefined,
    shown: Showing,
  ): Own {
    const alter: Alter = (ask, next) => (ask.operation === operation && when(ask) ? reply() : next(ask));
    return drift(operation, kind, what, () => alter, shown);
  }

  /** What a caller sends at a place makes no difference. */
  function ignore(operation: string, kind: string, what: string, where: Where, shown: Showing): Own {
    return request(operation, kind, what, (ask) => (absent(ask, where) ? ask : changeAt(ask, where, gone)), shown);
  }

  /** What a caller leaves out is not what the contract says that it is. */
  function otherDefault(
    operation: string,
    kind: string,
    what: string,
    where: Where,
    value: unknown,
    shown: Showing = {},
  ): Own {
    return request(
      operation,
      kind,
      what,
      (ask) => (absent(ask, where) ? changeAt(ask, where, () => value) : ask),
      shown,
    );
  }

  /** The rows of every page, or other properties of it. */
  function page(
    operation: string,
    kind: string,
    what: string,
    change: (page: JsonObject, rows: readonly JsonObject[], ask: Ask) => JsonObject,
    shown?: Showing,
  ): Own {
    const alter = () =>
      altering(
        operation,
        (reply) => reply.status === 200,
        (reply, ask) => {
          const body = jsonOf(reply);
          return isObject(body) ? withJson(reply, change(body, rowsOf(body), ask)) : reply;
        },
      );
    return drift(operation, kind, what, alter, shown);
  }

  return {
    expecting,
    drift,
    seenBy,
    look,
    tell,
    response,
    member,
    header,
    failure,
    request,
    loosen,
    tighten,
    instead,
    ignore,
    otherDefault,
    page,
  };
}

/** Is taken out. */
export const gone = () => undefined;
/** Becomes this, whatever it was. */
export const to = (value: unknown) => () => value;
export const isText = (value: unknown): value is string => typeof value === 'string';

export function absent(ask: Ask, where: Where): boolean {
  return valuesAt(ask, where).every((value) => value === undefined);
}

/** Whether the request asks for another page than the first one. */
export function isLater(ask: Ask): boolean {
  const values = (['query.cursor', 'body/cursor', 'query.page', 'body/page'] as const).flatMap((where) =>
    valuesAt(ask, where),
  );
  return values.some((value) => value !== undefined && Number(value) !== 0);
}

/** A fault that the server has not caught. */
export function crash(): Reply {
  return { status: 500, headers: { 'content-type': 'text/html' }, text: '<h1>Internal Server Error</h1>' };
}
