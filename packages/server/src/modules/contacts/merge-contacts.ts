import type { Plan } from '../../entity/plan.ts';
import type { Row } from '../../entity/row.ts';
import { contactClient, isExclusiveRole } from './contact-client.ts';
import { contactInfo } from './contact-info.ts';

/**
 * Links the contacts of a client to another one instead, and creates its contact details there, because neither can change its owner. What the
 * other one has already stays.
 *
 * @returns how many rows of each type were created or extended.
 */
export function mergeContacts(plan: Plan, from: string, into: string): { ContactClient: number; ContactInfo: number } {
  const links = plan.allForUpdate(contactClient, 'clientId', from).filter(isActive);
  const kept = plan.allForUpdate(contactClient, 'clientId', into);
  plan.each(links, (link) => {
    plan.remove(contactClient, link.id);
    mergeLink(plan, link, into, kept);
  });
  const infos = plan.allForUpdate(contactInfo, 'ownerId', from).filter(isActive);
  const kinds = new Set(
    plan
      .all(contactInfo, 'ownerId', into)
      .filter(isActive)
      .map(({ kind }) => kind),
  );
  for (const info of infos) {
    const { ownerType, kind, email, phone, mobile, fax, website, address } = info;
    plan.remove(contactInfo, info.id);
    if (!kinds.has(kind))
      plan.insert(contactInfo, { ownerType, ownerId: into, kind, email, phone, mobile, fax, website, address });
  }
  return { ContactClient: links.length, ContactInfo: infos.length };
}

function mergeLink(plan: Plan, link: Row<'ContactClient'>, into: string, kept: readonly Row<'ContactClient'>[]): void {
  const { contactId, isPrimary, receivesInvoices, canSign } = link;
  const isFree = (role: (typeof link.roles)[number]) =>
    !isExclusiveRole(role) ||
    !kept.some((other) => other.active && other.contactId !== contactId && other.roles.includes(role));
  const free = link.roles.filter(isFree);
  const same = kept.find((other) => other.contactId === contactId);
  if (same === undefined) {
    const roles = free.length > 0 ? free : (['OTHER'] as const);
    plan.insert(contactClient, { contactId, clientId: into, roles: [...roles], isPrimary, receivesInvoices, canSign });
  } else
    plan.set(contactClient, same.id, {
      active: true,
      roles: [...new Set([...(same.active ? same.roles : []), ...free])],
      isPrimary: isPrimary || (same.active && same.isPrimary),
      receivesInvoices: (same.active && same.receivesInvoices) || receivesInvoices,
      canSign: (same.active && same.canSign) || canSign,
    });
}

const isActive = ({ active }: { readonly active: boolean }) => active;
