import type { Category } from '../../src/finding/finding.ts';
import { isObject, type JsonObject } from '../../src/json.ts';
import type { Drift } from './drift.ts';
import type { Alter } from './front.ts';
import {
  changeAt,
  edit,
  type IncomingRequest,
  jsonOf,
  type Reply,
  rowsOf,
  valuesAt,
  type Where,
  withHeader,
  withJson,
} from './message.ts';
import { comparable, type RequestInput, send } from './wire.ts';

type Change = (value: unknown) => unknown;
type Test = (value: unknown) => boolean;
type ChangeReply = (reply: Reply, incoming: IncomingRequest) => Reply | undefined;

/** The suite-specific functions that drifts need. */
export interface Base<World> {
  /** The simplest call of an operation that succeeds. */
  sample(operation: string, world: World, expected?: RequestInput): IncomingRequest;
  /** Changes the simplest call so that it is rejected with a status. */
  rejected(status: number): RequestInput | ((world: World) => RequestInput);
  /** A rejection in the format of the server. */
  problem(status: number): Reply;
}

/** The functions that define the drifts of a suite. */
export function combinatorsOf<World>({ sample, rejected, problem }: Base<World>) {
  type Own = Drift<World>;
  type Probe = Own['probe'];
  /** The call that shows a drift. */
  type Shown = RequestInput | ((world: World) => RequestInput);
  type Showing = Shown | Probe;

  /** Limits drifts to findings of these categories. */
  function expecting(expect: readonly Category[], drifts: readonly Own[]): Own[] {
    return drifts.map((drift) => ({ ...drift, expect }));
  }

  /** A drift that can change any request and any response. */
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

  /** A drift that is only visible if other operations are called, too. */
  function requiring(needs: readonly string[], drift: Own): Own {
    return { ...drift, needs };
  }

  /** A probe of one call. */
  function showing(operation: string, shown: Shown): Probe {
    return async (url, world) => observe(url, world, operation, typeof shown === 'function' ? shown(world) : shown);
  }

  /** The comparable part of the response to one call. */
  async function observe(url: string, world: World, operation: string, expected?: RequestInput): Promise<unknown> {
    const incoming = sample(operation, world, expected);
    try {
      return comparable(await send(url, incoming));
    } catch {
      return 'no response';
    }
  }

  /** One call, and the JSON of its response. */
  async function callJson(url: string, world: World, operation: string, expected?: RequestInput): Promise<JsonObject> {
    const reply = await send(url, sample(operation, world, expected));
    const body = jsonOf(reply);
    return { ...(isObject(body) ? body : { body }), '(status)': reply.status };
  }

  /** Changes the successful responses of an operation. */
  function response(operation: string, kind: string, what: string, change: ChangeReply, shown?: Showing): Own {
    return drift(operation, kind, what, () => altering(operation, (reply) => reply.status < 300, change), shown);
  }

  /** Changes a value in the body of every success. */
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

  /** Sets a header of every success; undefined removes it. */
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

  /** Changes the rejections of an operation with one status. */
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
    return async (incoming, next) => {
      const reply = await next(incoming);
      return incoming.operation === operation && when(reply) ? change(reply, incoming) : reply;
    };
  }

  /** Changes the requests of an operation before the server receives them. */
  function request(
    operation: string,
    kind: string,
    what: string,
    change: (incoming: IncomingRequest, world: World) => IncomingRequest,
    shown: Showing,
  ): Own {
    const alter =
      (world: World): Alter =>
      (incoming, next) =>
        next(incoming.operation === operation ? change(incoming, world) : incoming);
    return drift(operation, kind, what, alter, shown);
  }

  /** A value that violates a constraint is accepted, by replacing it with a valid one. */
  function loosen(
    operation: string,
    kind: string,
    what: string,
    where: Where,
    isWrong: Test,
    repair: Change,
    shown: Showing,
  ): Own {
    const change = (incoming: IncomingRequest) => {
      if (!valuesAt(incoming, where).some(isWrong)) return incoming;
      return changeAt(incoming, where, (value) => (isWrong(value) ? repair(value) : value));
    };
    return request(operation, kind, what, change, shown);
  }

  /** A value that the contract allows is rejected. */
  function tighten(operation: string, kind: string, what: string, where: Where, isRejected: Test, shown: Showing): Own {
    const alter: Alter = (incoming, next) =>
      incoming.operation === operation && valuesAt(incoming, where).some(isRejected) ? problem(400) : next(incoming);
    return drift(operation, kind, what, () => alter, shown);
  }

  /** Requests that match a test get another response. */
  function instead(
    operation: string,
    kind: string,
    what: string,
    when: (incoming: IncomingRequest) => boolean,
    reply: () => Reply | undefined,
    shown: Showing,
  ): Own {
    const alter: Alter = (incoming, next) =>
      incoming.operation === operation && when(incoming) ? reply() : next(incoming);
    return drift(operation, kind, what, () => alter, shown);
  }

  /** A value of the request is ignored. */
  function ignore(operation: string, kind: string, what: string, where: Where, shown: Showing): Own {
    return request(
      operation,
      kind,
      what,
      (incoming) => (absent(incoming, where) ? incoming : changeAt(incoming, where, gone)),
      shown,
    );
  }

  /** An omitted value has another default than the contract declares. */
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
      (incoming) => (absent(incoming, where) ? changeAt(incoming, where, () => value) : incoming),
      shown,
    );
  }

  /** Changes the rows or other properties of every page. */
  function page(
    operation: string,
    kind: string,
    what: string,
    change: (page: JsonObject, rows: readonly JsonObject[], incoming: IncomingRequest) => JsonObject,
    shown?: Showing,
  ): Own {
    const alter = () =>
      altering(
        operation,
        (reply) => reply.status === 200,
        (reply, incoming) => {
          const body = jsonOf(reply);
          return isObject(body) ? withJson(reply, change(body, rowsOf(body), incoming)) : reply;
        },
      );
    return drift(operation, kind, what, alter, shown);
  }

  return {
    expecting,
    drift,
    requiring,
    observe,
    callJson,
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

/** Removes a value. */
export const gone = () => undefined;
/** Replaces any value. */
export const to = (value: unknown) => () => value;
export const isText = (value: unknown): value is string => typeof value === 'string';

export function absent(incoming: IncomingRequest, where: Where): boolean {
  return valuesAt(incoming, where).every((value) => value === undefined);
}

/** Whether the request is for a page other than the first. */
export function isLater(incoming: IncomingRequest): boolean {
  const values = (['query.cursor', 'body/cursor', 'query.page', 'body/page'] as const).flatMap((where) =>
    valuesAt(incoming, where),
  );
  return values.some((value) => value !== undefined && Number(value) !== 0);
}

/** An unhandled error of the server. */
export function crash(): Reply {
  return { status: 500, headers: { 'content-type': 'text/html' }, text: '<h1>Internal Server Error</h1>' };
}
