import type { Operation } from '../../../document/operation.ts';
import type { Call, Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import type { Session } from '../../../run/session.ts';
import { type ListMetadata, listMetadataOf, type Next, rowsIn } from './list-metadata.ts';
import { placed, type Slot } from './slot.ts';

/** What a request says: values by slot. */
export type Settings = readonly (readonly [slot: Slot, value: unknown])[];

/** One response of a list. */
export interface Page {
  readonly exchange: Exchange;
  readonly rows: readonly JsonObject[];
  readonly metadata: ListMetadata;
}

/** Asks one list, each time from the same start: only what the contract requires, and what is set. */
export class Reader {
  readonly operation: Operation;
  readonly session: Session;
  readonly base: Call;
  readonly member: string;
  /** Requests that may still be sent, so that one list does not take the time of all. */
  left: number;

  constructor(session: Session, call: Call, member: string, left: number) {
    this.session = session;
    this.operation = call.operation;
    this.base = bare(session, call);
    this.member = member;
    this.left = left;
  }

  get isOver(): boolean {
    return this.session.isOver || this.left <= 0;
  }

  /** The call with these values, or undefined where the contract does not allow it. */
  callOf(settings: Settings): Call | undefined {
    let { query, body }: { query: unknown; body: unknown } = this.base;
    for (const [slot, value] of settings) {
      if (slot.place === 'query') query = placed(query, slot.path, value);
      else body = placed(body, slot.path, value);
    }
    const call: Call = { ...this.base, query: isObject(query) ? query : {}, body };
    return isAllowed(this.session, call) ? call : undefined;
  }

  /** Reads one page; undefined where the contract does not allow to ask so, or no rows came. */
  async read(settings: Settings): Promise<Page | undefined> {
    const call = this.callOf(settings);
    return call === undefined ? undefined : this.#page(await this.#send(call));
  }

  /** What came, whatever it is. */
  async ask(settings: Settings): Promise<Exchange | undefined> {
    const call = this.callOf(settings);
    return call === undefined ? undefined : this.#send(call);
  }

  /** Goes where a response says that the next page is. */
  async follow(
    next: Next,
    settings: Settings,
    cursor: Slot | undefined,
    position: Slot | undefined,
  ): Promise<Exchange | undefined> {
    if (next.kind === 'address') {
      this.left -= 1;
      const { pathname, search } = new URL(next.value);
      const base = basePath(this.session);
      const path = pathname.startsWith(base) ? pathname.slice(base.length) : pathname;
      return this.session.send({ ...this.base, raw: { path, query: search.slice(1) } });
    }
    const slot = next.kind === 'token' ? cursor : (position ?? cursor);
    if (slot === undefined) return undefined;
    const others = settings.filter(([one]) => one !== position && one !== slot);
    return this.ask([...others, [slot, next.value]]);
  }

  pageOf(exchange: Exchange): Page | undefined {
    return this.#page(exchange);
  }

  async #send(call: Call): Promise<Exchange> {
    this.left -= 1;
    return this.session.send(call);
  }

  #page(exchange: Exchange): Page | undefined {
    const rows = rowsIn(exchange, this.member);
    return rows === undefined ? undefined : { exchange, rows, metadata: listMetadataOf(exchange, this.member) };
  }
}

/** The part of the server's address that the contract's paths follow. */
function basePath({ options, document }: Session): string {
  const servers = Array.isArray(document.root.servers) ? document.root.servers : [];
  const address = options.url ?? document.object(servers[0]).url;
  try {
    return new URL(String(address)).pathname.replace(/\/$/, '');
  } catch {
    return '';
  }
}

/** The call without all that may be left out. */
function bare(session: Session, call: Call): Call {
  const needed = new Set(call.operation.parameters.filter(({ required }) => required).map(({ name }) => name));
  const query = Object.fromEntries(Object.entries(call.query).filter(([name]) => needed.has(name)));
  let body = call.body;
  for (const name of Object.keys(isObject(body) ? body : {})) {
    const { [name]: _left, ...rest } = isObject(body) ? body : {};
    if (isAllowed(session, { ...call, query, body: rest })) body = rest;
  }
  return { ...call, query, body };
}

function isAllowed({ validators }: Session, { operation, query, body, mediaType }: Call): boolean {
  const content = operation.body?.contents.find((one) => one.mediaType === mediaType);
  if (content?.schema !== undefined && body !== undefined && !validators.accepts(content.schema, body, 'request'))
    return false;
  return operation.parameters.every(
    (parameter) =>
      parameter.in !== 'query' ||
      query[parameter.name] === undefined ||
      validators.accepts(parameter.schema, query[parameter.name], 'request'),
  );
}
