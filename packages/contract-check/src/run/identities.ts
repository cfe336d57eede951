import type { OpenApiDocument } from '../document/document.ts';
import type { Operation } from '../document/operation.ts';
import type { CheckOptions } from '../options.ts';

export type Identity = 'caller' | 'anonymous' | 'expired' | 'forbidden' | 'otherTenant';

type Headers = Readonly<Record<string, string>>;

/** Who sends a request: the headers of each identity, from the auth module. */
export class Identities {
  readonly #document: OpenApiDocument;
  readonly #options: Pick<CheckOptions, 'auth' | 'headers'>;
  readonly #signedIn = new Map<string, Headers>();

  constructor(document: OpenApiDocument, options: Pick<CheckOptions, 'auth' | 'headers'>) {
    this.#document = document;
    this.#options = options;
  }

  /** Whether the auth module supports an identity. */
  can(identity: Identity): boolean {
    if (identity === 'caller' || identity === 'anonymous') return true;
    return this.#options.auth?.[identity] !== undefined;
  }

  async headersOf(identity: Identity, operation?: Operation): Promise<Headers> {
    const key = this.#keyOf(identity, operation);
    const known = this.#signedIn.get(key);
    if (known !== undefined) return known;
    const own = lowerCase(this.#options.headers ?? {});
    const headers =
      identity === 'anonymous'
        ? this.#withoutCredentials(await this.headersOf('caller', operation))
        : { ...own, ...lowerCase((await this.#options.auth?.[identity]?.(operation)) ?? {}) };
    this.#signedIn.set(key, headers);
    return headers;
  }

  /** An auth module can return other headers for some operations. */
  #keyOf(identity: Identity, operation: Operation | undefined): string {
    const depends = identity !== 'anonymous' && (this.#options.auth?.[identity]?.length ?? 0) > 0;
    return depends && operation !== undefined ? `${identity} ${operation.id}` : identity;
  }

  /** Signs in again before the next request; false if there is no way to. */
  renew(identity: Identity, operation: Operation | undefined): boolean {
    return this.#options.auth !== undefined && this.#signedIn.delete(this.#keyOf(identity, operation));
  }

  get callerHeaders(): string[] {
    return Object.keys(this.#signedIn.get('caller') ?? {});
  }

  /** The headers that authenticate the caller. */
  credentialsFor(operation: Operation): Headers {
    const all = this.#signedIn.get(this.#keyOf('caller', operation)) ?? {};
    const others = this.#withoutCredentials(all);
    return Object.fromEntries(Object.entries(all).filter(([name]) => !(name in others)));
  }

  #withoutCredentials(headers: Headers): Record<string, string> {
    const { components } = this.#document.root;
    const schemes = Object.values(this.#document.object(this.#document.object(components).securitySchemes));
    const keys = schemes.map((scheme) => this.#document.object(scheme)).filter((scheme) => scheme.in === 'header');
    const names = ['authorization', 'cookie', ...keys.map(({ name }) => String(name).toLowerCase())];
    return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
  }
}

function lowerCase(headers: Headers): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
