import { MalformedNotification, type NotifiedAttempt } from './processor.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What an event is about: an attempt, or a payment at Stripe that may belong to one. */
type EventSubject = { readonly attempt: NotifiedAttempt } | { readonly intent: string };

const attemptId = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const intentId = /^pi_\w{1,250}$/;

/**
 * Reads a verified event. Its signature proves its sender, not its shape.
 *
 * @returns undefined for other event types, and for objects that this service did not create.
 * @throws MalformedNotification
 */
export function readStripeEvent(event: unknown): EventSubject | undefined {
  const { type, data } = fieldsOf(event, 'The event');
  if (typeof type !== 'string') throw new MalformedNotification('The type of the event is not a string.');
  switch (type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
    case 'checkout.session.async_payment_failed':
    case 'checkout.session.expired':
    case 'payment_intent.amount_capturable_updated':
    case 'payment_intent.canceled': {
      const attempt = readMetadata(objectOf(data).metadata);
      return attempt === undefined ? undefined : { attempt };
    }
    case 'charge.dispute.created':
    case 'charge.dispute.closed':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.refunded':
    case 'refund.updated':
    case 'refund.failed': {
      const { payment_intent: intent } = objectOf(data);
      if (intent === undefined || intent === null) return undefined;
      const id = typeof intent === 'string' ? intent : fieldsOf(intent, 'payment_intent').id;
      if (typeof id !== 'string' || !intentId.test(id))
        throw new MalformedNotification('payment_intent is not the ID of a payment.');
      return { intent: id };
    }
    default:
      return undefined;
  }
}

/**
 * Reads the metadata that this service adds to what it creates.
 *
 * @returns undefined if it is not there.
 * @throws MalformedNotification if it is there, and is not what this service writes.
 */
export function readMetadata(metadata: unknown): NotifiedAttempt | undefined {
  if (metadata === undefined || metadata === null) return undefined;
  const { tenant, attempt } = fieldsOf(metadata, 'metadata');
  if (tenant === undefined || attempt === undefined) return undefined;
  if (typeof tenant !== 'string') throw new MalformedNotification('metadata.tenant is not a string.');
  if (typeof attempt !== 'string' || !attemptId.test(attempt))
    throw new MalformedNotification('metadata.attempt is not the ID of an attempt.');
  return { tenant, key: attempt };
}

function objectOf(data: unknown): Fields {
  return fieldsOf(fieldsOf(data, 'data').object, 'data.object');
}

function fieldsOf(value: unknown, name: string): Fields {
  if (!isFields(value)) throw new MalformedNotification(`${name} is not an object.`);
  return value;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
