import { CannotRun, required } from '../cannot-run.ts';
import type { OpenApiDocument } from '../document/document.ts';
import type { Operation } from '../document/operation.ts';
import { isSecretName, type Secret, secretsInHeader, variableOf } from '../http/mask.ts';
import type { JsonObject } from '../json.ts';
import type { CheckOptions } from './options.ts';

/** Of `scopes read write`: a user with only these. */
export type Identity = 'caller' | 'anonymous' | 'expired' | 'forbidden' | 'otherTenant' | Scoped;
type Scoped = `scopes ${string}`;

const isScoped = (identity: Identity): identity is Scoped => identity.startsWith('scopes ');

type Headers = Readonly<Record<string, string>>;

const failedToSignIn = 'The auth module failed to sign in: ';

export class Identities {
  readonly #schemes: ReadonlyMap<string, JsonObject>;
  readonly #options: CheckOptions;
  readonly #own: Headers;
  readonly #secrets = new Set<string>();
  readonly #signedIn = new Map<string, Headers>();
  /** The keys of those that must sign in again. Until then, their headers are known by name. */
  readonly #ended = new Set<string>();
  /** Values that no operation returns, by the name of the parameter or property. */
  values: Readonly<Record<string, unknown>> = {};

  constructor(document: OpenApiDocument, options: CheckOptions) {
    const declared = document.object(document.object(document.root.components).securitySchemes);
    this.#schemes = new Map(Object.entries(declared).map(([name, scheme]) => [name, document.object(scheme)]));
    this.#options = options;
    this.#own = lowerCase(options.headers ?? {});
    this.#remember(secretsOfHeaders(options.headers ?? {}));
    for (const [name, value] of Object.entries(options.keys ?? {})) {
      const scheme = this.#schemes.get(name);
      const names = [...this.#schemes.keys()].join(', ') || 'none';
      if (scheme === undefined) throw new CannotRun(`The document has no security scheme ${name}; it has ${names}.`);
      const basic = { value: Buffer.from(value).toString('base64'), variable: 'CREDENTIALS' };
      this.#remember([{ value, variable: variableOf(name) }, ...(scheme.scheme === 'basic' ? [basic] : [])]);
    }
  }

  async signIn(): Promise<void> {
    await this.headersOf('caller');
    this.values = (await required(() => this.#options.auth?.values?.(), failedToSignIn)) ?? {};
    this.#remember(secretsOfValues(this.values));
  }

  can(identity: Identity): boolean {
    if (identity === 'caller' || identity === 'anonymous') return true;
    return this.#options.auth?.[isScoped(identity) ? 'withScopes' : identity] !== undefined;
  }

  async keysOf(identity: Identity, operation?: Operation): Promise<Headers> {
    return identity === 'caller' ? this.#sentKeys(operation).query : {};
  }

  async headersOf(identity: Identity, operation?: Operation): Promise<Headers> {
    const key = this.#keyOf(identity, operation);
    const known = this.#signedIn.get(key);
    if (known !== undefined && !this.#ended.has(key)) return known;
    const headers =
      identity === 'anonymous'
        ? this.#withoutCredentials(await this.headersOf('caller', operation))
        : {
            ...this.#own,
            ...(identity === 'caller' ? this.#sentKeys(operation).headers : {}),
            ...(await this.#signedInAs(identity, operation)),
          };
    this.#signedIn.set(key, headers);
    this.#ended.delete(key);
    return headers;
  }

  async #signedInAs(identity: Exclude<Identity, 'anonymous'>, operation?: Operation): Promise<Headers> {
    const { auth } = this.#options;
    const signIn = () =>
      (isScoped(identity)
        ? auth?.withScopes?.(identity.split(' ').slice(1).filter(Boolean), operation)
        : auth?.[identity]?.(operation)) ?? {};
    const headers = await required(signIn, failedToSignIn);
    this.#remember(secretsOfHeaders(headers, identity === 'caller' ? '' : `${variableOf(identity)}_`));
    return lowerCase(headers);
  }

  #remember(secrets: readonly Secret[]): void {
    for (const secret of secrets) {
      const key = `${secret.variable} ${secret.value}`;
      if (!this.#secrets.has(key)) this.#options.onSecret?.(secret);
      this.#secrets.add(key);
    }
  }

  /** An auth module can return other headers for some operations. */
  #keyOf(identity: Identity, operation: Operation | undefined): string {
    const { auth } = this.#options;
    const isSigned = isScoped(identity)
      ? (auth?.withScopes?.length ?? 0) > 1
      : identity !== 'anonymous' && (auth?.[identity]?.length ?? 0) > 0;
    const depends = isSigned || this.#options.keys !== undefined;
    return depends && operation !== undefined ? `${identity} ${operation.id}` : identity;
  }

  /**
   * Signs in again before the next request; false if there is no way to.
   *
   * @param used the headers that were rejected. Another request may have signed in since.
   */
  renew(identity: Identity, operation: Operation | undefined, used: Headers): boolean {
    const key = this.#keyOf(identity, operation);
    const isUsed = Object.entries(this.#signedIn.get(key) ?? {}).every(([name, value]) => used[name] === value);
    if (isUsed) this.#ended.add(key);
    return this.#options.auth !== undefined;
  }

  get callerHeaders(): string[] {
    return Object.keys(this.#signedIn.get('caller') ?? {});
  }

  credentialsFor(operation: Operation): { readonly headers: Headers; readonly keys: Headers } {
    const all = this.#signedIn.get(this.#keyOf('caller', operation)) ?? {};
    const others = this.#withoutCredentials(all);
    const headers = Object.fromEntries(Object.entries(all).filter(([name]) => !(name in others)));
    return { headers, keys: this.#sentKeys(operation).query };
  }

  #withoutCredentials(headers: Headers): Record<string, string> {
    const keys = [...this.#schemes.values()].filter((scheme) => scheme.in === 'header');
    const names = ['authorization', 'cookie', ...keys.map(({ name }) => String(name).toLowerCase())];
    return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
  }

  /** The keys of the first alternative that an operation accepts and whose keys are all known; all without an operation. */
  #sentKeys(operation: Operation | undefined): { readonly headers: Headers; readonly query: Headers } {
    const { keys = {} } = this.#options;
    const isKnown = (alternative: object) => Object.keys(alternative).every((name) => name in keys);
    const chosen = operation?.security.find((one) => Object.keys(one).length > 0 && isKnown(one));
    const sent: Record<'header' | 'query' | 'cookie', Record<string, string>> = { header: {}, query: {}, cookie: {} };
    for (const name of Object.keys(operation === undefined ? keys : (chosen ?? {}))) {
      const { type, scheme, in: place, name: own } = this.#schemes.get(name) ?? {};
      const value = keys[name] ?? '';
      const isBasic = String(scheme).toLowerCase() === 'basic';
      if (type !== 'apiKey')
        sent.header.authorization = isBasic ? `Basic ${Buffer.from(value).toString('base64')}` : `Bearer ${value}`;
      else if (place === 'query' || place === 'cookie') sent[place][String(own)] = value;
      else sent.header[String(own).toLowerCase()] = value;
    }
    const cookie = Object.entries(sent.cookie).map(([name, value]) => `${name}=${value}`);
    return {
      headers: { ...sent.header, ...(cookie.length > 0 && { cookie: cookie.join('; ') }) },
      query: operation === undefined ? {} : sent.query,
    };
  }
}

function lowerCase(headers: Headers): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** A header value of this length that is not an ID is treated as a credential, regardless of its name. */
const minSecretLength = 24;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** @param prefix of the variables, such as `OTHER_TENANT_`. */
function secretsOfHeaders(headers: Headers, prefix = ''): Secret[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    secretsOfHeader(name, value).map((secret) => ({ ...secret, variable: prefix + secret.variable })),
  );
}

function secretsOfHeader(name: string, value: string): Secret[] {
  const found = secretsInHeader(name, value);
  if (found.length === 0 && value.length >= minSecretLength && !uuid.test(value))
    return [{ value, variable: variableOf(name) }];
  const passwords = found
    .filter(({ variable }) => variable === 'CREDENTIALS')
    .map((basic) => {
      const [, password = ''] = /^[^:]*:(.*)$/s.exec(Buffer.from(basic.value, 'base64').toString()) ?? [];
      return { value: password, variable: 'PASSWORD' };
    });
  return [...found, ...passwords];
}

function secretsOfValues(values: Readonly<Record<string, unknown>>): Secret[] {
  return Object.entries(values).flatMap(([name, value]) =>
    typeof value === 'string' && isSecretName(name) ? [{ value, variable: variableOf(name) }] : [],
  );
}
