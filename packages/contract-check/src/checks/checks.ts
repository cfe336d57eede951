import type { Category } from '../finding/finding.ts';
import type { Baselines } from '../run/baseline.ts';
import type { Session } from '../run/session.ts';
import { checkLists } from './behavior/lists/lists.ts';
import { checkResources } from './behavior/resources/resources.ts';
import { probeOperations } from './probe.ts';
import { checkUndeclaredEndpoints } from './undeclared-endpoints.ts';

export interface CheckContext {
  readonly session: Session;
  readonly baselines: Baselines;
  readonly onProgress: (done: number, all: number) => void;
}

export interface Check {
  /** Shown to the user while the check runs. */
  readonly phase: string;
  /** The categories that it reports. The check is skipped if none of them is requested. */
  readonly finds: readonly Category[];
  run(context: CheckContext): Promise<void>;
}

/** All checks in their order. Behavior is checked first, because probes leave unusual data behind. */
export const checks: readonly Check[] = [
  { phase: 'Checking lists: paging, order, filters, search', finds: ['behavior'], run: checkLists },
  {
    phase: 'Creating, updating and deleting resources',
    finds: ['behavior'],
    run: checkResources,
  },
  {
    phase: 'Sending invalid input, boundary values and hostile values',
    finds: ['responses', 'invalid input', 'valid input', 'robustness'],
    run: probeOperations,
  },
  {
    phase: 'Looking for endpoints that the contract does not declare',
    finds: ['undeclared endpoints', 'invalid input'],
    run: checkUndeclaredEndpoints,
  },
];
