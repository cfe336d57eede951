import { sql } from 'kysely';
import { typesWith } from '../../src/modules/bulk/standard-types.ts';
import { setTenantSetting } from '../../src/operator/tenant-settings.ts';
import type { TestService } from '../service.ts';
import { Bodies, type Knowledge, onlyRequired } from './bodies.ts';
import { attributesOf } from './places.ts';

const unknownId = '0199c3d3-0c01-7c01-8a4f-5d2e9b60f1ff';

type Row = Readonly<Record<string, unknown>> & { readonly id: string };

/** The tenant's rows that new rows refer to: one of each type, and unused ones where each can be referred to only once. */
export class World implements Knowledge {
  readonly bodies: Bodies;
  readonly #service: TestService;
  readonly #homes = new Map<string, Row>();
  readonly #contacts: string[] = [];
  readonly #spares = new Map<string, string[]>();

  private constructor(service: TestService) {
    this.#service = service;
    this.bodies = new Bodies(this);
  }

  /** Creates the rows in the tenant of the service. */
  static async create(service: TestService): Promise<World> {
    const world = new World(service);
    const tenant = service.tenant.name;
    // One caller can take every step.
    await setTenantSetting(service, { tenant, setting: 'selfApproval', value: 'on' });
    const { id: org } = (await service.store.read(service.tenant.id, (session) =>
      session.first<{ id: string }>(sql`select id from org where tenant_id = ${service.tenant.id}`),
    )) ?? { id: '' };
    world.#homes.set('Org', { id: org });
    await world.#addContacts(300);
    for (const type of order) await world.#addHome(type);
    for (const type of ['Office', 'Office', 'Office', 'Client']) await world.#addSpares(type);
    return world;
  }

  /** For other types, an ID that does not exist. */
  idOf(type: string): string {
    return this.home(type).id;
  }

  /** The attributes of the row of a type that others refer to. */
  home(type: string): Row {
    return this.#homes.get(type) ?? { id: unknownId };
  }

  requires(key: string): boolean {
    return requirements.has(key);
  }

  known(key: string): unknown {
    return knowledge[key]?.(this);
  }

  /** A contact that nothing refers to. */
  freshContact(): string {
    const id = this.#contacts.pop();
    if (id === undefined) throw new Error('Add more contacts.');
    return id;
  }

  /** A client or an office that nothing refers to. */
  fresh(type: string): string {
    const id = this.#spares.get(type)?.pop();
    if (id === undefined) throw new Error(`Add more rows of ${type}.`);
    return id;
  }

  async #addSpares(type: string): Promise<void> {
    const schema = attributesOf(type);
    const records = Array.from({ length: 100 }, () => ({
      type,
      systemRef: `spare-${this.bodies.next()}`,
      attributes: this.bodies.attributes(type, schema, onlyRequired),
    }));
    const { body } = await this.#service.call<{ records: { id: string }[] }>('POST', '/api/v1/records', { records });
    this.#spares.set(type, [...(this.#spares.get(type) ?? []), ...body.records.map(({ id }) => id)]);
  }

  async #addHome(type: string): Promise<void> {
    const created = creations[type];
    if (created !== undefined) {
      const { path, body } = created(this);
      const response = await this.#service.call<Row>('POST', path, body);
      if (response.status !== 201) throw new Error(`${type}: ${JSON.stringify(response.body)}`);
      this.#homes.set(type, response.body);
      return;
    }
    const isCode = typesWith('x-code-type').has(type);
    const attributes = this.bodies.attributes(type, attributesOf(type), onlyRequired);
    const records = [{ type, systemRef: `home-${type}`, attributes }];
    const { body } = await this.#service.call<{ records: { id: string | null; attributes: object }[] }>(
      'POST',
      isCode ? '/api/v1/codes' : '/api/v1/records',
      { records },
    );
    const [row] = body.records;
    if (row?.id == null) throw new Error(`${type}: ${JSON.stringify(body)}`);
    this.#homes.set(type, { ...row.attributes, id: row.id });
  }

  async #addContacts(count: number): Promise<void> {
    for (let left = count; left > 0; left -= 100) {
      const contacts = Array.from({ length: 100 }, (_, index) => ({ lastName: `Contact ${left - index}` }));
      const { body } = await this.#service.call<{ succeeded: { id: string }[] }>('POST', '/api/v1/contacts/upsert', {
        contacts,
      });
      this.#contacts.push(...body.succeeded.map(({ id }) => id));
    }
  }
}

/** Types whose rows others refer to, each after those that it refers to. */
const order = [
  ...['ClientType', 'TaxRegion', 'ClientGroup', 'ClientBusinessEntity', 'Industry', 'Office', 'Department'],
  ...['ServiceLine', 'StaffType', 'Staff', 'Client', 'Contact', 'ContactInfo', 'WorkCode', 'ExpenseCode', 'TaskType'],
  ...['JobTemplate', 'Job', 'Task', 'Engagement', 'WipEntry', 'Invoice', 'EventSubscription', 'CustomRecordType'],
];

const rates = { billingRate: '100.00', averageRate: '80.00', currency: 'USD', effectiveFromDate: '2020-01-01' };

/** Rows that records cannot create. */
const creations: Readonly<Record<string, (world: World) => { readonly path: string; readonly body: object }>> = {
  Staff: (world) => ({
    path: '/api/v1/staff',
    body: {
      staffRef: 'S-home',
      firstName: 'Ada',
      lastName: 'Okoye',
      email: 'ada@firm.example',
      staffTypeId: world.idOf('StaffType'),
      isBillable: true,
      rateCardAssignment: rates,
    },
  }),
  Engagement: (world) => ({
    path: '/api/v1/engagements/create',
    body: { clientId: world.idOf('Client'), fiscalYear: 2026, partnerId: world.idOf('Staff') },
  }),
  EventSubscription: () => ({
    path: '/api/v1/event-subscriptions',
    body: { deliveryUrl: 'https://hooks.example.com/home', entityType: 'Client', operations: ['CREATE'] },
  }),
  CustomRecordType: () => ({
    path: '/api/v1/records/custom',
    body: { name: 'HomeType', fields: [{ name: 'size', type: 'INTEGER' }] },
  }),
};

const contactId = (world: World) => world.freshContact();

/** Properties that rules require, and the schema does not. */
const requirements: ReadonlySet<string> = new Set([
  // One of two, the other of which is a list.
  'createEventSubscription/entityType',
  'Client/orgId',
  'DocumentSeries/officeId',
  'Contact/lastName',
  'Invoice/pmsRef',
  'Payment/clientId',
  'Engagement/clientId',
  'TimeEntry/jobId',
  'createQuickPaymentLink/amount',
  'sendInvoice/to',
  'onboardClient/orgId',
  'upsertContacts/contacts/0/lastName',
]);

/** Values that rules restrict, and the schema does not. */
const knowledge: Readonly<Record<string, (world: World) => unknown>> = {
  'Client/vatId': () => 'DE136695976',
  'Org/vatId': () => 'DE136695976',
  'onboardClient/vatId': () => 'DE136695976',
  'Org/bankAccounts/0/iban': () => 'DE89370400440532013000',
  'Org/bankAccounts/0/bic': () => 'COBADEFFXXX',
  'Office/timeZone': () => 'America/New_York',
  'Org/timeZone': () => 'America/New_York',
  'ContactInfo/ownerType': () => 'CONTACT',
  'ContactInfo/ownerId': contactId,
  'ContactClient/contactId': contactId,
  'Job/billingType': () => 'TIME_AND_MATERIALS',
  'JobTemplate/billingType': () => 'TIME_AND_MATERIALS',
  'Payment/method': () => 'CHECK',
  'Payment/source': () => 'MANUAL',
  'WipEntry/wipType': () => 'ADJUSTMENT',
  'DocumentSeries/officeId': (world) => world.fresh('Office'),
  'mergeClients/from': (world) => world.fresh('Client'),
  'DocumentSeries/pattern': (world) => `S${world.bodies.next()}-{NNNNN}`,
  'DocumentSeries/restarts': () => 'NEVER',
  'DraftInvoice/lines/0/lineType': () => 'OTHER',
  'Invoice/lines/0/lineType': () => 'OTHER',
  'Invoice/pmsRef': (world) => `I-${world.bodies.next()}`,
  'Payment/allocations/0/invoiceId': (world) => world.idOf('Invoice'),
  'TaxRegion/code': (world) => `US-${world.bodies.next()}`,
  'TimeEntry/jobId': (world) => world.idOf('Job'),
  'TimeEntry/hours': () => '0.10',
  'ExpenseEntry/code': (world) => world.home('ExpenseCode').code,
  'TimeEntry/code': (world) => world.home('WorkCode').code,
  'TaskType/defaultWorkCode': (world) => world.home('WorkCode').code,
  // Each is later than the one before.
  'advanceSandboxClock/advanceTo': (world) => new Date(Date.now() + 1_000 * world.bodies.next()).toISOString(),
  'createEventSubscription/entityType': () => 'Client',
  'createQuickPaymentLink/clientRef': (world) => world.home('Client').clientRef,
  'createQuickPaymentLink/invoiceIds/0': (world) => world.idOf('Invoice'),
  'upsertContacts/contacts/0/clients/0/clientRef': (world) => world.home('Client').clientRef,
};
