import type { Category } from '../../src/finding/finding.ts';
import type { Alter } from './front.ts';

/** One way in which a server can differ from its contract. Each is switched on alone. */
export interface Drift<World> {
  /** Unique in its suite. */
  readonly name: string;
  /** The kind of difference, for the table. */
  readonly kind: string;
  /** The operation that the finding should name. */
  readonly operation: string;
  /** One sentence that describes the behavior. */
  readonly what: string;
  /** The categories that may find it; any if omitted. */
  readonly expect?: readonly Category[] | undefined;
  /** Other operations that a check must call to see it. */
  readonly needs?: readonly string[] | undefined;
  /** Created for each run, so that no state is kept between runs. */
  alter(world: World): Alter;
  /** Calls that show the drift: their result is constant on the correct server, and different with the drift. */
  probe(url: string, world: World): Promise<unknown>;
}
