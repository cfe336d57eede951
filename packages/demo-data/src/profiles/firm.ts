import { sql } from 'kysely';
import type { Span } from './calendar.ts';
import { loadPeople, type Person } from './people.ts';
import type { Profile } from './profile.ts';
import { loadReferenceLists, type ReferenceLists } from './reference-lists.ts';
import type { Loader } from './table-loader.ts';

/** The rows that clients, jobs and time refer to. */
export interface Firm extends ReferenceLists {
  readonly span: Span;
  readonly orgId: string;
  readonly people: readonly Person[];
  /** Who decides, and who prepares bills. */
  readonly partnerIds: readonly [string, ...string[]];
  readonly managerId: string;
}

/** Loads the reference lists of the firm and its staff. */
export async function loadFirm(loader: Loader, profile: Profile, span: Span): Promise<Firm> {
  const [org] = await loader.all<{ id: string }>(
    sql`select id from org where tenant_id = ${loader.tenantId} order by id limit 1`,
  );
  if (org === undefined) throw new Error('The tenant has no org.');
  const lists = await loadReferenceLists(loader, org.id, span);
  const people = await loadPeople(loader, profile, span, { orgId: org.id, ...lists });
  const present = people.filter(({ lastDay }) => lastDay === Infinity);
  const [partnerId = '', ...otherPartnerIds] = present.flatMap(({ id, rank }) => (rank === 'partner' ? [id] : []));
  return {
    ...lists,
    span,
    orgId: org.id,
    people,
    partnerIds: [partnerId, ...otherPartnerIds],
    managerId: present.find(({ rank }) => rank === 'manager')?.id ?? partnerId,
  };
}
