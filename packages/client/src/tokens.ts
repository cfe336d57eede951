import type { Schema } from './types.ts';

/** An access token, as `POST /v1/auth/token` answers it; `expires_in` is in seconds. */
export type AccessToken = Schema<'AccessToken'>;

/** Renewed this long before it expires, so that a token does not run out on its way; a short-lived one in its last fifth. */
const longestMargin = 60_000;

/** Keeps one access token, and sees to it that there is never more than one exchange at a time. */
export class TokenSource {
  readonly #exchange: () => Promise<AccessToken>;
  #current: { value: string; renewAt: number } | undefined;
  #pending: Promise<string> | undefined;

  constructor(exchange: () => Promise<AccessToken>) {
    this.#exchange = exchange;
  }

  /** A token that is valid for a while yet. */
  get(): Promise<string> {
    if (this.#current !== undefined && Date.now() < this.#current.renewAt) return Promise.resolve(this.#current.value);
    return this.#renew();
  }

  /** Another token than the one that was refused; the one at hand, if somebody has renewed it in the meantime. */
  after(refused: string): Promise<string> {
    if (this.#current?.value === refused) this.#current = undefined;
    return this.get();
  }

  #renew(): Promise<string> {
    this.#pending ??= this.#exchange()
      .then((token) => {
        const lifetime = token.expires_in * 1000;
        this.#current = {
          value: token.access_token,
          renewAt: Date.now() + lifetime - Math.min(longestMargin, lifetime / 5),
        };
        return token.access_token;
      })
      .finally(() => {
        this.#pending = undefined;
      });
    return this.#pending;
  }
}
