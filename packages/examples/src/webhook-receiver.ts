/**
 * Receives the events of clients: verifies each signature, stores each event once in SQLite, and works after it has responded. Ctrl+C ends
 * it; what is sent meanwhile arrives when it runs again. `EVENTS=1` ends it after one event.
 */
import { createServer } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { buffer } from 'node:stream/consumers';
import { createClient, orThrow } from '@financial-automation/client';
import { verifyWebhook, type WebhookEvent, WebhookVerificationError } from '@financial-automation/client/webhooks';

const api = createClient({
  baseUrl: process.env.API_URL ?? 'http://127.0.0.1:3000',
  tenant: process.env.API_TENANT ?? 'hartwell',
  apiKey: process.env.API_KEY ?? '',
});
const port = Number(process.env.RECEIVER_PORT ?? 4000);
const deliveryUrl = `http://127.0.0.1:${port}/webhooks`;
const limit = Number(process.env.EVENTS ?? Number.POSITIVE_INFINITY);

const database = new DatabaseSync(process.env.DATABASE_FILE ?? 'webhooks.sqlite');
database.exec(`
  create table if not exists event (
    id text primary key, entity_id text not null, sequence integer not null, body text not null, done integer not null default 0
  )`);
const insert = database.prepare(
  'insert into event (id, entity_id, sequence, body) values (?, ?, ?, ?) on conflict do nothing',
);
const waiting = database.prepare(
  'select id, entity_id, sequence, body from event where done = 0 order by entity_id, sequence',
);
const newest = database.prepare('select max(sequence) as sequence from event where entity_id = ? and done = 1');
const finish = database.prepare('update event set done = 1 where id = ?');

const { secret } = await orThrow(api.getWebhookSecret());
const server = createServer(async (request, response) => {
  try {
    const event = verifyWebhook({ headers: request.headers, body: await buffer(request) }, secret);
    insert.run(event.id, event.entityId, event.sequence, JSON.stringify(event));
    response.writeHead(204).end();
    setImmediate(work);
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) console.error(error);
    response.writeHead(error instanceof WebhookVerificationError ? 401 : 500).end();
  }
});
await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
await subscribe();
console.log(`Receiving the events of clients at ${deliveryUrl}. Ctrl+C ends it.`);
// What was stored before a crash.
work();

/** Creates the subscription at the first start, and turns it on again if it was deactivated. */
async function subscribe(): Promise<void> {
  for await (const subscription of api.listEventSubscriptions.rows()) {
    if (subscription.deliveryUrl !== deliveryUrl || subscription.entityType !== 'Client') continue;
    const path = { id: subscription.id };
    if (!subscription.active) await orThrow(api.reactivateEventSubscription({ path }));
    return;
  }
  const operations = ['CREATE' as const, 'UPDATE' as const, 'DELETE' as const];
  await orThrow(api.createEventSubscription({ body: { deliveryUrl, entityType: 'Client', operations } }));
}

/** Processes what is stored, once each, and skips events that a newer one of the same row has overtaken. */
function work(): void {
  for (const { id, entity_id: entityId, sequence, body } of waiting.all()) {
    const isOutdated = Number(newest.get(entityId ?? null)?.sequence ?? 0) > Number(sequence);
    if (!isOutdated) handle(JSON.parse(String(body)));
    finish.run(id ?? null);
  }
}

let processed = 0;

/** The work itself: here, a line per event. */
function handle(event: WebhookEvent): void {
  if (event.entityType === 'Client')
    console.log(event.operation, event.data.clientRef, event.data.name, event.changedFields.join(', '));
  processed += 1;
  if (processed < limit) return;
  server.close();
  server.closeAllConnections();
}
