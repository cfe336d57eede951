import { fieldsOf, membersOf } from '../../contract/fields.ts';
import type { Input } from '../../contract/handler.ts';
import { Rejection } from '../../contract/rejection.ts';
import { invalidField } from '../../entity/invalid-field.ts';
import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import { checkInitialState, findTransition, type Machine, machineOf } from '../../entity/state-machine.ts';
import { contact, contactClient } from '../contacts/index.ts';

export type Signer = Row<'Engagement'>['signers'][number];
type Entry = NonNullable<Input<'updateEngagement'>['body']['signers']>[number];

const machine = signerMachine();

function signerMachine(): Machine {
  const signers = fieldsOf('Engagement').find(({ name }) => name === 'signers');
  const found = signers === undefined ? undefined : machineOf('signer', membersOf(signers));
  if (found === undefined) throw new Error('The contract has no state machine of signers.');
  return found;
}

/** Creates signers who have not signed yet. */
export function pending(contactIds: readonly string[]): Signer[] {
  return contactIds.map((contactId) => ({ contactId, status: 'PENDING', signedAt: null }));
}

/** Checks that a contact can sign for a client: both the contact and its link to the client must be active. */
export function checkSigner(plan: Plan, clientId: string, contactId: string, pointer: string): void {
  plan.together(
    () => plan.get(contact, contactId),
    () => plan.all(contactClient, 'contactId', contactId),
  );
  if (plan.get(contact, contactId)?.active !== true)
    throw new Rejection('REFERENCE_NOT_FOUND', 'No active contact with this ID exists.', pointer);
  const links = plan.all(contactClient, 'contactId', contactId);
  if (!links.some((link) => link.active && link.clientId === clientId))
    throw new Rejection('VALIDATION_ERROR', 'The contact has no active link to the client.', pointer);
}

/** The engagement before and after a change. */
export interface SignerChange {
  readonly row: Row<'Engagement'>;
  readonly clientId: string;
  readonly status: Row<'Engagement'>['status'];
}

/**
 * Returns the signers after a change: the contacts in the list, with the values of the entry, or else the stored ones.
 *
 * @throws Rejection if the letter is sent and the signers differ, or a signature does not match the status of the letter.
 */
export function changeSigners(plan: Plan, change: SignerChange, entries: readonly Entry[]): Signer[] {
  const { row, status } = change;
  const known = new Map(row.signers.map((signer) => [signer.contactId, signer]));
  const isFixed = row.status !== 'DRAFT' && status !== 'DRAFT';
  const isSame = entries.length === known.size && entries.every(({ contactId }) => known.has(contactId));
  if (isFixed && !isSame) {
    const detail =
      'The letter has been sent, so its signers are fixed. Set the status to DRAFT to recall it before you change them.';
    throw new Rejection('INVALID_STATE', detail, '/signers');
  }
  return entries.map((entry, index) =>
    plan.at(`/signers/${index}`, () => {
      const { contactId } = entry;
      if (entries.findIndex((other) => other.contactId === contactId) !== index)
        throw invalidField('contactId', 'Another signer is the same contact.');
      const previous = known.get(contactId);
      if (previous === undefined) checkSigner(plan, change.clientId, contactId, '/contactId');
      return changeSigner(plan, change, previous, entry);
    }),
  );
}

function changeSigner(plan: Plan, { row, status }: SignerChange, previous: Signer | undefined, entry: Entry): Signer {
  const from = previous?.status ?? 'PENDING';
  const to = entry.status ?? from;
  if (previous === undefined) checkInitialState(machine, to);
  else if (to !== from) {
    const holds = (roles: readonly string[]) => plan.holds(roles);
    const { conditions = [] } = findTransition(machine, from, to, { operation: 'updateEngagement', holds });
    if (conditions.includes('letterIsSent') && (row.status !== 'SENT' || status !== 'SENT'))
      throw new Rejection('INVALID_STATE', 'Signatures are recorded while the engagement is SENT.', '/status');
  }
  const signedAt = typeof entry.signedAt === 'string' ? new Date(entry.signedAt).toISOString() : null;
  if (to !== 'SIGNED') {
    if (signedAt !== null) throw invalidField('signedAt', 'signedAt goes with the status SIGNED only.');
    return { contactId: entry.contactId, status: to, signedAt: null };
  }
  if (signedAt !== null && signedAt > plan.now) throw invalidField('signedAt', 'signedAt must not be in the future.');
  return { contactId: entry.contactId, status: to, signedAt: signedAt ?? previous?.signedAt ?? plan.now };
}
