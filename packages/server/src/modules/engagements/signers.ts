import { schemaOf } from '../../contract/contract.ts';
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
  const { row, status, clientId } = change;
  return signersOf(
    plan,
    { row, clientId, isFixed: row.status !== 'DRAFT' && status !== 'DRAFT' },
    entries,
    (previous, entry) => changeSigner(plan, change, previous, entry),
  );
}

/**
 * Returns the signers after an import: those of the other system, but for those who have got further meanwhile.
 *
 * @throws Rejection if the letter is sent and the signers differ.
 */
export function importSigners(
  plan: Plan,
  { row, clientId }: { readonly row: Row<'Engagement'> | undefined; readonly clientId: string },
  entries: readonly Entry[],
): Signer[] {
  const isFixed = row !== undefined && row.status !== 'DRAFT';
  return signersOf(plan, { row, clientId, isFixed }, entries, (previous, entry) => {
    const { status = 'PENDING' } = entry;
    const isFurther = previous !== undefined && order.indexOf(previous.status) > order.indexOf(status);
    return isFurther ? previous : signerIn(plan, { ...entry, status }, previous);
  });
}

const order = schemaOf('EngagementSignerStatus').enum ?? [];

/** Checks that the signatures of an imported letter match its status. */
export function checkSignatures(status: Row<'Engagement'>['status'], signers: readonly Signer[]): void {
  const some = (state: Signer['status']) => signers.some((signer) => signer.status === state);
  const all = (state: Signer['status']) => signers.every((signer) => signer.status === state);
  const isSigned = all('SIGNED');
  const matches: Record<typeof status, boolean> = {
    DRAFT: all('PENDING'),
    SENT: !some('DECLINED') && !isSigned,
    EXECUTED: isSigned,
    ACTIVE: isSigned,
    ON_HOLD: isSigned,
    COMPLETED: isSigned,
    DECLINED: signers.length === 0 || some('DECLINED'),
    EXPIRED: true,
    CANCELLED: true,
  };
  if (!matches[status])
    throw invalidField('signers', `The signers do not match a letter that is ${status}: check the status of each.`);
}

/** The signers before a change, and whether they must stay the same contacts. */
interface SignersBefore {
  readonly row: Row<'Engagement'> | undefined;
  readonly clientId: string;
  readonly isFixed: boolean;
}

function signersOf(
  plan: Plan,
  { row, clientId, isFixed }: SignersBefore,
  entries: readonly Entry[],
  signer: (previous: Signer | undefined, entry: Entry) => Signer,
): Signer[] {
  const known = new Map(row?.signers.map((one) => [one.contactId, one]));
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
      if (previous === undefined) checkSigner(plan, clientId, contactId, '/contactId');
      return signer(previous, entry);
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
  return signerIn(plan, { ...entry, status: to }, previous);
}

/** A signer with the status of an entry, and the time of the signature. */
function signerIn(plan: Plan, entry: Entry & Pick<Signer, 'status'>, previous: Signer | undefined): Signer {
  const { contactId, status } = entry;
  const signedAt = typeof entry.signedAt === 'string' ? new Date(entry.signedAt).toISOString() : null;
  if (status !== 'SIGNED') {
    if (signedAt !== null) throw invalidField('signedAt', 'signedAt goes with the status SIGNED only.');
    return { contactId, status, signedAt: null };
  }
  if (signedAt !== null && signedAt > plan.now) throw invalidField('signedAt', 'signedAt must not be in the future.');
  return { contactId, status, signedAt: signedAt ?? previous?.signedAt ?? plan.now };
}
