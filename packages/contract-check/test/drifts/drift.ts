import type { Category } from '../../src/finding/finding.ts';
import type { Alter } from './front.ts';

/** One way in which a server could differ from its contract, to be switched on alone. */
export interface Drift<World> {
  /** Unique in its suite. */
  readonly name: string;
  /** What sort of difference it is, for the table. */
  readonly kind: string;
  /** The operation that should carry the finding. */
  readonly operation: string;
  /** One sentence: what the server does now. */
  readonly what: string;
  /** The checks that may find it; any, where it is left out. */
  readonly expect?: readonly Category[] | undefined;
  /** Other operations without which nobody could see it. */
  readonly needs?: readonly string[] | undefined;
  /** Made anew for each run, so that what it remembers is gone with it. */
  alter(world: World): Alter;
  /** Calls that show it: what they response is always the same on the correct server, and another resource with the drift. */
  probe(url: string, world: World): Promise<unknown>;
}
