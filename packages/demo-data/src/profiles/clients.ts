import type { RowInput } from '@financial-automation/server/service';
import { dateText, type Span } from './calendar.ts';
import {
  awkwardNames,
  businessName,
  emailOf,
  industries,
  inTurn,
  lastNames,
  personName,
  regions,
  streets,
} from './names.ts';
import type { ClientKind } from './practice.ts';
import type { Size } from './profile.ts';
import { Random } from './random.ts';
import { idOf, rowSteps, type Step } from './step.ts';

export interface ClientSeed {
  readonly id: string;
  readonly index: number;
  readonly name: string;
  readonly kind: ClientKind;
  readonly region: number;
  /** Whether services are taxed there. */
  readonly isTaxed: boolean;
  readonly entityType: 'INDIVIDUAL' | 'TRUST' | 'LLC' | 'S_CORP' | 'C_CORP' | 'PARTNERSHIP';
  /** What becomes of it: an inactive one had work before. */
  readonly status: 'ACTIVE' | 'PROSPECT' | 'INACTIVE';
  readonly paymentTermsDays: number;
  readonly currency: 'USD' | 'CAD';
}

/** The first number of these clients: the firm of the examples has lower ones. */
export const firstClientNumber = 10_001;

/** Of each contact of a client; the first one signs. */
const roles: NonNullable<RowInput<'ContactClient'>['roles']>[] = [
  ['PREFERRED', 'BILLING', 'SIGNER'],
  ['SECONDARY'],
  ['OTHER'],
];
export const signerOf = ({ index }: ClientSeed): string => idOf('contact', roles.length * index);

const groups = 5;
/** The client with documents in another currency. */
const abroad = 3;

export function createClients({ clients: count }: Size, isForPeople: boolean): ClientSeed[] {
  const random = new Random(2);
  return Array.from({ length: count }, (_, index) => {
    const draw = random.weighted<ClientKind>([
      ['INDIVIDUAL', 62],
      ['BUSINESS', 34],
      ['TRUST', 4],
    ]);
    const kind = index === 0 || index === abroad ? 'BUSINESS' : draw;
    const entityType = kind === 'BUSINESS' ? random.pick(['LLC', 'S_CORP', 'C_CORP', 'PARTNERSHIP']) : kind;
    const region = index === abroad ? regions.length - 1 : random.below(regions.length - 1);
    return {
      id: idOf('client', index),
      index,
      name: nameOf(kind, index, isForPeople),
      kind,
      entityType,
      region,
      isTaxed: inTurn(regions, region)[3] !== '0',
      status: index % 16 === 15 ? 'PROSPECT' : index % 8 === 6 ? 'INACTIVE' : 'ACTIVE',
      paymentTermsDays: random.pick(kind === 'INDIVIDUAL' ? [0, 15, 30] : [10, 30, 30, 45, 60]),
      currency: index === abroad ? 'CAD' : 'USD',
    };
  });
}

function nameOf(kind: ClientKind, index: number, isForPeople: boolean): string {
  if (!isForPeople && index % 8 === 7) return inTurn(awkwardNames, Math.floor(index / 8));
  if (kind === 'BUSINESS') return businessName(index);
  const person = personName(index + 100).join(' ');
  return kind === 'TRUST' ? `${person} Family Trust` : person;
}

/** Steps that write clients with their groups, contacts and addresses. */
export function* clientSteps(clients: readonly ClientSeed[], span: Span): Generator<Step> {
  yield* rowSteps('ClientGroup', 'clientGroup', lastNames.slice(0, groups), (name) => ({
    name: `${name} family group`,
    description: 'A family and what it owns',
    ownerId: idOf('staff', 0),
  }));
  yield* rowSteps(
    'Client',
    'client',
    clients,
    ({ id: _, index, name, kind, region, isTaxed: _taxed, ...client }) => ({
      ...client,
      name,
      legalName: kind === 'BUSINESS' ? `${name.slice(0, 190)}, Inc.` : null,
      clientRef: `C-${firstClientNumber + index}`,
      status: client.status === 'PROSPECT' ? ('PROSPECT' as const) : ('ACTIVE' as const),
      clientTypeId: idOf('clientType', kind === 'INDIVIDUAL' ? 0 : kind === 'TRUST' ? 3 : 1 + (index % 2)),
      taxRegionId: idOf('taxRegion', region),
      clientGroupId: index % 5 < 2 ? idOf('clientGroup', index % groups) : null,
      industryId: kind === 'BUSINESS' ? idOf('industry', index % industries.length) : null,
      officeId: idOf('office', index % 3),
      departmentId: idOf('department', index % 7),
      serviceLineId: idOf('serviceLine', index % 7),
      partnerId: idOf('staff', 0),
      managerId: idOf('staff', 1),
      email: kind === 'BUSINESS' ? emailOf('office', name) : emailOf(name.replace(' Family Trust', ''), ''),
      phone: phoneOf(index),
      fiscalYearEndMonth: 12,
      fiscalYearEndDay: 31,
      incorporationDate: kind === 'BUSINESS' && index % 9 === 0 ? '2020-02-29' : null,
      onboardedAt: `${dateText(span.firstDay - 15)}T15:00:00.000Z`,
    }),
    { size: 50 },
  );
  const places = clients.flatMap((client) =>
    (client.kind === 'BUSINESS' ? (['PRIMARY', 'BILLING'] as const) : (['PRIMARY'] as const)).map((kind) => ({
      client,
      kind,
    })),
  );
  yield* rowSteps('ContactInfo', undefined, places, ({ client: { id, index, region }, kind }) => {
    const [country, state, , , city, postalCode] = inTurn(regions, region);
    const line1 = `${100 + 17 * index} ${inTurn(streets, index)} Street`;
    return { ownerType: 'CLIENT' as const, ownerId: id, kind, address: { line1, city, state, postalCode, country } };
  });
  const contacts = clients.flatMap((client) => roles.map((ofContact) => ({ client, ofContact })));
  yield* rowSteps('Contact', 'contact', contacts, ({ client }, number) => {
    const [firstName, lastName] = personName(number + 300);
    const business = client.kind === 'BUSINESS' ? client.name : '';
    const email = number % 11 === 7 ? null : emailOf(`${firstName} ${lastName}`, business);
    return { pmsRef: `P-${100_000 + number}`, firstName, lastName, email, phone: phoneOf(number) };
  });
  yield* rowSteps('ContactClient', undefined, contacts, ({ client, ofContact }, number) => ({
    contactId: idOf('contact', number),
    clientId: client.id,
    roles: ofContact,
  }));
}

/** One of the numbers that are reserved for fiction. */
const phoneOf = (number: number) => `+1503555${String(100 + (number % 100)).padStart(4, '0')}`;
