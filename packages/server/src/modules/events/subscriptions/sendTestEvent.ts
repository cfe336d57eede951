import { contract, type Webhook } from '../../../contract/contract.ts';
import { referred } from '../../../contract/parameters.ts';
import { invalid } from '../../../contract/problem.ts';
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
export const sendTestEvent: Handler<'sendTestEvent'> = async (context, { path, query }) => {
  const { service, tenant } = context;
  await currentSecret(service.store, service.vault, tenant.id);
  const { deliveryUrl, secrets, ...subscription } = await context.read(async (session) => {
    const subscription = await activeSubscription(session, tenant.id, path.id);
    checkReader(context, subscription);
    const valid = await validSecrets(session, service.vault, tenant.id);
    return { ...subscription, secrets: new Secrets(valid.map(({ secret }) => secret)) };
  });
  const now = databaseClock.now();
  const { entityType = subscription.entityType, operation } = query;
  if (!subscription.entityTypes.includes(entityType))
    throw invalid('/entityType', 'ENUM', `The subscription receives ${subscription.entityTypes.join(', ')}.`, 'query');
  const operations = operation === undefined ? subscription.operations : [operation];
  const webhook = webhookOf(
    entityType,
    operations.filter((one) => subscription.operations.includes(one)),
  );
  if (webhook === undefined)
    throw invalid('/operation', 'ENUM', `The subscription receives no such event of ${entityType}.`, 'query');
  const message = exampleOf(webhook, entityType, tenant.name, now);
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

/** The first webhook of the type with one of the operations; that of a custom record for types that tenants define. */
function webhookOf(entityType: string, operations: readonly string[]): Webhook['post'] | undefined {
  const declared = Object.values(contract.webhooks).map(({ post }) => post);
  const ofType = (type: string) => declared.filter((post) => post['x-event'].entityType === type);
  const [own, custom] = [ofType(entityType), ofType('CustomRecord')];
  return (own.length > 0 ? own : custom).find((post) => operations.includes(post['x-event'].operation));
}

/** The first example of a webhook. */
function exampleOf(webhook: Webhook['post'], entityType: string, tenant: string, now: number): Message {
  const [example] = Object.values(webhook.requestBody.content['application/json'].examples);
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
