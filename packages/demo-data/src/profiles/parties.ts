import { createHash } from 'node:crypto';
import { instantAt, instantText, type Span } from './calendar.ts';
import type { Firm } from './firm.ts';
import { awkwardNames, firstNames, homeStates, lastNames, places, states, trades } from './names.ts';
import type { ClientKind } from './practice.ts';
import type { Profile } from './profile.ts';
import { Random } from './random.ts';
import { rowId } from './row-id.ts';
import type { EntityRow, Loader } from './table-loader.ts';

export interface ClientSeed {
  readonly id: string;
  readonly ref: string;
  readonly name: string;
  readonly kind: ClientKind;
  readonly regionIndex: number;
  /** The day on which it was onboarded. */
  readonly since: number;
  readonly status: 'ACTIVE' | 'PROSPECT' | 'INACTIVE';
  readonly paymentTermsDays: number;
  /** The signer. */
  readonly contactId: string;
}

/** The first number of these clients: the firm of the examples has lower ones. */
export const firstClientNumber = 10_001;

/** Days that clients have to pay, by weight. */
const termsOfPeople = [
  [0, 20],
  [15, 35],
  [30, 45],
] as const;
const termsOfFirms = [
  [10, 8],
  [15, 10],
  [30, 50],
  [45, 20],
  [60, 12],
] as const;
/** Indexes of client types. */
const typesOf: Readonly<Record<ClientKind, readonly number[]>> = {
  INDIVIDUAL: [0, 0, 0, 4, 1],
  BUSINESS: [2, 2, 3],
  TRUST: [5, 6],
};
/** Indexes of the classes of filers, by type of entity. */
const filingOf: Readonly<Record<string, number>> = {
  PARTNERSHIP: 1,
  LLC: 1,
  C_CORP: 2,
  S_CORP: 3,
  NONPROFIT: 4,
  TRUST: 5,
  ESTATE: 5,
};
const suffixes: Readonly<Record<string, string>> = {
  LLC: ' LLC',
  S_CORP: ' Inc.',
  C_CORP: ' Corporation',
  PARTNERSHIP: ' LP',
};

/** Loads clients with their groups, and their contacts with addresses and links. */
export async function loadParties(
  loader: Loader,
  { clients: count }: Profile,
  firm: Firm,
): Promise<readonly ClientSeed[]> {
  const random = new Random(2);
  const groups = new Groups(Math.ceil(count * 0.1375), firm);
  await loader.entities('client_group', groups.rows);
  const clients: ClientSeed[] = [];
  const contacts = new ContactRows(firm.span);
  const rows: EntityRow[] = [];
  for (let index = 0; index < count; index++) {
    const drawn = drawClient(random, firm, index, count);
    const { id, at, kind } = drawn;
    const billingId = kind === 'BUSINESS' ? contacts.address(at, 'CLIENT', id, 'BILLING', index) : null;
    const addressId = contacts.address(at, 'CLIENT', id, 'PRIMARY', index);
    const [preferred, second] = contacts.ofClient(random, at, id, index);
    clients.push({ ...drawn, contactId: preferred });
    rows.push({
      ...clientRow(random, firm, groups, drawn, index),
      client_contact_info_id: addressId,
      billing_address_id: billingId,
      preferred_contact_id: preferred,
      billing_contact_id: preferred,
      secondary_contact_id: second,
    });
  }
  await contacts.load(loader);
  await loader.entities('client', rows);
  await contacts.loadLinks(loader);
  return clients;
}

interface DrawnClient extends Omit<ClientSeed, 'contactId'> {
  /** The instant of its onboarding. */
  readonly at: number;
}

function drawClient(random: Random, { span, taxRegions }: Firm, index: number, count: number): DrawnClient {
  // Most clients have been there for longer than three years.
  const since = span.firstDay - 15 + Math.max(0, Math.floor((index / count - 0.8) * 4_500));
  const at = instantAt(since, 15 + (index % 7)) + index;
  // The first client is one that has work.
  const kind =
    index === 0
      ? 'BUSINESS'
      : random.weighted([
          ['INDIVIDUAL', 62],
          ['BUSINESS', 34],
          ['TRUST', 4],
        ]);
  const person = `${random.pick(firstNames)} ${random.pick(lastNames)}`;
  const firmName = `${random.pick(places)} ${random.pick(trades)}`;
  const usual = kind === 'INDIVIDUAL' ? person : kind === 'BUSINESS' ? firmName : `${person} Family Trust`;
  const name = index % 50 === 7 ? (awkwardNames[Math.floor(index / 50) % awkwardNames.length] ?? usual) : usual;
  const status =
    index === 0
      ? 'ACTIVE'
      : random.weighted([
          ['ACTIVE', 82],
          ['PROSPECT', 6],
          ['INACTIVE', 12],
        ]);
  const region = random.chance(0.75) ? states.indexOf(random.pick(homeStates)) : random.below(states.length);
  const regionIndex = random.chance(0.03) ? random.between(states.length, taxRegions.length - 1) : region;
  const paymentTermsDays = random.weighted(kind === 'INDIVIDUAL' ? termsOfPeople : termsOfFirms);
  const ref = `C-${firstClientNumber + index}`;
  return { id: rowId(21, index, at), ref, name, kind, since, at, regionIndex, status, paymentTermsDays };
}

/** The row of a client without its addresses and contacts. */
function clientRow(random: Random, firm: Firm, groups: Groups, client: DrawnClient, index: number): EntityRow {
  const { id, ref, name, kind, at, regionIndex, status, paymentTermsDays } = client;
  const entity =
    kind === 'INDIVIDUAL'
      ? 'INDIVIDUAL'
      : kind === 'TRUST'
        ? random.pick(['TRUST', 'TRUST', 'ESTATE', 'NONPROFIT'])
        : random.pick(['LLC', 'S_CORP', 'C_CORP', 'PARTNERSHIP']);
  const inTurn = (ids: readonly string[]) => ids[index % ids.length] ?? null;
  return {
    id,
    createdAt: at,
    name,
    legal_name: kind === 'INDIVIDUAL' ? null : `${name.slice(0, 190)}${suffixes[entity] ?? ''}`,
    client_ref: ref,
    pms_ref: ref,
    status,
    entity_type: entity,
    client_type_id: firm.clientTypeIds[typesOf[kind][index % typesOf[kind].length] ?? 0] ?? null,
    tax_region_id: firm.taxRegions[regionIndex]?.id ?? null,
    client_group_id: index % 5 < 2 ? groups.next(random) : null,
    client_business_entity_id: firm.businessEntityIds[filingOf[entity] ?? 0] ?? null,
    industry_id: kind === 'BUSINESS' ? random.pick([firm.industryIds[0] ?? null, ...firm.industryIds]) : null,
    office_id: inTurn(firm.officeIds),
    department_id: inTurn(firm.departmentIds),
    service_line_id: inTurn(firm.serviceLineIds),
    org_id: firm.orgId,
    partner_id: inTurn(firm.partnerIds),
    manager_id: firm.managerId,
    email: `client${index}@example.org`,
    phone: `+1503555${String(100 + (index % 100)).padStart(4, '0')}`,
    fiscal_year_end_month: 12,
    fiscal_year_end_day: 31,
    incorporation_date: index % 61 === 3 ? '2020-02-29' : null,
    payment_terms_days: paymentTermsDays,
    currency: 'USD',
    onboarded_at: instantText(at),
  };
}

/** Groups of clients, which get their members in turn. */
class Groups {
  readonly rows: readonly EntityRow[];
  #members = 0;

  constructor(count: number, { span, partnerIds }: Firm) {
    this.rows = Array.from({ length: count }, (_, index): EntityRow => {
      const createdAt = instantAt(span.firstDay - 20, 17) + index;
      const family = `${lastNames[index % lastNames.length]} family group`;
      const name = index < lastNames.length ? family : `${family} ${Math.floor(index / lastNames.length) + 1}`;
      const id = rowId(20, index, createdAt);
      return { id, createdAt, name, description: 'A family and what it owns', owner_id: partnerIds[0] };
    });
  }

  /** Each group gets two members, and the first groups most of the others. */
  next(random: Random): string | null {
    const [member, count] = [this.#members++, this.rows.length];
    return this.rows[member < 2 * count ? member % count : Math.floor(count * random.next() ** 2)]?.id ?? null;
  }
}

/** Contacts, their addresses and links, collected while clients are created. */
class ContactRows {
  readonly #contacts: EntityRow[] = [];
  readonly #addresses: EntityRow[] = [];
  readonly #links: EntityRow[] = [];
  readonly #unlinkedAt: string;

  constructor({ today }: Span) {
    this.#unlinkedAt = instantText(instantAt(today - 40, 18));
  }

  address(at: number, owner: string, ownerId: string, kind: string, number: number): string {
    const id = rowId(22, this.#addresses.length, at);
    const state = states[number % states.length] ?? 'OR';
    const line1 = `${100 + (number % 900)} ${places[number % places.length]} Street`;
    this.#addresses.push({
      id,
      createdAt: at,
      owner_type: owner,
      owner_id: ownerId,
      kind,
      line1,
      city: 'Springfield',
      state,
      postal_code: String(10_000 + (number % 80_000)),
      country: 'US',
    });
    return id;
  }

  /**
   * Adds two to four contacts of a client. @returns the preferred one, who also receives the bills, and the secondary one
   */
  ofClient(random: Random, at: number, clientId: string, client: number): [string, string] {
    const count = random.weighted([
      [2, 30],
      [3, 35],
      [4, 35],
    ]);
    const ids = Array.from({ length: count }, (_, index) => this.#contact(random, at, index > 1));
    // Three in ten people belong to several clients, and a few advisers to many.
    const earlier = random.chance(0.06) ? 400 * random.below(Math.ceil(this.#contacts.length / 400)) : undefined;
    const shared =
      client > 0 && random.chance(0.85)
        ? this.#contacts[earlier ?? random.below(this.#contacts.length - count)]?.id
        : undefined;
    const linked = shared !== undefined && !ids.includes(shared) ? [...ids, shared] : ids;
    for (const [index, contactId] of linked.entries()) {
      const roles = index === 0 ? ['PREFERRED', 'BILLING', 'SIGNER'] : index === 1 ? ['SECONDARY'] : ['OTHER'];
      const isActive = index < 2 || !random.chance(0.13);
      const id = rowId(24, this.#links.length, at);
      this.#links.push({
        id,
        createdAt: at,
        contact_id: contactId,
        client_id: clientId,
        roles,
        is_primary: index === 0,
        receives_invoices: index === 0,
        can_sign: index === 0,
        active: isActive,
        linked_at: instantText(at),
        unlinked_at: isActive ? null : this.#unlinkedAt,
      });
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
    this.#contacts.push({
      id,
      createdAt: at,
      pms_ref: `P-${100_000 + number}`,
      first_name: first,
      last_name: last,
      display_name: `${first} ${last}`,
      email,
      phone: `+1503555${String(100 + (number % 100)).padStart(4, '0')}`,
      portal_enabled: number % 3 === 0,
      active: !isMerged,
      primary_contact_info_id: this.address(at, 'CONTACT', id, 'PRIMARY', number),
    });
    if (number % 2 === 0) this.address(at, 'CONTACT', id, 'MAILING', number + 7);
    return id;
  }

  async load(loader: Loader): Promise<void> {
    await loader.entities('contact', this.#contacts);
    await loader.entities('contact_info', this.#addresses);
  }

  async loadLinks(loader: Loader): Promise<void> {
    await loader.entities('contact_client', this.#links);
  }
}

/** Returns random-looking text derived from the tenant and a number, such as the token of a demo link. */
export function tokenOf(tenantId: number, number: number): string {
  return createHash('sha256').update(`demo data ${tenantId} ${number}`).digest('base64url').slice(0, 32);
}
