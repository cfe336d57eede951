import type { Schema } from './types.ts';

/** An access token, as returned by `POST /v1/auth/token`; `expires_in` is in seconds. */
export type AccessToken = Schema<'AccessToken'>;

/** How long before its expiry a token is renewed, so that it does not expire in transit; a short-lived one in its last fifth. */
const maxMarginMs = 60_000;

/** Caches one access token, and never runs more than one exchange at a time. */
export class TokenSource {
  readonly #exchange: () => Promise<AccessToken>;
  #current: { value: string; renewAt: number } | undefined;
  #pending: Promise<string> | undefined;

  constructor(exchange: () => Promise<AccessToken>) {
    this.#exchange = exchange;
  }

  /** A token that is still valid for some time. */
  get(): Promise<string> {
    if (this.#current !== undefined && Date.now() < this.#current.renewAt) return Promise.resolve(this.#current.value);
    return this.#renew();
  }

  /** Another token than the rejected one: the cached one, if it was renewed in the meantime, or a new one. */
  after(rejected: string): Promise<string> {
    if (this.#current?.value === rejected) this.#current = undefined;
    return this.get();
  }

  #renew(): Promise<string> {
    this.#pending ??= this.#exchange()
      .then((token) => {
        const lifetime = token.expires_in * 1000;
        this.#current = {
          value: token.access_token,
          renewAt: Date.now() + lifetime - Math.min(maxMarginMs, lifetime / 5),
        };
        return token.access_token;
      })
      .finally(() => {
        this.#pending = undefined;
      });
    return this.#pending;
  }
}
