import type { Baselines } from '../run/baseline.ts';
import type { Session } from '../run/session.ts';
import { probeOperations } from './probe.ts';

/** What a check works with. */
export interface CheckContext {
  readonly session: Session;
  readonly baselines: Baselines;
  readonly onProgress: (done: number, all: number) => void;
}

export interface Check {
  /** What a person reads while it goes on. */
  readonly phase: string;
  run(context: CheckContext): Promise<void>;
}

/** All checks, in their order: what changes nothing first, then what makes, changes and deletes. */
export const checks: readonly Check[] = [
  { phase: 'Breaking one constraint at a time, and standing on its boundary', run: probeOperations },
];
