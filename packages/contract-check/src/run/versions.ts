import type { OpenApiDocument } from '../document/document.ts';
import { type Operation, type Parameter, readAt } from '../document/operation.ts';
import { type Call, type Exchange, isSuccess } from '../http/call.ts';
import { serialize } from '../http/serialize.ts';
import { isObject, remembered } from '../json.ts';
import type { Values } from '../schema/values.ts';
import { View } from '../schema/view.ts';
import { isVersionName, itemOf } from './names.ts';
import { ifSent } from './parallel.ts';

interface Session {
  readonly document: OpenApiDocument;
  readonly declared: readonly Operation[];
  readonly operations: readonly Operation[];
  readonly values: Values;
  seedFor(label: string): number;
  read(target: string, operation: Operation): Promise<Exchange>;
}

/** What a change must say of the version that was read: `If-Match`, or in its body, as `version` of JPA or `rowVersion`. */
export class Versions {
  readonly #session: Session;
  readonly #names = new Map<Operation, { readonly name: string | undefined }>();
  readonly #placeholders = new Map<string, unknown>();

  constructor(session: Session) {
    this.#session = session;
  }

  /**
   * The property of an update that has the version; undefined if there is none. A property that callers set at the creation, such as the
   * version of a document, is not one.
   */
  nameIn(operation: Operation): string | undefined {
    return remembered(this.#names, operation, () => ({ name: this.#find(operation) })).name;
  }

  #find(operation: Operation): string | undefined {
    const { document, declared } = this.#session;
    const { path: whole, responses } = operation;
    // An action is about the resource that its path has before it.
    const path = whole.slice(0, whole.lastIndexOf('}') + 1);
    const isStated = responses.some(({ status }) => status === '409' || status === '412');
    const isPossible = isStated || responses.some(({ status }) => status === 'default');
    const collection = itemOf(path)?.collection;
    const create = declared.find((one) => one.method === 'POST' && one.path === collection);
    const [sent, read] = [View.ofRequest(document, operation), View.ofResponse(document, readAt(declared, path))];
    const isSet = (name: string) => create !== undefined && View.ofRequest(document, create).names.includes(name);
    // No caller sets an ETag, although one schema may describe what is created and what is changed.
    const isFit = (name: string) => (/etag/i.test(name) ? isPossible : isStated && !isSet(name));
    return sent.names.find((name) => isVersionName(name) && read.names.includes(name) && isFit(name));
  }

  /** A value for a parameter or property that is replaced by the current version when the call is sent. */
  placeholder({ id }: Operation, { name, schema }: Pick<Parameter, 'name' | 'schema'>): unknown {
    const { values } = this.#session;
    return remembered(
      this.#placeholders,
      `${id} ${name}`,
      () => values.sample(schema, 'some', this.#session.seedFor(`${id} ${name}`))?.value,
    );
  }

  /** A body with the placeholder for its version, if it has one. */
  placeholderIn(operation: Operation, body: unknown): unknown {
    const name = this.nameIn(operation);
    if (name === undefined || !isObject(body)) return body;
    const schema = View.ofRequest(this.#session.document, operation).member(name).node ?? {};
    return { ...body, [name]: this.placeholder(operation, { name, schema }) };
  }

  /** The call with the current ETag and version of its resource in place of placeholders. */
  async filled(call: Call): Promise<Call> {
    const { operation, body, headers } = call;
    const isHeld = (name: string, value: unknown) =>
      value !== undefined && value === this.#placeholders.get(`${operation.id} ${name}`);
    const tag = Object.keys(headers).find((name) => isHeld(name, headers[name]));
    const name = this.nameIn(operation) ?? '';
    const owned = isObject(body) && isHeld(name, body[name]) ? body : undefined;
    const owner = tag === undefined && owned === undefined ? undefined : ownerOf(this.#session.operations, call);
    const exchange = owner && (await ifSent(() => this.#session.read(owner.target, owner.read)));
    if (exchange === undefined || !isSuccess(exchange)) return call;
    const { etag } = exchange.response.headers;
    const version = Object(exchange.response.json?.value)[name];
    return {
      ...call,
      headers: tag === undefined || etag === undefined ? headers : { ...headers, [tag]: etag },
      body: owned === undefined || version === undefined ? body : { ...owned, [name]: version },
    };
  }
}

/** Where the resource is read that a call acts on, and by which operation. */
export function ownerOf(operations: readonly Operation[], call: Call) {
  const { path } = call.operation;
  const paths = [path, path.slice(0, path.lastIndexOf('}') + 1)];
  const read = operations.find((one) => one.method === 'GET' && paths.includes(one.path));
  const [whole = ''] = serialize({ ...call, body: undefined }).target.split('?');
  return read && { read, target: whole.split('/').slice(0, read.path.split('/').length).join('/') };
}
