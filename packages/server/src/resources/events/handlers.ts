import { byId, numberedPageOf } from '../../query/handlers.ts';
import { createEventSubscription } from './createEventSubscription.ts';
import { deactivateEventSubscription } from './deactivateEventSubscription.ts';
import { eventSubscription } from './event-subscription.ts';
import { generateTestSignature } from './generateTestSignature.ts';
import { getWebhookSecret } from './getWebhookSecret.ts';
import { listDeliveries } from './listDeliveries.ts';
import { listEventCatalog } from './listEventCatalog.ts';
import { reactivateEventSubscription } from './reactivateEventSubscription.ts';
import { updateEventSubscription } from './updateEventSubscription.ts';
import { validateTestSignature } from './validateTestSignature.ts';

export const events = {
  listEventCatalog,
  listEventSubscriptions: numberedPageOf(eventSubscription),
  createEventSubscription,
  getEventSubscription: byId(eventSubscription),
  updateEventSubscription,
  deactivateEventSubscription,
  reactivateEventSubscription,
  listDeliveries,
  getWebhookSecret,
  generateTestSignature,
  validateTestSignature,
};
