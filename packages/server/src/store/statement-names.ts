import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** A longer text is a search with a long list; it is not seen twice, and would hold memory for nothing. */
const longestText = 8_000;

/**
 * Which statements are prepared under a name, so that the server parses and plans them once per connection.
 *
 * A name lasts as long as its connections, so their number is bounded; searches come in endless shapes, so a text has
 * to earn its name by being repeated, and those that it competes with are forgotten, the least recent first. Whatever
 * callers send, neither this process nor the database holds more than `most` of them.
 */
export class StatementNames {
  readonly #names = new Map<string, string>();
  readonly #uses: LRUCache<string, number>;
  readonly #most: number;
  readonly #repeats: number;

  /**
   * @param most how many texts get a name in the life of this process
   * @param repeats at which use a text gets it
   */
  constructor(most = 500, repeats = 3) {
    this.#most = most;
    this.#repeats = repeats;
    this.#uses = new LRUCache({ max: most });
  }

  /** The name to run this text under; nothing means that it runs unnamed. */
  nameFor(text: string): string | undefined {
    // A long list of excluded values is looked up in a hash table only where the planner sees it, which for a named
    // statement it soon does not: then each row is compared with each value.
    if (text.includes('<> all(')) return undefined;
    const name = this.#names.get(text);
    if (name !== undefined || this.#names.size >= this.#most || text.length > longestText) return name;
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
