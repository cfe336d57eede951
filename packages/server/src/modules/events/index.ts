import { byId, pageOf } from '../../query/handlers.ts';
import { listEventCatalog } from './catalog/listEventCatalog.ts';
import { listEvents } from './feed/listEvents.ts';
import { generateTestSignature } from './signatures/generateTestSignature.ts';
import { getWebhookSecret } from './signatures/getWebhookSecret.ts';
import { rotateWebhookSecret } from './signatures/rotateWebhookSecret.ts';
import { validateTestSignature } from './signatures/validateTestSignature.ts';
import { createEventSubscription } from './subscriptions/createEventSubscription.ts';
import { deactivateEventSubscription } from './subscriptions/deactivateEventSubscription.ts';
import { eventSubscription } from './subscriptions/event-subscription.ts';
import { listDeliveries } from './subscriptions/listDeliveries.ts';
import { reactivateEventSubscription } from './subscriptions/reactivateEventSubscription.ts';
import { recoverEvents } from './subscriptions/recoverEvents.ts';
import { retryDelivery } from './subscriptions/retryDelivery.ts';
import { sendTestEvent } from './subscriptions/sendTestEvent.ts';
import { updateEventSubscription } from './subscriptions/updateEventSubscription.ts';

export const events = {
  listEventCatalog,
  listEventSubscriptions: pageOf(eventSubscription),
  createEventSubscription,
  getEventSubscription: byId(eventSubscription),
  updateEventSubscription,
  deactivateEventSubscription,
  reactivateEventSubscription,
  listDeliveries,
  retryDelivery,
  recoverEvents,
  listEvents,
  getWebhookSecret,
  rotateWebhookSecret,
  sendTestEvent,
  generateTestSignature,
  validateTestSignature,
};
export type { RepeatedEvent } from './delivery/acknowledge.ts';
export { sendAgain } from './delivery/acknowledge.ts';
export { startDelivery } from './delivery/delivery.ts';
export { keptDays, keptSince, removeOldEvents } from './delivery/retention.ts';
export { eventBody, eventsOfRow } from './feed/events-of-row.ts';
export { rotateSecret, webhookSecretPurpose } from './signatures/webhook-secret.ts';
export { eventSubscription } from './subscriptions/event-subscription.ts';
