import { byId, numberedPageOf } from '../../query/handlers.ts';
import { listEventCatalog } from './catalog/listEventCatalog.ts';
import { listDeliveries } from './delivery/listDeliveries.ts';
import { recoverEvents } from './delivery/recoverEvents.ts';
import { retryDelivery } from './delivery/retryDelivery.ts';
import { listEvents } from './feed/listEvents.ts';
import { generateTestSignature } from './signatures/generateTestSignature.ts';
import { getWebhookSecret } from './signatures/getWebhookSecret.ts';
import { validateTestSignature } from './signatures/validateTestSignature.ts';
import { createEventSubscription } from './subscriptions/createEventSubscription.ts';
import { deactivateEventSubscription } from './subscriptions/deactivateEventSubscription.ts';
import { eventSubscription } from './subscriptions/event-subscription.ts';
import { reactivateEventSubscription } from './subscriptions/reactivateEventSubscription.ts';
import { updateEventSubscription } from './subscriptions/updateEventSubscription.ts';

export const events = {
  listEventCatalog,
  listEventSubscriptions: numberedPageOf(eventSubscription),
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
  generateTestSignature,
  validateTestSignature,
};
