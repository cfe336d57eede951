import { type CustomFieldInput, completeField } from '@financial-automation/server/modules/records';
import { sql } from 'kysely';
import { dateText, instantAt, instantText, type Span } from './calendar.ts';
import type { Firm } from './firm.ts';
import type { ClientSeed } from './parties.ts';
import type { Profile } from './profile.ts';
import { Random } from './random.ts';
import { rowId } from './row-id.ts';
import type { EntityRow, Loader } from './table-loader.ts';

const campaigns = ['Year-end planning', 'New business owners', 'Tax season kickoff', 'Estate planning evening'];
const stages = ['LEAD', 'QUALIFIED', 'PROPOSAL', 'WON', 'LOST'] as const;

/** Custom types. The firm of the contract's examples has types of its own instead of the first two. */
const types: readonly (readonly [name: string, fields: readonly CustomFieldInput[]])[] = [
  [
    'Opportunity',
    [
      { name: 'stage', type: 'ENUM', required: true, enumValues: [...stages] },
      { name: 'value', type: 'DECIMAL', minimum: '0', scale: 2 },
      { name: 'client', type: 'REFERENCE', required: true, referencedEntityType: 'Client' },
    ],
  ],
  [
    'Referral',
    [
      { name: 'client', type: 'REFERENCE', required: true, referencedEntityType: 'Client' },
      { name: 'source', type: 'STRING' },
    ],
  ],
  [
    'Campaign',
    [
      { name: 'title', type: 'STRING', required: true },
      { name: 'startsOn', type: 'DATE' },
    ],
  ],
  [
    'Asset',
    [
      { name: 'client', type: 'REFERENCE', required: true, referencedEntityType: 'Client' },
      { name: 'cost', type: 'DECIMAL', scale: 4 },
      { name: 'acquiredOn', type: 'DATE' },
    ],
  ],
  [
    'SurveyResponse',
    [
      { name: 'score', type: 'INTEGER', minimum: '0', maximum: '10' },
      { name: 'comment', type: 'TEXT' },
    ],
  ],
];

/**
 * Loads custom types with their records, and subscriptions. No receiver listens at their addresses, so they are inactive, but
 * for one of payments from when those required no filter.
 */
export async function loadIntegrations(
  loader: Loader,
  { entries }: Profile,
  { span }: Firm,
  clients: readonly ClientSeed[],
  apiUserId: string,
): Promise<void> {
  const foundedAt = foundedAtOf(span);
  const own = types.map((_type, index) => rowId(90, index, foundedAt + index));
  const existing = await loader.all<{ name: string }>(
    sql`select name from custom_record_type where tenant_id = ${loader.tenantId} and id <> all (${own})`,
  );
  const created = existing.length === 0 ? types : types.slice(2);
  await loader.entities(
    'custom_record_type',
    created.map(([name, fields], index): EntityRow => {
      const stored = fields.map((field, rank) => ({ ...completeField({ ...field, rank }) }));
      return {
        id: rowId(90, index, foundedAt + index),
        createdAt: foundedAt + index,
        name,
        display_name: name,
        fields: stored,
      };
    }),
  );
  await loader.entities(
    'custom_record',
    recordRows(
      Math.ceil(entries / 20),
      created.map(([name]) => name),
      clients,
      span,
    ),
  );
  await loader.entities('event_subscription', subscriptionRows(span, apiUserId));
  // Each was active once, and has the corresponding rows.
  await loader.run(sql`
    update event_subscription set active = false, deactivated_at = ${instantText(instantAt(span.today - 30, 18))}
    where tenant_id = ${loader.tenantId} and delivery_url like 'https://hooks.example.com/%'
      and (entity_type <> 'Payment' or filter_expression is not null)`);
}

function foundedAtOf({ firstDay }: Span): number {
  return instantAt(firstDay - 10, 17);
}

function* recordRows(
  count: number,
  names: readonly string[],
  clients: readonly ClientSeed[],
  { firstDay, today }: Span,
): Generator<EntityRow> {
  const random = new Random(10);
  for (let number = 0; number < count; number++) {
    const type = names[number % names.length] ?? '';
    const day = firstDay + Math.floor((number * (today - firstDay)) / count);
    const client = clients[random.below(clients.length)]?.id ?? '';
    const createdAt = instantAt(day, 15) + (number % 100_000);
    const cents = random.between(10_000, 5_000_000);
    const attributes = {
      Opportunity: { stage: random.pick(stages), value: (cents / 100).toFixed(2), client },
      Referral: { client, source: 'A client' },
      Campaign: { title: `${campaigns[number % campaigns.length]} ${number}`, startsOn: dateText(day) },
      Asset: {
        client,
        cost: (cents / 10_000).toFixed(4),
        acquiredOn: number % 40 === 3 ? '2020-02-29' : dateText(day),
      },
      SurveyResponse: { score: random.below(11), comment: number % 30 === 4 ? 'תודה רבה' : 'Thank you' },
    }[type];
    if (attributes === undefined) throw new Error(`The type ${type} is unknown.`);
    yield { id: rowId(91, number, createdAt), createdAt, type, attributes };
  }
}

/**
 * One for each of the types that integrations subscribe to, and an old one for payments, from when those required no
 * filter.
 */
function* subscriptionRows(span: Span, apiUserId: string): Generator<EntityRow> {
  const followed = [
    'Client',
    'Contact',
    'Job',
    'Task',
    'Staff',
    'TimeEntry',
    'Invoice',
    'Engagement',
    'File',
    'DraftInvoice',
  ];
  const rows = [
    ...followed.map((type) => [type, null] as const),
    ...(['allPayments', 'paymentLinkOnly', 'ownPaymentLinksOnly', null] as const).map(
      (filter) => ['Payment', filter] as const,
    ),
  ];
  for (const [index, [type, filter]] of rows.entries()) {
    const createdAt = foundedAtOf(span) + 1_000 + index;
    yield {
      id: rowId(92, index, createdAt),
      createdAt,
      delivery_url: `https://hooks.example.com/${type.toLowerCase()}/${index}`,
      entity_type: type,
      operations: ['CREATE', 'UPDATE'],
      filter_expression: filter,
      description: `${type} of the firm`,
      created_by_api_user_id: apiUserId,
    };
  }
}
