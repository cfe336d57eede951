import { checkLists } from './behavior/lists/lists.ts';
import { checkResources } from './behavior/resources/resources.ts';
import type { Check } from './check.ts';
import { probeOperations } from './probe.ts';
import { checkUndeclaredEndpoints } from './undeclared-endpoints.ts';

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
