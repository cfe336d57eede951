import { pino } from 'pino';
import { expect } from 'vitest';
import { atEnd } from '../../test/at-end.ts';
import { testService } from '../../test/service.ts';
import type { WireResponse } from '../../test/wire.ts';
import { dueAttempts } from './attempt.ts';
import { pageWrites } from './pay-link.ts';
import { followUp } from './reconcile.ts';
import { StripeProcessor } from './stripe.ts';
import { startStripeDouble } from './stripe-double.ts';
import { disagreements, payingFirm, sendNotification } from './testing.ts';

export const stripeKeys = { secretKey: 'sk_test_51Double', webhookSecret: 'whsec_of_the_double' };

/** Creates a firm that takes payments through a double of Stripe. */
export async function stripeFirm() {
  const stripe = await startStripeDouble(stripeKeys.secretKey, stripeKeys.webhookSecret);
  atEnd(stripe.stop);
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const server = await testService({
    log,
    replace: () => ({
      processor: new StripeProcessor(stripeKeys, log, { host: stripe.host, port: stripe.port, protocol: 'http' }),
    }),
  });
  const base = await payingFirm(server);
  const { service, store, tenant } = server;
  return {
    ...base,
    stripe,
    server,
    /** What was logged. */
    lines,
    /** Returns the ID of the Stripe session of a link's attempt. */
    async sessionOf(linkId: string): Promise<string> {
      const ids = new Set((await base.attempts(linkId)).map(({ id }) => id));
      const found = [...stripe.sessions.values()].findLast(({ session }) => ids.has(session.client_reference_id ?? ''));
      if (found === undefined) throw new Error('No session found.');
      return found.session.id;
    },
    session: (id: string) => stripe.sessions.get(id)?.session ?? {},
    notify: (type: string, object: object): Promise<WireResponse> =>
      sendNotification(server.address, stripe.notification({ type, data: { object } })),
    /** Runs the clock task. */
    async followUpAll(): Promise<void> {
      const { processor } = service;
      if (processor === undefined) throw new Error('No processor is configured.');
      const later = Temporal.Now.instant().add({ hours: 1 });
      const due = await store.read(tenant.id, (one) => dueAttempts(one, tenant.id, later, 100));
      for (const attempt of due)
        await followUp({ processor, tenant, write: pageWrites(service, tenant, 'test'), log }, attempt);
    },
    async expectAgreement(): Promise<void> {
      expect(await store.read(tenant.id, (one) => one.all(disagreements(tenant.id)))).toEqual([]);
    },
  };
}
