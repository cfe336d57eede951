import { RowError } from '../../errors.ts';
import type { Form } from '../form.ts';
import { given, keyFrom, type PlanContext, recordPlan, systemRefOf } from '../plan.ts';
import type { Row } from '../row.ts';

const statuses = ['PROSPECT', 'ACTIVE', 'INACTIVE', 'ARCHIVED'] as const;
const address = ['line1', 'line2', 'city', 'state', 'postalCode', 'country'] as const;

export const clients = recordPlan({
  fields: [
    'key',
    'name',
    'legalName',
    'number',
    'status',
    'email',
    'phone',
    'website',
    'taxNumber',
    'currency',
    'terms',
    ...address,
  ],
  required: ['name'],
  references: {},
  plan([row], context) {
    const key = keyFrom(row, 'key', 'number', 'name');
    const project = projectOf(context, key);
    if (project !== undefined) return { record: jobOf(context, key, project) };
    const systemRef = systemRefOf(context.form, 'client', key);
    const website = row.text('website');
    const attributes = given({
      orgId: context.options.orgId,
      name: row.required('name', 200),
      legalName: row.text('legalName', 200),
      clientRef: row.text('number', 64),
      status: row.choice('status', statuses),
      email: row.text('email')?.toLowerCase(),
      phone: row.phone('phone'),
      website: website === undefined || website.includes('://') ? website : `https://${website}`,
      ...taxNumberOf(row),
      currency: row.text('currency')?.toUpperCase(),
      paymentTermsDays: termsOf(row),
    });
    const place = addressOf(row);
    const contactInfo = (ownerId: string) =>
      ({
        type: 'ContactInfo',
        systemRef: systemRefOf(context.form, 'address', key),
        attributes: { ownerType: 'CLIENT', ownerId, kind: 'PRIMARY', address: place },
      }) as const;
    return {
      record: { type: 'Client', systemRef, source: 'IMPORT', attributes },
      after: Object.keys(place).length === 0 ? undefined : contactInfo,
    };
  },
});

/** A customer of QuickBooks such as `Cedar Ferry:Return 2024` is a project of `Cedar Ferry`. */
export function projectOf({ form }: PlanContext, key: string): string | undefined {
  const [client = '', ...rest] = form.projectSeparator === undefined ? [] : key.split(form.projectSeparator);
  if (rest.length === 0) return undefined;
  const name = rest.at(-1)?.trim();
  if (!name || client.trim() === '') throw new RowError(`“${key}” does not name a client and its project.`);
  return name;
}

/** The client of a customer that can be a project. */
export function clientOf({ projectSeparator }: Form, key: string): string {
  return projectSeparator === undefined ? key : (key.split(projectSeparator)[0] ?? key).trim();
}

export function jobOf(context: PlanContext, key: string, name: string) {
  const systemRef = systemRefOf(context.form, 'job', key);
  const clientId = { systemRef: systemRefOf(context.form, 'client', clientOf(context.form, key)) };
  const attributes = { name, clientId, billingType: 'TIME_AND_MATERIALS', status: 'IN_PROGRESS' } as const;
  return { type: 'Job', systemRef, source: 'IMPORT', attributes } as const;
}

function termsOf(row: Row<'terms'>): number | undefined {
  const text = row.text('terms');
  if (text === undefined) return undefined;
  if (/receipt|immediate/i.test(text)) return 0;
  const [days] = /\d{1,3}/.exec(text) ?? [];
  if (days === undefined) throw new RowError(`${row.nameOf('terms')} “${text}” does not say a number of days.`);
  return Number(days);
}

/** A number that starts with a country is a VAT ID, which documents show. */
function taxNumberOf(row: Row<'taxNumber'>): { vatId?: string; taxId?: string } {
  const number = row.text('taxNumber', 40)?.replace(/[\s.]/g, '');
  if (number === undefined) return {};
  return /^[A-Z]{2}/.test(number) ? { vatId: number } : { taxId: number };
}

function addressOf(row: Row<(typeof address)[number]>) {
  return given({
    line1: row.text('line1', 200),
    line2: row.text('line2', 200),
    city: row.text('city', 100),
    state: row.text('state', 100),
    postalCode: row.text('postalCode', 20),
    country: row.country('country'),
  });
}
