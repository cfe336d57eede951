import { entityNamed, type Plan, type RowInput, type Service, type Tenant } from '@financial-automation/server/service';
import { dayFrom, pay, planSentMail, postDrafts, stepsOf } from './billing.ts';
import { storyId } from './story-id.ts';

/** A boatyard that gets electronic invoices, and one in Quebec, where two authorities tax services. The taxes have the standard rates. */
const clients: readonly { fields: RowInput<'Client'>; address: object; tax: RowInput<'TaxCode'> }[] = [
  {
    fields: {
      name: 'Nordhafen Bootsbau GmbH',
      clientRef: 'C-01044',
      vatId: 'DE123456788',
      electronicAddress: { scheme: '9930', id: 'DE123456788' },
      currency: 'EUR',
      documentLanguage: 'de',
      email: 'rechnung@nordhafen.example.com',
    },
    address: { line1: 'Am Nordkai 12', city: 'Hamburg', postalCode: '20457', country: 'DE' },
    tax: { code: 'DE-19', name: 'Umsatzsteuer', taxes: [{ name: 'USt.', ratePercent: '19', category: 'S' }] },
  },
  {
    fields: {
      name: 'Chantier naval Beaupré inc.',
      clientRef: 'C-01045',
      currency: 'CAD',
      documentLanguage: 'fr',
      email: 'comptes@beaupre.example.com',
    },
    address: { line1: '480, rue du Quai', city: 'Québec', state: 'QC', postalCode: 'G1K 3X2', country: 'CA' },
    tax: {
      code: 'CA-QC',
      name: 'TPS et TVQ',
      taxes: [
        { name: 'TPS', ratePercent: '5', category: 'S' },
        { name: 'TVQ', ratePercent: '9.975', category: 'S' },
      ],
    },
  },
];

/**
 * Creates two clients abroad with their taxes and invoices: one is paid early, with the discount for it, one is overdue and the client was
 * reminded of it, and one is in part paid.
 */
export async function seedAbroad(service: Service, tenant: Tenant): Promise<void> {
  const step = stepsOf(service, tenant);
  const { early, late, open } = await postDrafts(step, await step(planDrafts));
  await step((plan) => {
    pay(plan, 60, early.total.times('0.98').toFixed(2), { method: 'WIRE' }, early);
    pay(plan, 4, '1000.00', { method: 'WIRE' }, open);
    planSentMail(plan, late, { subject: `${late.invoiceNumber} von Hartwell & Oakes LLP` });
    const reminder = { kind: 'REMINDER', template: 'REMINDER', reminderDate: dayFrom(plan, -13) } as const;
    const subject = `Zahlungserinnerung: ${late.invoiceNumber} von Hartwell & Oakes LLP`;
    planSentMail(plan, late, { ...reminder, subject });
    plan.set(entityNamed('Invoice'), late.id, { remindedAfterDays: 7 });
  });
  await step((plan) =>
    plan.update(entityNamed('Invoice'), early.id, { settleEarlyPayment: true, changeDate: dayFrom(plan, -60) }),
  );
}

function planDrafts(plan: Plan) {
  const managed = { officeId: storyId('Office', 1), managerId: storyId('Staff', 2) };
  const shared = { ...managed, status: 'ACTIVE', entityType: 'C_CORP' } as const;
  const [nordhafen = '', beaupre = ''] = clients.map(({ fields, address, tax }) => {
    const { id: taxCodeId } = plan.create(entityNamed('TaxCode'), tax, { systemRef: tax.code ?? '' }).row;
    const { id } = plan.create(entityNamed('Client'), { ...shared, taxCodeId, ...fields }).row;
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
    const day = dayFrom(plan, -days);
    const dates = { proposedInvoiceDate: day, billThroughDate: day, dueDate: dayFrom(plan, 30 - days) };
    const period = { servicePeriodStart: dayFrom(plan, -days - 30), servicePeriodEnd: day };
    return plan.create(entityNamed('DraftInvoice'), { clientId, ...dates, ...period, ...more, lines }).row.id;
  };
  const german = {
    pricesIncludeTax: true,
    buyerReference: '04011000-12345-34',
    earlyPayment: { percent: '2', withinDays: 14 },
  };
  return {
    early: bill(nordhafen, 70, { 'Steuererklärung der US-Niederlassung': '2380.00', Registerauszüge: '34.00' }, german),
    late: bill(nordhafen, 50, { 'Laufende Buchführung': '1190.00', 'Abstimmung der Konten': '340.00' }, german),
    open: bill(beaupre, 25, { 'Impôts fédéraux américains': '1850.00' }),
  };
}
