import type { Operation } from '../document/operation.ts';
import type { KnownRequest } from '../run/known-requests.ts';
import { eachOperation } from '../run/parallel.ts';
import { checkLists } from './behavior/lists/lists.ts';
import { checkResources } from './behavior/resources/resources.ts';
import { checkInvalidInput } from './invalid-input.ts';
import type { Check, CheckContext } from './observe.ts';
import { checkRobustness } from './robustness.ts';
import { checkCredentials } from './security.ts';
import { checkUndeclaredEndpoints } from './undeclared-endpoints.ts';
import { checkValidInput } from './valid-input.ts';

/** All checks in their order. Behavior is checked first, because probes leave unusual data behind. */
export const checks: readonly Check[] = [
  { phase: 'Checking lists: paging, order, filters, search', finds: ['behavior'], run: checkLists },
  { phase: 'Creating, updating and deleting resources', finds: ['behavior'], run: checkResources },
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

/** Probes each operation separately, changing one part of its known request at a time. */
async function probeOperations(context: CheckContext): Promise<void> {
  const { session, requests, onProgress } = context;
  const check = async (operation: Operation) => {
    const known = session.isOver ? undefined : await requests.usable(operation);
    if (known !== undefined) await probe(context, operation, known);
    if (!session.isOver) session.stateOf(operation).isChecked = true;
  };
  const [settings = [], others = []] = [true, false].map((is) =>
    session.judged.filter((operation) => session.plan.isSetting(operation) === is),
  );
  await eachOperation(others, 2, check, (done) => onProgress(done, session.judged.length));
  // What others depend on changes only while none is called.
  await eachOperation(settings, 1, check, (done) => onProgress(others.length + done, session.judged.length));
}

async function probe(context: CheckContext, operation: Operation, known: KnownRequest): Promise<void> {
  const { session } = context;
  // Valid input can be judged only once it is known how the server rejects invalid input.
  const rejection = await checkInvalidInput(context, operation, known);
  if (session.includesCategory('invalid input')) await checkCredentials(context, operation, known);
  if (session.includesCategory('valid input')) await checkValidInput(context, operation, known, rejection);
  if (session.includesCategory('robustness')) await checkRobustness(context, known);
}
