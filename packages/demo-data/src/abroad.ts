import {
  asOperator,
  entityNamed,
  type Plan,
  type RowInput,
  type Service,
  type Tenant,
} from '@financial-automation/server/service';
import { planSentMail } from './billing.ts';
import { storyId } from './story-id.ts';

/** Each country's standard rates; two authorities tax services in Quebec. */
const taxCodes: Readonly<Record<string, Pick<RowInput<'TaxCode'>, 'name' | 'taxes'>>> = {
  'DE-19': { name: 'Umsatzsteuer', taxes: [{ name: 'USt.', ratePercent: '19', category: 'S' }] },
  'CA-QC': {
    name: 'TPS et TVQ',
    taxes: [
      { name: 'TPS', ratePercent: '5', category: 'S' },
      { name: 'TVQ', ratePercent: '9.975', category: 'S' },
    ],
  },
};

/** A boatyard that gets electronic invoices, and one in Quebec, each with its address. */
const clients = [
  {
    name: 'Nordhafen Bootsbau GmbH',
    clientRef: 'C-01044',
    vatId: 'DE123456788',
    electronicAddress: { scheme: '9930', id: 'DE123456788' },
    currency: 'EUR',
    documentLanguage: 'de',
    email: 'rechnung@nordhafen.example.com',
  },
  {
    name: 'Chantier naval Beaupré inc.',
    clientRef: 'C-01045',
    currency: 'CAD',
    documentLanguage: 'fr',
    email: 'comptes@beaupre.example.com',
  },
] as const;
const addresses = [
  { line1: 'Am Nordkai 12', city: 'Hamburg', postalCode: '20457', country: 'DE' },
  { line1: '480, rue du Quai', city: 'Québec', state: 'QC', postalCode: 'G1K 3X2', country: 'CA' },
];

/**
 * Creates two clients abroad with their taxes and invoices: one is paid early, with the discount for it, one is overdue and the client was
 * reminded of it, and one is in part paid.
 */
export async function seedAbroad(service: Service, tenant: Tenant): Promise<void> {
  const step = <Result>(plan: (plan: Plan) => Result) =>
    asOperator(service, tenant, 'upsertRecords', (unit) => unit.plan(plan));
  const drafts = await step(planDrafts);
  for (const status of ['IN_REVIEW', 'APPROVED'] as const)
    await step((plan) => drafts.map((id) => plan.update(entityNamed('DraftInvoice'), id, { status })));
  const early = await step((plan) => planPayments(plan, drafts));
  await step((plan) =>
    plan.update(entityNamed('Invoice'), early, { settleEarlyPayment: true, changeDate: daysAgo(plan, 60) }),
  );
}

const daysAgo = ({ today }: Plan, days: number) => Temporal.PlainDate.from(today).subtract({ days }).toString();

function planDrafts(plan: Plan): string[] {
  for (const [code, fields] of Object.entries(taxCodes))
    plan.create(entityNamed('TaxCode'), { ...fields, code }, { systemRef: code });
  const shared = { officeId: storyId('Office', 1), status: 'ACTIVE', entityType: 'C_CORP' } as const;
  const [nordhafen = '', beaupre = ''] = clients.map((fields, index) => {
    const taxCodeId = plan.find(entityNamed('TaxCode'), 'code', Object.keys(taxCodes)[index] ?? '')?.id ?? null;
    const managed = { ...shared, taxCodeId, managerId: storyId('Staff', 2) };
    const { id } = plan.create(entityNamed('Client'), { ...managed, ...fields }).row;
    const address = addresses[index];
    plan.create(entityNamed('ContactInfo'), { ownerType: 'CLIENT', ownerId: id, kind: 'PRIMARY', address });
    return id;
  });
  const bill = (
    clientId: string,
    days: number,
    prices: Readonly<Record<string, string>>,
    more: RowInput<'DraftInvoice'> = {},
  ) => {
    const lines = Object.entries(prices).map(([description, unitAmount]) => ({
      ...({ lineType: 'FIXED_FEE', quantity: '1', taxable: true, jobId: null, wipIds: [] } as const),
      ...{ description, unitAmount },
    }));
    const day = daysAgo(plan, days);
    const dates = { proposedInvoiceDate: day, billThroughDate: day, dueDate: daysAgo(plan, days - 30) };
    const period = { servicePeriodStart: daysAgo(plan, days + 30), servicePeriodEnd: day };
    return plan.create(entityNamed('DraftInvoice'), { clientId, ...dates, ...period, ...more, lines }).row.id;
  };
  const german = {
    pricesIncludeTax: true,
    buyerReference: '04011000-12345-34',
    earlyPayment: { percent: '2', withinDays: 14 },
  };
  return [
    bill(nordhafen, 70, { 'Steuererklärung der US-Niederlassung': '2380.00', Registerauszüge: '34.00' }, german),
    bill(nordhafen, 50, { 'Laufende Buchführung': '1190.00', 'Abstimmung der Konten': '340.00' }, german),
    bill(beaupre, 25, { 'Impôts fédéraux américains': '1850.00' }),
  ];
}

/** Plans what clients pay, and the mails to them. @returns the invoice that is paid early */
function planPayments(plan: Plan, drafts: readonly string[]): string {
  const [early, late, open] = drafts.map((id) =>
    plan.get(entityNamed('Invoice'), plan.get(entityNamed('DraftInvoice'), id)?.invoiceId ?? ''),
  );
  if (early === undefined || late === undefined || open === undefined) throw new Error('A draft has no invoice.');
  const pay = ({ id: invoiceId, clientId, currency }: typeof early, amount: string, days: number) => {
    const how = { method: 'WIRE', source: 'MANUAL', paymentDate: daysAgo(plan, days) } as const;
    plan.create(entityNamed('Payment'), { ...how, clientId, currency, amount, allocations: [{ invoiceId, amount }] });
  };
  pay(early, early.total.times('0.98').toFixed(2), 60);
  pay(open, '1000.00', 4);
  planSentMail(plan, late, { subject: `${late.invoiceNumber} von Hartwell & Oakes LLP` });
  const reminder = { kind: 'REMINDER', template: 'REMINDER', reminderDate: daysAgo(plan, 13) } as const;
  const subject = `Zahlungserinnerung: ${late.invoiceNumber} von Hartwell & Oakes LLP`;
  planSentMail(plan, late, { ...reminder, subject });
  plan.set(entityNamed('Invoice'), late.id, { remindedAfterDays: 7 });
  return early.id;
}
