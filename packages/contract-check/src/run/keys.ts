import { CannotRun } from '../cannot-run.ts';
import type { OpenApiDocument } from '../document/document.ts';
import type { Operation } from '../document/operation.ts';
import { type Secret, variableOf } from '../http/mask.ts';
import type { JsonObject } from '../json.ts';

/** Where keys are sent. Cookies are in the header `cookie`. */
interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

export class Keys {
  readonly #schemes: ReadonlyMap<string, JsonObject>;
  readonly #keys: Readonly<Record<string, string>>;

  /** @throws CannotRun if the document has no scheme of a name. */
  constructor(document: OpenApiDocument, keys: Readonly<Record<string, string>>) {
    const declared = document.object(document.object(document.root.components).securitySchemes);
    this.#schemes = new Map(Object.entries(declared).map(([name, scheme]) => [name, document.object(scheme)]));
    this.#keys = keys;
    const unknown = Object.keys(keys).find((name) => !this.#schemes.has(name));
    if (unknown !== undefined)
      throw new CannotRun(
        `The document has no security scheme ${unknown}; it has ${[...this.#schemes.keys()].join(', ') || 'none'}.`,
      );
  }

  get secrets(): Secret[] {
    return Object.entries(this.#keys).flatMap(([name, value]) => {
      const basic = { value: Buffer.from(value).toString('base64'), variable: 'CREDENTIALS' };
      return [{ value, variable: variableOf(name) }, ...(this.#schemes.get(name)?.scheme === 'basic' ? [basic] : [])];
    });
  }

  /** The keys of the first alternative that an operation accepts and whose keys are all known; all without an operation. */
  of(operation: Operation | undefined): Sent {
    const known = Object.keys(this.#keys);
    const isKnown = (alternative: object) => Object.keys(alternative).every((name) => known.includes(name));
    const chosen = operation?.security.find((one) => Object.keys(one).length > 0 && isKnown(one));
    const names = operation === undefined ? known : Object.keys(chosen ?? {});
    const all = names.map((name) => this.#sent(this.#schemes.get(name) ?? {}, this.#keys[name] ?? ''));
    const cookies = all.flatMap(({ headers }) => headers.cookie ?? []).join('; ');
    return {
      headers: Object.assign({}, ...all.map(({ headers }) => headers), cookies === '' ? {} : { cookie: cookies }),
      query: operation === undefined ? {} : Object.assign({}, ...all.map(({ query }) => query)),
    };
  }

  #sent({ type, scheme, in: place, name }: JsonObject, value: string): Sent {
    const key = String(name);
    if (type === 'apiKey' && place === 'query') return { headers: {}, query: { [key]: value } };
    if (type === 'apiKey' && place === 'cookie') return { headers: { cookie: `${key}=${value}` }, query: {} };
    if (type === 'apiKey') return { headers: { [key.toLowerCase()]: value }, query: {} };
    const isBasic = String(scheme).toLowerCase() === 'basic';
    const authorization = isBasic ? `Basic ${Buffer.from(value).toString('base64')}` : `Bearer ${value}`;
    return { headers: { authorization }, query: {} };
  }
}
