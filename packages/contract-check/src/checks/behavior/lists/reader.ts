import type { Operation } from '../../../document/operation.ts';
import type { Call, Exchange } from '../../../http/call.ts';
import { isObject, type JsonObject } from '../../../json.ts';
import type { Session } from '../../../run/session.ts';
import { type ListMetadata, listMetadataOf, type Next, rowsIn } from './list-metadata.ts';
import { placed, type Slot } from './slot.ts';

/** Request values by slot. */
export type Settings = readonly (readonly [slot: Slot, value: unknown])[];

export interface Page {
  readonly exchange: Exchange;
  readonly rows: readonly JsonObject[];
  readonly metadata: ListMetadata;
}

/** Requests one list with the required parameters and the provided settings only. */
export class Reader {
  readonly operation: Operation;
  readonly session: Session;
  readonly base: Call;
  readonly member: string;
  /** Remaining requests. The limit keeps one list from using the time of all. */
  left: number;

  constructor(session: Session, call: Call, member: string, left: number) {
    this.session = session;
    this.operation = call.operation;
    this.base = withoutOptional(session, call);
    this.member = member;
    this.left = left;
  }

  get isOver(): boolean {
    return this.session.isOver || this.left <= 0;
  }

  /** The call with these values; undefined if the contract does not allow it. */
  callOf(settings: Settings): Call | undefined {
    let { query, body }: { query: unknown; body: unknown } = this.base;
    for (const [slot, value] of settings) {
      if (slot.place === 'query') query = placed(query, slot.path, value);
      else body = placed(body, slot.path, value);
    }
    const call: Call = { ...this.base, query: isObject(query) ? query : {}, body };
    return isAllowed(this.session, call) ? call : undefined;
  }

  /** Reads one page; undefined if the contract does not allow the request, or if the response has no rows. */
  async read(settings: Settings): Promise<Page | undefined> {
    const call = this.callOf(settings);
    return call === undefined ? undefined : this.#page(await this.#send(call));
  }

  /** The response of any kind. */
  async request(settings: Settings): Promise<Exchange | undefined> {
    const call = this.callOf(settings);
    return call === undefined ? undefined : this.#send(call);
  }

  /** Requests the next page that a response indicates. */
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
    return this.request([...others, [slot, next.value]]);
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

/** The path prefix of the server URL. */
function basePath({ options, document }: Session): string {
  const servers = Array.isArray(document.root.servers) ? document.root.servers : [];
  const address = options.url ?? document.object(servers[0]).url;
  try {
    return new URL(String(address)).pathname.replace(/\/$/, '');
  } catch {
    return '';
  }
}

/** The call without its optional parts. */
function withoutOptional(session: Session, call: Call): Call {
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
