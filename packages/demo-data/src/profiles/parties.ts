import { createHash } from 'node:crypto';
import { firstDay, instantAt, instantText, lastDay } from './calendar.ts';
import type { Firm } from './firm.ts';
import { awkwardNames, firstNames, lastNames, places, states, trades } from './names.ts';
import type { Profile } from './profile.ts';
import { Random } from './random.ts';
import { rowId } from './row-id.ts';
import type { EntityRow, Loader } from './table-loader.ts';

export interface ClientSeed {
  readonly id: string;
  readonly ref: string;
  readonly name: string;
  readonly regionIndex: number;
  readonly isActive: boolean;
  /** The signer. */
  readonly contactId: string;
}

/** The first number of these clients: the firm of the examples has lower ones. */
export const firstClientNumber = 10_001;

/** Loads clients with their groups, and their contacts with addresses and links. */
export async function loadParties(
  loader: Loader,
  { clients: count }: Profile,
  firm: Firm,
): Promise<readonly ClientSeed[]> {
  const random = new Random(2);
  const groups = Math.ceil(count * 0.1375);
  const groupIds = Array.from({ length: groups }, (_, index) => rowId(20, index, instantAt(firstDay - 20, 17) + index));
  await loader.entities(
    'client_group',
    ['name', 'description', 'owner_id'],
    groupIds.map((id, index): EntityRow => {
      const name = `${lastNames[index % lastNames.length]} group ${index + 1}`;
      return [id, instantAt(firstDay - 20, 17) + index, name, 'A family and what it owns', firm.people[0]?.id ?? null];
    }),
  );
  const clients: ClientSeed[] = [];
  const contacts = new ContactRows();
  const rows: EntityRow[] = [];
  for (let index = 0; index < count; index++) {
    const at = instantAt(firstDay - 15 + Math.floor((index * 700) / count), 15 + (index % 7)) + index;
    const id = rowId(21, index, at);
    const kind = random.weighted([
      ['INDIVIDUAL', 62],
      ['BUSINESS', 34],
      ['TRUST', 4],
    ]);
    const person = `${random.pick(firstNames)} ${random.pick(lastNames)}`;
    const firmName = `${random.pick(places)} ${random.pick(trades)} ${index + 1} LLC`;
    const usual = kind === 'INDIVIDUAL' ? person : kind === 'BUSINESS' ? firmName : `${person} Trust`;
    const name = index % 50 === 7 ? (awkwardNames[Math.floor(index / 50) % awkwardNames.length] ?? usual) : usual;
    const status = random.weighted([
      ['ACTIVE', 82],
      ['PROSPECT', 6],
      ['INACTIVE', 12],
    ]);
    const ref = `C-${firstClientNumber + index}`;
    const regionIndex = random.below(firm.taxRegions.length);
    const billingId = kind === 'BUSINESS' ? contacts.address(at, 'CLIENT', id, 'BILLING', index) : null;
    const addressId = contacts.address(at, 'CLIENT', id, 'PRIMARY', index);
    const [preferred, second] = contacts.ofClient(random, at, id, index);
    const isActive = status === 'ACTIVE' || index === 0;
    clients.push({ id, ref, name, regionIndex, isActive, contactId: preferred });
    const entity =
      kind === 'INDIVIDUAL'
        ? 'INDIVIDUAL'
        : kind === 'TRUST'
          ? 'TRUST'
          : random.pick(['LLC', 'S_CORP', 'C_CORP', 'PARTNERSHIP']);
    const partner = firm.people[index % Math.min(7, firm.people.length)]?.id ?? null;
    const at_ = (list: readonly string[]) => list[index % list.length] ?? null;
    rows.push([
      id,
      at,
      name,
      kind === 'INDIVIDUAL' ? null : `${name.slice(0, 190)} (legal)`,
      ref,
      ref,
      index === 0 ? 'ACTIVE' : status,
      entity,
      at_(firm.clientTypeIds),
      firm.taxRegions[regionIndex]?.id ?? null,
      index % 5 < 2 ? at_(groupIds) : null,
      at_(firm.businessEntityIds),
      at_(firm.industryIds),
      at_(firm.officeIds),
      at_(firm.departmentIds),
      at_(firm.serviceLineIds),
      firm.orgId,
      partner,
      firm.people[2]?.id ?? null,
      `client${index}@example.org`,
      `+1503555${String(100 + (index % 100)).padStart(4, '0')}`,
      12,
      31,
      index % 61 === 3 ? '2024-02-29' : null,
      30,
      'USD',
      instantText(at),
      addressId,
      billingId,
      preferred,
      preferred,
      second,
    ]);
  }
  await contacts.load(loader);
  const columns = [
    'name',
    'legal_name',
    'client_ref',
    'pms_ref',
    'status',
    'entity_type',
    'client_type_id',
    'tax_region_id',
    'client_group_id',
    'client_business_entity_id',
    'industry_id',
    'office_id',
    'department_id',
    'service_line_id',
    'org_id',
    'partner_id',
    'manager_id',
    'email',
    'phone',
    'fiscal_year_end_month',
    'fiscal_year_end_day',
    'incorporation_date',
    'payment_terms_days',
    'currency',
    'onboarded_at',
    'client_contact_info_id',
    'billing_address_id',
    'preferred_contact_id',
    'billing_contact_id',
    'secondary_contact_id',
  ];
  await loader.entities('client', columns, rows);
  await contacts.loadLinks(loader);
  return clients;
}

/** Contacts, their addresses and links, collected while clients are created. */
class ContactRows {
  readonly #contacts: EntityRow[] = [];
  readonly #addresses: EntityRow[] = [];
  readonly #links: EntityRow[] = [];

  address(at: number, owner: string, ownerId: string, kind: string, number: number): string {
    const id = rowId(22, this.#addresses.length, at);
    const state = states[number % states.length] ?? 'OR';
    const line1 = `${100 + (number % 900)} ${places[number % places.length]} Street`;
    this.#addresses.push([
      id,
      at,
      owner,
      ownerId,
      kind,
      line1,
      'Springfield',
      state,
      String(10_000 + (number % 80_000)),
      'US',
    ]);
    return id;
  }

  /**
   * Adds two to four contacts of a client. @returns the preferred one, who also receives the bills, and the secondary one
   */
  ofClient(random: Random, at: number, clientId: string, client: number): [string, string] {
    const count = random.weighted([
      [2, 4],
      [3, 4],
      [4, 2],
    ]);
    const ids = Array.from({ length: count }, (_, index) => this.#contact(random, at, index > 1));
    // Some people belong to several clients: here, also to the previous one.
    const shared =
      client > 0 && random.chance(0.3) ? this.#contacts[random.below(this.#contacts.length)]?.[0] : undefined;
    const linked = shared !== undefined && !ids.includes(shared) ? [...ids, shared] : ids;
    for (const [index, contactId] of linked.entries()) {
      const roles = index === 0 ? ['PREFERRED', 'BILLING', 'SIGNER'] : index === 1 ? ['SECONDARY'] : ['OTHER'];
      const isActive = index < 2 || !random.chance(0.1);
      const id = rowId(24, this.#links.length, at);
      this.#links.push([
        id,
        at,
        contactId,
        clientId,
        roles,
        index === 0,
        index === 0,
        index === 0,
        isActive,
        instantText(at),
        isActive ? null : instantText(instantAt(lastDay - 40, 18)),
      ]);
    }
    const [first = '', second = ''] = ids;
    return [first, second];
  }

  #contact(random: Random, at: number, mayBeMerged: boolean): string {
    const number = this.#contacts.length;
    const id = rowId(23, number, at);
    const [first, last] = [random.pick(firstNames), random.pick(lastNames)];
    // Some were entered twice and merged: the other row is inactive and has the same address.
    const isMerged = mayBeMerged && number % 40 === 17;
    const email = random.chance(0.09)
      ? null
      : `${first}.${last}.${isMerged ? number - 1 : number}@example.com`.toLowerCase();
    this.#contacts.push([
      id,
      at,
      `P-${100_000 + number}`,
      first,
      last,
      `${first} ${last}`,
      email,
      `+1503555${String(100 + (number % 100)).padStart(4, '0')}`,
      number % 3 === 0,
      !isMerged,
    ]);
    return id;
  }

  async load(loader: Loader): Promise<void> {
    const columns = [
      'pms_ref',
      'first_name',
      'last_name',
      'display_name',
      'email',
      'phone',
      'portal_enabled',
      'active',
    ];
    await loader.entities('contact', columns, this.#contacts);
    // Their owners are loaded later: these references are checked at the end.
    const addressColumns = ['owner_type', 'owner_id', 'kind', 'line1', 'city', 'state', 'postal_code', 'country'];
    await loader.entities('contact_info', addressColumns, this.#addresses);
  }

  async loadLinks(loader: Loader): Promise<void> {
    const columns = [
      'contact_id',
      'client_id',
      'roles',
      'is_primary',
      'receives_invoices',
      'can_sign',
      'active',
      'linked_at',
      'unlinked_at',
    ];
    await loader.entities('contact_client', columns, this.#links);
  }
}

/** Returns random-looking text derived from the tenant and a number, such as the token of a demo link. */
export function tokenOf(tenantId: number, number: number): string {
  return createHash('sha256').update(`demo data ${tenantId} ${number}`).digest('base64url').slice(0, 32);
}
