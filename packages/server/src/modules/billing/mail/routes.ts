import { sql } from 'kysely';
import type { Service } from '../../../entity/service.ts';
import { transact } from '../../../entity/transact.ts';
import type { Tenant } from '../../../platform/auth/caller.ts';
import type { Exchange } from '../../../wire/exchange.ts';
import { html } from '../../../wire/html.ts';
import { type PageResult, pageResult } from '../../../wire/result.ts';
import type { Route } from '../../../wire/route.ts';
import { client } from '../../clients/index.ts';
import { messagePage } from '../pay/layout.ts';
import { addressKey, type PayLimits } from '../pay/limits.ts';

import { unknownPage, wrongMethod } from '../pay/result-pages.ts';
import { readBounceReport } from './bounce-report.ts';
import { mail, recordBounce } from './mail.ts';
import { readMailToken } from './mail-token.ts';

/** Maximum size of a report, in bytes: it may contain the mail that it is about, with its document. */
const maxReportBytes = 16 * 1024 * 1024;

/** The page on which recipients stop reminders, and reports of mail servers on mails that did not arrive. */
export function mailRoutes(
  service: Service,
  limits: PayLimits,
  common: Omit<Route, 'name' | 'path' | 'handle'>,
): readonly Route[] {
  const reported = (exchange: Exchange) => handleReport(service, limits, exchange);
  const visited = (exchange: Exchange) => handleUnsubscribe(service, limits, exchange);
  return [
    { ...common, name: 'mailBounce', path: '/mail/bounces', handle: reported },
    {
      ...common,
      name: 'mailUnsubscribe',
      path: '/mail/{token}/unsubscribe',
      pattern: /^\/mail\/[^/]+\/unsubscribe$/,
      handle: visited,
    },
  ];
}

interface Target {
  readonly tenant: Tenant;
  readonly mailId: string;
}

async function findTarget({ vault, directory }: Service, token: string): Promise<Target | undefined> {
  const found = readMailToken(vault, token);
  const tenant = found === undefined ? undefined : await directory.tenant(found.tenantName);
  return found === undefined || tenant === undefined ? undefined : { tenant, mailId: found.mailId };
}

function originOf({ vault }: Service, tenant: Tenant, requestId: string) {
  return { tenant, caller: undefined, operation: 'mail page', requestId, vault };
}

/**
 * Stops the reminders of a client. Mail programs submit it by themselves, without a form (RFC 8058), so the token alone is sufficient; opening the page
 * changes nothing, because mail servers open links.
 */
async function handleUnsubscribe(service: Service, limits: PayLimits, exchange: Exchange): Promise<PageResult> {
  const address = addressKey(exchange.address);
  await limits.take('request', address);
  await limits.check('unknown', address);
  const target = await findTarget(service, exchange.path?.split('/')[2] ?? '');
  if (target === undefined) {
    await limits.take('unknown', address).catch(() => undefined);
    return pageResult(404, unknownPage());
  }
  const { tenant, mailId } = target;
  exchange.tenant = tenant.name;
  if (!['GET', 'HEAD', 'POST'].includes(exchange.method)) return wrongMethod(['GET', 'HEAD', 'POST']);
  const admitted = await service.admission.admit(exchange, tenant.name, address);
  const about = await service.store.read(tenant.id, (session) =>
    session.first<{ clientId: string; clientName: string; orgName: string; isOff: boolean }>(sql`
      select c.id as "clientId", coalesce(c.legal_name, c.name) as "clientName", o.legal_name as "orgName", c.reminders_off as "isOff"
      from mail m join client c on c.tenant_id = m.tenant_id and c.id = m.client_id
      join org o on o.tenant_id = m.tenant_id and o.id = m.org_id where m.tenant_id = ${tenant.id} and m.id = ${mailId}`),
  );
  if (about === undefined) return pageResult(404, unknownPage());
  const { clientId, clientName, orgName, isOff } = about;
  if (exchange.method === 'POST' && !isOff)
    await transact(service.store, originOf(service, tenant, exchange.id), (unit) =>
      unit.plan((plan) => plan.set(client, clientId, { remindersOff: true })),
    );
  admitted.end();
  const heading = exchange.method === 'POST' || isOff ? 'Reminders are stopped' : 'Stop reminders';
  const text =
    exchange.method === 'POST' || isOff
      ? html`<p>${orgName} sends no more reminders of overdue invoices to ${clientName}. Invoices stay due.</p>`
      : html`<p>${orgName} sends reminders of overdue invoices to ${clientName}.</p>
<form method="post"><button type="submit">Stop reminders</button></form>`;
  return pageResult(200, messagePage({ title: `${heading} – ${orgName}`, orgName, heading, text }));
}

/** Records recipients that a mail did not reach after its mail server had accepted it. */
async function handleReport(service: Service, limits: PayLimits, exchange: Exchange): Promise<PageResult> {
  if (exchange.method !== 'POST') return wrongMethod(['POST']);
  const address = addressKey(exchange.address);
  await limits.check('notification', address);
  const admitted = await service.admission.admit(exchange, '', address, exchange.body(maxReportBytes));
  const report = readBounceReport(admitted.bytes ?? Buffer.alloc(0));
  admitted.end();
  for (const id of report?.messageIds ?? []) {
    const target = await findTarget(service, id);
    if (report === undefined || target === undefined) continue;
    exchange.tenant = target.tenant.name;
    await transact(service.store, originOf(service, target.tenant, exchange.id), (unit) =>
      unit.plan((plan) => {
        const row = plan.getForUpdate(mail, target.mailId);
        if (row !== undefined) recordBounce(plan, row, report.failed, report.reason);
      }),
    );
    return pageResult(200, '');
  }
  // Reports on other mails of the same mailbox are usual, and a mail server must not send them again.
  await limits.take('notification', address);
  exchange.log.warn('Rejected a report that is on no mail of this service.');
  return pageResult(400, '');
}
