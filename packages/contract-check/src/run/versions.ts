import { type Operation, readAt } from '../document/operation.ts';
import { type Call, isSuccess } from '../http/call.ts';
import { serialize } from '../http/serialize.ts';
import { isObject, remembered } from '../json.ts';
import { View } from '../schema/view.ts';
import { isVersionName, itemOf } from './names.ts';
import { ifSent } from './parallel.ts';
import type { Session } from './session.ts';

/** Updates whose body must have the version that was read last, such as `version` of JPA or `rowVersion`. */
export class Versions {
  readonly #session: Session;
  readonly #names = new Map<Operation, { readonly name: string | undefined }>();
  readonly #placeholders = new Map<Operation, unknown>();

  constructor(session: Session) {
    this.#session = session;
  }

  /** The property of an update that has the version; undefined if there is none. What a creation sets is another one. */
  nameIn(operation: Operation): string | undefined {
    return remembered(this.#names, operation, () => ({ name: this.#find(operation) })).name;
  }

  #find(operation: Operation): string | undefined {
    const { document, declared } = this.#session;
    const { path, responses } = operation;
    if (!responses.some(({ status }) => status === '409' || status === '412')) return undefined;
    const collection = itemOf(path)?.collection;
    const create = declared.find((one) => one.method === 'POST' && one.path === collection);
    const [sent, read] = [View.ofRequest(document, operation), View.ofResponse(document, readAt(declared, path))];
    const isSet = (name: string) => create !== undefined && View.ofRequest(document, create).names.includes(name);
    return sent.names.find((name) => isVersionName(name) && read.names.includes(name) && !isSet(name));
  }

  /** A body with a placeholder for the version that the resource has when the call is sent. */
  placeholderIn(operation: Operation, body: unknown): unknown {
    const name = this.nameIn(operation);
    if (name === undefined || !isObject(body)) return body;
    const { document, values } = this.#session;
    const schema = View.ofRequest(document, operation).member(name).node ?? {};
    const placeholder = remembered(
      this.#placeholders,
      operation,
      () => values.sample(schema, 'request', 'some', this.#session.seedFor(`${operation.id} ${name}`))?.value,
    );
    return { ...body, [name]: placeholder };
  }

  /** The call with the current version in place of the placeholder. */
  async filled(call: Call): Promise<Call> {
    const { operation, body } = call;
    const name = this.nameIn(operation);
    const read = readAt(this.#session.operations, operation.path);
    if (name === undefined || read === undefined || !isObject(body)) return call;
    if (body[name] !== this.#placeholders.get(operation)) return call;
    const [target = ''] = serialize({ ...call, body: undefined }).target.split('?');
    const exchange = await ifSent(() => this.#session.read(target, read));
    const row = exchange && isSuccess(exchange) ? exchange.response.json?.value : undefined;
    return isObject(row) && row[name] !== undefined ? { ...call, body: { ...body, [name]: row[name] } } : call;
  }
}
