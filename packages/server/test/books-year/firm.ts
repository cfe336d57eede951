import type { Random } from '@financial-automation/demo-data/profiles/random';
import type { Cents } from '../books/cents.ts';
import { money } from '../books/cents.ts';
import type { FirmCalls } from './firm-calls.ts';

/** The size of a year of a firm. */
export interface YearSize {
  readonly staff: number;
  readonly clients: number;
  readonly jobs: number;
  /** Time entries of twelve months. */
  readonly entries: number;
  /** How many months of the year. */
  readonly months: number;
}

/** Work of one kind of a job that is not billed yet. */
export interface OpenWork {
  readonly rows: Map<string, Cents>;
  /** Standard value that is left, also of partially billed rows. */
  left: Cents;
  /** Whether a row is partially billed: what is left of each one is then not known. */
  isPart: boolean;
}

export interface Job {
  readonly id: string;
  readonly client: Client;
  /** The fee of a month, for a fixed fee. */
  readonly monthlyFee: Cents | undefined;
  readonly time: OpenWork;
  readonly expenses: OpenWork;
}

export interface Client {
  readonly id: string;
  readonly isTaxed: boolean;
  readonly jobs: Job[];
  readonly invoices: Invoice[];
  readonly payments: Payment[];
}

/** What an invoice took from the work of a job. */
export interface Relief {
  readonly work: OpenWork;
  readonly rows: ReadonlyMap<string, Cents>;
  readonly billed: Cents;
  readonly adjusted: Cents;
  /** Whether an earlier invoice had billed a part. */
  readonly wasPart: boolean;
}

export interface Invoice {
  readonly ref: string;
  readonly id: string;
  readonly month: number;
  readonly total: Cents;
  readonly relieved: readonly Relief[];
  covered: Cents;
  writtenOff: Cents;
  /** Of its credit notes, wherever their credit is applied. */
  credited: Cents;
  isVoided: boolean;
}

export interface Payment {
  readonly ref: string;
  readonly id: string;
  readonly method: string;
  readonly amount: Cents;
  readonly note: { readonly ref: string; readonly invoice: Invoice } | undefined;
  readonly allocations: Map<Invoice, Cents>;
  refunded: Cents;
  status: 'PENDING' | 'COMPLETED' | 'GONE';
}

export interface Person {
  readonly id: string;
  readonly rate: Cents;
}

export interface Firm {
  readonly year: number;
  readonly size: YearSize;
  readonly orgRef: string;
  readonly people: readonly Person[];
  readonly clients: readonly Client[];
  readonly jobs: readonly Job[];
}

/** What is still owed on an invoice. */
export const dueOn = (invoice: Invoice): Cents =>
  invoice.isVoided ? 0n : invoice.total - invoice.covered - invoice.writtenOff;

/** What is not applied of a payment. */
export function unappliedOf(payment: Payment): Cents {
  let rest = payment.amount - payment.refunded;
  for (const part of payment.allocations.values()) rest -= part;
  return rest;
}

/** Creates the people, clients and jobs of a firm. Every tenth job has a fixed fee, which is billed each month. */
export async function createFirm(calls: FirmCalls, random: Random, year: number, size: YearSize): Promise<Firm> {
  const { data: orgs } = await calls.call<{ data: { id: string; systemRef: string }[] }>('POST', '/gql/v1/orgs', {});
  const [org] = orgs;
  if (org === undefined) throw new Error('The tenant has no org.');
  const code = { code: 'TRAVEL', name: 'Travel', isBillable: true };
  await calls.codes([{ type: 'ExpenseCode', systemRef: 'travel', attributes: code }]);
  const rank = { name: 'Senior', code: 'SR', rank: 2, isBillable: true };
  const [staffType] = await calls.create([{ type: 'StaffType', systemRef: 'senior', attributes: rank }]);
  const people: Person[] = [];
  for (let number = 0; number < size.staff; number++) {
    const rate = BigInt(random.between(9_000, 42_000));
    const { id } = await calls.call<{ id: string }>('POST', '/api/v1/staff', {
      staffRef: `S-${number}`,
      firstName: 'Ada',
      lastName: 'Okoye',
      email: `ada.${number}@firm.example`,
      staffTypeId: staffType?.id,
      hireDate: `${year - 1}-01-01`,
      isBillable: true,
      rateCardAssignment: {
        billingRate: money(rate),
        averageRate: '80.00',
        currency: 'USD',
        effectiveFromDate: `${year - 1}-01-01`,
      },
    });
    people.push({ id, rate });
  }
  const numbers = Array.from({ length: size.clients }, (_, number) => number);
  const taxed = numbers.map(() => random.chance(0.2));
  const clientItems = numbers.map((number) => ({
    type: 'Client',
    systemRef: `client-${number}`,
    attributes: { name: `Client ${number}`, status: 'ACTIVE', orgId: org.id },
  }));
  const clients = (await calls.create(clientItems)).map(
    ({ id }, number): Client => ({ id, isTaxed: taxed[number] === true, jobs: [], invoices: [], payments: [] }),
  );
  const [first] = clients;
  if (first === undefined) throw new Error('A firm has clients.');
  const seeds = Array.from({ length: size.jobs }, (_, number) => ({
    client: clients[number] ?? random.pick([first, ...clients.slice(1)]),
    monthlyFee: number % 10 === 9 ? BigInt(random.between(200, 4_000) * 100) : undefined,
  }));
  const jobItems = seeds.map(({ client, monthlyFee }, number) => ({
    type: 'Job',
    systemRef: `job-${number}`,
    attributes: {
      name: `Job ${number}`,
      clientId: client.id,
      status: 'PLANNED',
      ...(monthlyFee === undefined
        ? { billingType: 'TIME_AND_MATERIALS' }
        : { billingType: 'FIXED_FEE', feeAmount: money(12n * monthlyFee) }),
    },
  }));
  const jobs = (await calls.create(jobItems)).map(({ id }, number): Job => {
    const seed = seeds[number] ?? { client: first, monthlyFee: undefined };
    const work = (): OpenWork => ({ rows: new Map(), left: 0n, isPart: false });
    return { id, ...seed, time: work(), expenses: work() };
  });
  for (const job of jobs) job.client.jobs.push(job);
  return { year, size, orgRef: org.systemRef, people, clients, jobs };
}
