import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** Longer texts are searches with long lists, which are unlikely to be repeated and would only use up memory. */
const maxTextLength = 8_000;

/**
 * Determines which statements are prepared under a name, so that the server parses and plans them once per connection.
 *
 * A name lasts as long as its connections, so their number is limited. Searches have countless shapes, so a text only
 * gets a name after it was repeated, and the least recently used candidates are forgotten. Whatever callers send, neither
 * this process nor the database stores more than `most` of them.
 */
export class StatementNames {
  readonly #names = new Map<string, string>();
  readonly #uses: LRUCache<string, number>;
  readonly #most: number;
  readonly #repeats: number;

  /**
   * @param most maximum number of texts with a name in the life of this process
   * @param repeats the use at which a text gets its name
   */
  constructor(most = 500, repeats = 3) {
    this.#most = most;
    this.#repeats = repeats;
    this.#uses = new LRUCache({ max: most });
  }

  /** Returns the name for a text; undefined if it runs unnamed. */
  nameFor(text: string): string | undefined {
    // PostgreSQL only uses a hash table for a long list of excluded values if the planner sees it, which is no longer the
    // case after a few uses of a named statement: then each row is compared with each value.
    if (text.includes('<> all(')) return undefined;
    const name = this.#names.get(text);
    if (name !== undefined || this.#names.size >= this.#most || text.length > maxTextLength) return name;
    const uses = (this.#uses.get(text) ?? 0) + 1;
    if (uses < this.#repeats) {
      this.#uses.set(text, uses);
      return undefined;
    }
    this.#uses.delete(text);
    const given = createHash('sha256').update(text).digest('base64url');
    this.#names.set(text, given);
    return given;
  }
}
