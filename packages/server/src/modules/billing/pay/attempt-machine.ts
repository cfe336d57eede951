import type { PaymentProgress } from '../../../platform/payments/processor.ts';

/**
 * - `OPEN`: the order was sent to the processor, or is about to be, and the link is PROCESSING.
 * - `DECLINED`: nothing was captured, and the link was released.
 * - Others: a payment with this status exists.
 */
export const attemptStatuses = ['OPEN', 'DECLINED', 'PENDING', 'COMPLETED', 'FAILED', 'RETURNED', 'REFUNDED'] as const;

export type AttemptStatus = (typeof attemptStatuses)[number];

/** What moves an attempt: the state that the processor reports. */
export type AttemptEvent = PaymentProgress['state'];

interface AttemptTransition {
  readonly from: readonly AttemptStatus[];
  readonly to: AttemptStatus;
  readonly events: readonly AttemptEvent[];
}

/**
 * The state machine of an attempt to pay. It is not in the contract because callers do not see attempts. `settle` is the
 * only function that moves one. A state that is several transitions away is reached one transition at a time, so that a
 * payment that was returned before the first check was completed first.
 */
export const attemptMachine: { readonly initial: AttemptStatus; readonly transitions: readonly AttemptTransition[] } = {
  initial: 'OPEN',
  transitions: [
    { from: ['OPEN'], to: 'DECLINED', events: ['declined'] },
    { from: ['OPEN'], to: 'PENDING', events: ['accepted', 'failed'] },
    // What a processor captures or accepts is a fact, also if the attempt was cancelled there before.
    { from: ['DECLINED'], to: 'PENDING', events: ['accepted'] },
    { from: ['OPEN', 'DECLINED', 'PENDING'], to: 'COMPLETED', events: ['captured', 'returned', 'refunded'] },
    { from: ['PENDING'], to: 'FAILED', events: ['failed', 'declined'] },
    // The bank settled it after all.
    { from: ['FAILED'], to: 'COMPLETED', events: ['captured', 'returned', 'refunded'] },
    { from: ['COMPLETED', 'REFUNDED'], to: 'RETURNED', events: ['returned'] },
    { from: ['COMPLETED'], to: 'REFUNDED', events: ['refunded'] },
  ],
};

/** Returns the next status towards the state at the processor; undefined if the status remains. */
export function nextStatus(status: AttemptStatus, event: AttemptEvent): AttemptStatus | undefined {
  return attemptMachine.transitions.find(({ from, events }) => from.includes(status) && events.includes(event))?.to;
}
