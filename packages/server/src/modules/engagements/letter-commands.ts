import { command } from '../../entity/command.ts';
import type { Plan } from '../../entity/plan.ts';
import { addRules, type PendingChange } from '../../entity/rules.ts';
import { client } from '../clients/index.ts';
import { changeLetter, createLetter, createSignedCopy } from './documents.ts';
import { engagement } from './engagement.ts';
import { startWork } from './engagement-jobs.ts';

type EngagementChange = PendingChange<'Engagement'>;

const sendLetter = command('letterSent', (plan, { id }: EngagementChange) =>
  changeLetter(plan, id, { status: 'SENT' }),
);

const recallLetter = command('letterRecalled', (plan, { id, values, previous }: EngagementChange) => {
  if (previous !== undefined && !changeLetter(plan, id, { status: 'DRAFT' })) createLetter(plan, values);
});

/** All signers have signed: the letter gets its signed copy, a prospect becomes a client, and work can start. */
const signLetter = command('letterSigned', (plan, { id, values }: EngagementChange) => {
  const times = values.signers.map((signer) => signer.signedAt ?? plan.now);
  const signedAt = times.sort().at(-1) ?? plan.now;
  if (changeLetter(plan, id, { status: 'SIGNED', signedAt })) createSignedCopy(plan, values, signedAt);
  // Clients and jobs of an import are in the state that they have.
  if (plan.isImport) return;
  if (plan.get(client, values.clientId)?.status === 'PROSPECT') startRelationship(plan, values.clientId);
  startWork(plan, id);
});

/** A prospect who has signed becomes a client, unless somebody else has just changed that. */
function startRelationship(plan: Plan, clientId: string): void {
  if (plan.getForUpdate(client, clientId)?.status === 'PROSPECT') plan.set(client, clientId, { status: 'ACTIVE' });
}

/** Nothing else changes when a signer declines, or when nobody signs in time. */
const declineLetter = command('letterDeclined', () => undefined);
const expireLetter = command('expired', () => undefined);

addRules(engagement, {
  commands: {
    DRAFT: recallLetter,
    SENT: sendLetter,
    EXECUTED: signLetter,
    DECLINED: declineLetter,
    EXPIRED: expireLetter,
  },
});
