import type { Category } from '../finding/finding.ts';
import type { Baselines } from '../run/baseline.ts';
import type { Session } from '../run/session.ts';
import { probeOperations } from './probe.ts';
import { checkLists } from './semantics/lists/lists.ts';
import { checkThings } from './semantics/things/things.ts';
import { checkSurface } from './surface.ts';

/** What a check works with. */
export interface CheckContext {
  readonly session: Session;
  readonly baselines: Baselines;
  readonly onProgress: (done: number, all: number) => void;
}

export interface Check {
  /** What a person reads while it goes on. */
  readonly phase: string;
  /** What it finds: it is left out where none of these is wanted. */
  readonly finds: readonly Category[];
  run(context: CheckContext): Promise<void>;
}

/** All checks, in their order. What judges the state comes first: probes leave data behind that no caller would make. */
export const checks: readonly Check[] = [
  { phase: 'Holding lists against what their names imply', finds: ['semantics'], run: checkLists },
  {
    phase: 'Making, changing and deleting things, and looking what became of them',
    finds: ['semantics'],
    run: checkThings,
  },
  {
    phase: 'Breaking one constraint at a time, and standing on its boundary',
    finds: ['answers', 'refusals', 'acceptance', 'robustness'],
    run: probeOperations,
  },
  { phase: 'Looking for what the contract does not have', finds: ['surface', 'refusals'], run: checkSurface },
];
