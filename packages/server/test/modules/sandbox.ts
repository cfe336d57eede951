import { sql } from 'kysely';
import { expect } from 'vitest';
import { createTenant } from '../../src/operator/tenants.ts';
import { databaseClock } from '../../src/platform/database-clock.ts';
import { newId } from '../../src/platform/store/new-id.ts';
import type { TestService } from '../service.ts';
import { firm } from './billing.ts';

export interface Clock {
  readonly now: string;
  readonly offsetSeconds: number;
  readonly ranTasks?: number;
}

export const clockPath = '/api/v1/sandbox/clock';

/**
 * Creates a firm with an invoice that is due tomorrow, a job that is billed monthly, and a link to pay the invoice.
 *
 * @param runsJobs whether jobs run: the document of the invoice is then written before the first change that counts.
 */
export async function agingFirm(
  service: TestService,
  name: string,
  { sandbox, runsJobs = false }: { readonly sandbox: boolean; readonly runsJobs?: boolean },
) {
  const timeZone = 'America/New_York';
  const place = { currency: 'USD', timeZone, country: 'US' };
  const tenant = await createTenant(service, { name, displayName: name, ...place, sandbox });
  const signIn = (options: { readonly roles: readonly string[] }) => service.signIn({ ...options, tenant });
  const caller = await signIn({ roles: ['API_ADMIN'] });
  const books = await firm({ ...service, ...caller, signIn });
  const today = databaseClock.instant().toZonedDateTimeISO(timeZone).toPlainDate();
  const invoiceId = await books.post(await books.draftOf([{}], { dueDate: today.add({ days: 1 }).toString() }));
  const monthly = await books.records.make('Job', {
    name: 'Books',
    clientId: books.client.id,
    billingType: 'TIME_AND_MATERIALS',
    billingSchedule: 'MONTHLY',
  });
  await books.workFor('2.00', monthly.id, today.toString());
  const link = await caller.call<{ id: string; expiresAt: string }>('POST', '/api/v1/clients/v1/link/payment', {
    clientRef: books.client.ref,
    invoiceIds: [invoiceId],
  });
  if (runsJobs) await expect.poll(async () => (await books.invoice(invoiceId)).pdfFileId).not.toBeNull();
  const began = newId();
  const advance = (body: object) => caller.call<Clock>('POST', clockPath, body);
  /** Returns the changes that time has made, in their order, with their days. */
  const changes = async (): Promise<string[]> => {
    const rows = await service.store.read(tenant.id, (session) =>
      session.all<{ line: string }>(sql`
        select concat_ws(' ', entity_type, operation, after ->> 'status', tenant_day(occurred_at)) as line
        from audit_log where tenant_id = ${tenant.id} and id > ${began} order by id`),
    );
    return rows.map(({ line }) => line);
  };
  return { ...caller, tenant, signIn, books, invoiceId, link, advance, changes };
}
