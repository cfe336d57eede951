import { type FirmCalls, subscriptions, subscriptionsPath } from './firm-calls.ts';

/**
 * Sends the example of an event, such as `Client.CREATE`, to the subscriptions that receive it.
 *
 * @returns the ID of the event.
 * @throws Error with a sentence if there is no such event, or none of the subscriptions receives it.
 */
export async function triggerEvent(calls: FirmCalls, event: string): Promise<string> {
  const [type = '', operation = ''] = event.split('.');
  const { data } = await calls.call<{ data: { entityType: string; operation: string }[] }>(
    'GET',
    `${subscriptionsPath}/catalog?enabled=true`,
  );
  if (!data.some((one) => one.entityType === type && one.operation === operation))
    throw new Error(
      `There is no event "${event}". There are: ${data.map((one) => `${one.entityType}.${one.operation}`).join(', ')}.`,
    );
  let sent = '';
  for await (const { id, active, entityTypes, operations } of subscriptions(calls)) {
    if (!active || !entityTypes.includes(type) || !operations.includes(operation)) continue;
    const path = `${subscriptionsPath}/${id}/test?entityType=${type}&operation=${operation}`;
    sent = (await calls.call<{ eventId: string }>('POST', path)).eventId;
  }
  if (sent === '') throw new Error(`No active subscription receives ${event}. Start webhook listen first.`);
  return sent;
}
