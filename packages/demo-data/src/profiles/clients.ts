import { entityNamed } from '@financial-automation/server/service';
import { instantAt, instantText, type Span } from './calendar.ts';
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
import { idOf, type Step, stepsFor } from './step.ts';

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

/** Contacts of a client: the first one is preferred and signs, the second one is the secondary one. */
const contactsOfClient = 3;
export const signerOf = ({ index }: ClientSeed): string => idOf('contact', contactsOfClient * index);

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
  const numbers = Array.from({ length: groups }, (_, index) => index);
  yield* stepsFor('upsertRecords', numbers, (plan, index) => {
    const fields = { name: `${inTurn(lastNames, index)} family group`, description: 'A family and what it owns' };
    plan.create(
      entityNamed('ClientGroup'),
      { ...fields, ownerId: idOf('staff', 0) },
      { id: idOf('clientGroup', index) },
    );
  });
  yield* stepsFor(
    'upsertRecords',
    clients,
    (plan, { id, index, name, kind, region, ...client }) => {
      plan.create(
        entityNamed('Client'),
        {
          ...client,
          name,
          legalName: kind === 'BUSINESS' ? `${name.slice(0, 190)}, Inc.` : null,
          clientRef: `C-${firstClientNumber + index}`,
          status: client.status === 'PROSPECT' ? 'PROSPECT' : 'ACTIVE',
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
          onboardedAt: instantText(instantAt(span.firstDay - 15, 15)),
        },
        { id },
      );
    },
    50,
  );
  yield* stepsFor(
    'upsertRecords',
    clients,
    (plan, { id, index, kind, region }) => {
      const [country, state, , , city, postalCode] = inTurn(regions, region);
      const line1 = `${100 + 17 * index} ${inTurn(streets, index)} Street`;
      const address = { line1, city, state, postalCode, country };
      for (const use of kind === 'BUSINESS' ? (['PRIMARY', 'BILLING'] as const) : (['PRIMARY'] as const))
        plan.create(entityNamed('ContactInfo'), { ownerType: 'CLIENT', ownerId: id, kind: use, address });
    },
    50,
  );
  const contacts = clients.flatMap((client) =>
    Array.from({ length: contactsOfClient }, (_, place) => ({
      client,
      place,
      number: contactsOfClient * client.index + place,
    })),
  );
  yield* stepsFor('upsertRecords', contacts, (plan, { client, number }) => {
    const [firstName, lastName] = personName(number + 300);
    const business = client.kind === 'BUSINESS' ? client.name : '';
    const email = number % 11 === 7 ? null : emailOf(`${firstName} ${lastName}`, business);
    const fields = { pmsRef: `P-${100_000 + number}`, firstName, lastName, email, phone: phoneOf(number) };
    plan.create(entityNamed('Contact'), fields, { id: idOf('contact', number) });
  });
  yield* stepsFor('upsertRecords', contacts, (plan, { client, place, number }) => {
    const roles = (['PREFERRED BILLING SIGNER', 'SECONDARY', 'OTHER'][place] ?? 'OTHER').split(' ');
    const link = { contactId: idOf('contact', number), clientId: client.id, roles: rolesOf(roles) };
    plan.create(entityNamed('ContactClient'), link);
  });
}

/** One of the numbers that are reserved for fiction. */
const phoneOf = (number: number) => `+1503555${String(100 + (number % 100)).padStart(4, '0')}`;

const knownRoles = ['PREFERRED', 'BILLING', 'SIGNER', 'SECONDARY', 'OTHER'] as const;
const rolesOf = (names: readonly string[]) => knownRoles.filter((role) => names.includes(role));

/** Steps that record which clients have left. */
export function partingSteps(clients: readonly ClientSeed[]): Iterable<Step> {
  const gone = clients.filter(({ status }) => status === 'INACTIVE');
  return stepsFor('upsertRecords', gone, (plan, { id }) =>
    plan.update(entityNamed('Client'), id, { status: 'INACTIVE' }),
  );
}
