import { contract } from '../../../contract/contract.ts';
import { referred } from '../../../contract/parameters.ts';
import type { Handler } from '../../../entity/context.ts';
import { databaseClock } from '../../../platform/database-clock.ts';
import { newId } from '../../../platform/store/new-id.ts';
import { Message, messageText, Secrets, type StoredEvent } from '../delivery/message.ts';
import { Sender } from '../delivery/sender.ts';
import { currentSecret, validSecrets } from '../signatures/webhook-secret.ts';
import { activeSubscription } from './active-subscription.ts';
import { checkReader } from './check-subscription.ts';

/** For a whole attempt, in milliseconds: the caller waits for it. */
const timeoutMs = 10_000;

/** Sends the example of an event to the URL of a subscription, and returns the response of the receiver. */
export const sendTestEvent: Handler<'sendTestEvent'> = async (context, { path }) => {
  const { service, tenant } = context;
  await currentSecret(service.store, service.vault, tenant.id);
  const { deliveryUrl, entityType, secrets } = await context.read(async (session) => {
    const subscription = await activeSubscription(session, tenant.id, path.id);
    checkReader(context, subscription);
    const valid = await validSecrets(session, service.vault, tenant.id);
    return { ...subscription, secrets: new Secrets(valid.map(({ secret }) => secret)) };
  });
  const now = databaseClock.now();
  const message = exampleOf(entityType, tenant.name, now);
  const sender = new Sender({ addresses: service.deliveryAddresses, timeout: timeoutMs });
  try {
    const headers = [...message.headers(secrets, now), 'webhook-test', 'true'];
    const destination = { url: deliveryUrl, ports: tenant.settings.deliveryPorts };
    const { outcome, httpStatusCode, responseSnippet, errorMessage, duration } = await sender.send(
      destination,
      headers,
      message.body,
    );
    const body = {
      eventId: message.event.id,
      entityType,
      deliveryUrl,
      outcome,
      httpStatusCode,
      durationMs: duration,
      responseSnippet,
      errorMessage,
    };
    return { status: 200, body };
  } finally {
    await sender.close();
  }
};

/** The first example of an event of the type; that of a custom record for types that tenants define. */
function exampleOf(entityType: string, tenant: string, now: number): Message {
  const declared = Object.values(contract.webhooks).map(({ post }) => post);
  const webhook =
    declared.find((post) => post['x-event'].entityType === entityType) ??
    declared.find((post) => post['x-event'].entityType === 'CustomRecord');
  const [example] = Object.values(webhook?.requestBody.content['application/json'].examples ?? {});
  const event: Pick<StoredEvent, 'operation' | 'entityId' | 'sequence' | 'isImport' | 'changedFields'> & {
    readonly data: object;
  } = Object(example === undefined ? {} : referred(example).value);
  const at = new Date(now).toISOString();
  const stored = {
    ...event,
    id: newId(),
    entityType,
    occurredAt: at,
    recordedAt: at,
    data: JSON.stringify(event.data),
    traceparent: null,
    source: null,
    linkCreator: null,
  };
  return new Message(messageText(tenant, stored), stored, false);
}
