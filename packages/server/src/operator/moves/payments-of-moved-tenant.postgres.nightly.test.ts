/** Payers and processors know nothing of databases: their links and notifications find a tenant that has moved meanwhile. */
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { atEnd } from '../../../test/at-end.ts';
import { testDatabase } from '../../../test/database.ts';
import { payerDetails, stripeFirm } from '../../../test/modules/pay.ts';
import { patientLimits } from '../../../test/patient-limits.ts';
import { Vault } from '../../platform/auth/vault.ts';
import { Cells } from '../../platform/store/databases/cells.ts';
import { addCell, openCells } from '../databases/cells.ts';
import { moveTenant } from './move-tenant.ts';

test('a payment that began before a move is recorded by the notification of the processor after it', async () => {
  const { databaseUrl: url = '' } = await testDatabase();
  const log = pino({ level: 'silent' });
  const firm = await stripeFirm({
    wrapStore: (home, config) => openCells(config, home, new Vault(config.masterKeys), log, patientLimits),
  });
  const { owing, payer, payments, linkStatus, sessionOf, session, stripe, notify, server, expectAgreement } = firm;
  const { service, store, tenant } = server;
  if (!(store instanceof Cells)) throw new Error('There is no directory.');
  atEnd(() => store.close());
  await addCell({ service }, { name: 'east', url });
  await store.look();

  const { client, link } = await owing();
  await payer().submit(link.path, { method: 'CARD', ...payerDetails });
  const unpaid = await owing();
  await moveTenant({ service }, { tenant: tenant.name, to: 'east' });
  expect(store.numberOf(tenant.id)).toBe(1);

  const id = await sessionOf(link.id);
  stripe.complete(id);
  expect((await notify('checkout.session.completed', session(id))).status).toBe(200);
  expect(await payments(client.id)).toMatchObject([{ amount: '500.00' }]);
  expect(await linkStatus(link.id)).toBe('USED');
  expect((await payer().submit(unpaid.link.path, { method: 'CARD', ...payerDetails })).status).toBe(303);
  await expectAgreement();
});
