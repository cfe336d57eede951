import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { deliveringService } from '../../test/delivery.ts';
import { startReceiver } from '../../test/receiver.ts';

const { call, start, store, subscribe, tenant } = await deliveringService();
const trace = '4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7';

/** Creates a client group in a call with this header. */
async function createGroup(name: string, traceparent: string | null) {
  const records = [{ type: 'ClientGroup', systemRef: name, attributes: { name } }];
  const { status } = await call('POST', '/api/v1/records', { records }, { traceparent });
  expect(status).toBe(200);
}

test('an event keeps the traceparent of the call that caused it, in the form in which it is passed on', async () => {
  await createGroup('valid', `00-${trace}-01`);
  await createGroup('later', `cc-${trace}-03-more`);
  await createGroup('invalid', `ff-${trace}-01`);
  await createGroup('none', null);
  const kept = await store.read(tenant.id, (session) =>
    session.all(sql`
      select data->>'name' as name, traceparent from recorded_event
      where tenant_id = ${tenant.id} and entity_type = 'ClientGroup' order by id`),
  );
  expect(kept).toEqual([
    { name: 'valid', traceparent: `00-${trace}-01` },
    { name: 'later', traceparent: `00-${trace}-01` },
    { name: 'invalid', traceparent: null },
    { name: 'none', traceparent: null },
  ]);
});

test('a delivery passes on the traceparent of the call that caused its event', async () => {
  const receiver = await startReceiver();
  await subscribe(receiver);
  await start();
  await createGroup('traced', `00-${trace}-01`);
  await createGroup('untraced', null);
  await expect.poll(() => receiver.arrivals.length).toBe(2);
  const sent = receiver.arrivals.map(({ event, headers }) => [event.data.name, headers.traceparent]);
  expect(Object.fromEntries(sent)).toEqual({ traced: `00-${trace}-01`, untraced: undefined });
});
