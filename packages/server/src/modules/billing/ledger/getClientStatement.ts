import type { components } from '@financial-automation/spec';
import { type RawBuilder, sql } from 'kysely';
import { contract, schemaOf } from '../../../contract/contract.ts';
import { CsvFile } from '../../../contract/csv.ts';
import { propertiesOf } from '../../../contract/fields.ts';
import type { Result } from '../../../contract/handler.ts';
import { standardPageSizeOf } from '../../../contract/parameters.ts';
import { invalid } from '../../../contract/problem.ts';
import { Rejection } from '../../../contract/rejection.ts';
import { ResponseFile } from '../../../contract/response-file.ts';
import type { Handler } from '../../../entity/context.ts';
import type { Session } from '../../../platform/store/session.ts';
import { readCursor, writeCursor } from '../../../query/cursor.ts';
import { removeBeyond, withinPageBytes } from '../../../query/page-bytes.ts';
import { fileNamePart, renderThread, storedAddress } from '../../documents/index.ts';
import { joinOffice } from '../document/invoice-document.ts';
import type { StatementDocument } from '../document/statement-pdf.ts';
import { statementTexts } from '../document/statement-texts.ts';
import { documentNumber } from './ledger-entry.ts';

type Statement = components['schemas']['ClientStatementPage'];
type Movement = Statement['data'][number];

/** What a statement is about. */
interface Period {
  readonly clientId: string;
  readonly currency: string;
  readonly from: string;
  readonly to: string;
}

const standardPageSize = standardPageSizeOf('getClientStatement');
const nameRoles = propertiesOf(schemaOf('ClientStatementPage')).clientName?.['x-read-roles'] ?? [];
/** Maximum number of movements of a file, which is written in memory. */
const maxMovements = { csv: contract['x-row-limits'].file, pdf: contract['x-row-limits'].statement };

/** Renders a statement in the worker thread. */
const renderStatement = renderThread.renderer<StatementDocument>('modules/billing/document/statement-pdf.ts');

/** Returns the movements of what a client owes, with the balances before and after them. */
export const getClientStatement: Handler<'getClientStatement'> = async (context, { path, query }) => {
  const { tenant, service, holds, operation } = context;
  const { from, format, pageSize = standardPageSize, cursor } = query;
  const result = await context.read<Result<'getClientStatement'> | StatementDocument>(
    async (session) => {
      const owner = await session.first<Owner>(sql`
      select c.client_ref as "clientRef", c.name, coalesce(c.legal_name, c.name) as "legalName", o.legal_name as "firmName", c.currency,
        c.document_language as language, ${storedAddress('a')} as "clientAddress", ${storedAddress('f')} as "firmAddress", o.country as "firmCountry",
        today()::text as today, tenant_now()::text as now
      from client c join org o on o.tenant_id = c.tenant_id and o.id = c.org_id
      left join contact_info a on a.tenant_id = c.tenant_id and a.id = coalesce(c.billing_address_id, c.client_contact_info_id)
      ${joinOffice}
      where c.tenant_id = ${tenant.id} and c.id = ${path.id}`);
      if (owner === undefined) throw new Rejection('NOT_FOUND', 'Your tenant has no client with this ID.');
      const { to = owner.today, currency = owner.currency } = query;
      if (to < from) throw invalid('/to', 'OUT_OF_RANGE', `to must not be before from, ${from}.`, 'query');
      const period = { clientId: path.id, currency, from, to };
      const balances = await balancesOf(session, tenant.id, period);
      if (format === 'csv' || format === 'pdf') {
        const max = maxMovements[format];
        const movements = await session.all(movementsOf(tenant.id, period, { ...balances, limit: max + 1 }));
        if (movements.length > max)
          throw invalid(
            '/from',
            'OUT_OF_RANGE',
            `A file of this format has at most ${max} movements. Choose a shorter period.`,
            'query',
          );
        if (format === 'csv')
          return { status: 200, body: fileOf(nameOf({ ...owner, ...period }, format), period, balances, movements) };
        const { legalName: clientName, now, ...parties } = owner;
        return { ...parties, ...period, ...balances, clientName, createdAt: new Date(now).toISOString(), movements };
      }
      const asked = { operation: operation.id, tenantId: tenant.id, where: period, orderBy: null };
      const after = cursor === undefined ? undefined : readCursor(service.vault, asked, cursor, 'query').values;
      const page = movementsOf(tenant.id, period, { ...balances, after, limit: pageSize + 1 });
      const data = await session.all(withinPage<Movement>(page));
      const hasMore = removeBeyond(data, 'id') || data.length > pageSize;
      data.length = Math.min(data.length, pageSize);
      const last = data.at(-1);
      const nextCursor =
        hasMore && last !== undefined ? writeCursor(service.vault, asked, { values: [last.id], offset: 0 }) : null;
      const clientName = holds(nameRoles) ? owner.name : null;
      return {
        status: 200,
        body: { clientRef: owner.clientRef, clientName, ...period, ...balances, data, hasMore, nextCursor },
      };
    },
    format === 'csv' || format === 'pdf',
  );
  if ('status' in result) return result;
  return {
    status: 200,
    body: new ResponseFile(nameOf(result, 'pdf'), 'application/pdf', await renderStatement(result)),
  };
};

interface Owner
  extends Pick<
    StatementDocument,
    'clientRef' | 'firmName' | 'currency' | 'language' | 'clientAddress' | 'firmAddress' | 'firmCountry'
  > {
  readonly name: string;
  readonly legalName: string;
  readonly today: string;
  readonly now: string;
}

const columns = [
  'id',
  'businessDate',
  'account',
  'kind',
  'documentNumber',
  'invoiceId',
  'paymentId',
  'dueDate',
  'reason',
  'amount',
  'balance',
];
const withinPage = withinPageBytes({ names: columns, sized: ['reason'], key: 'id' });

type Balances = Pick<Statement, 'openingBalance' | 'closingBalance' | 'ageing'>;

/** SQL of what an entry adds to the amount that the client owes. */
const owed = sql`case account when 'RECEIVABLE' then amount else -amount end`;

/** SQL of the entries of a client that are no work, up to a day. */
function entriesUntil(tenantId: number, { clientId, currency, to }: Period): RawBuilder<unknown> {
  return sql`ledger_entry where tenant_id = ${tenantId} and client_id = ${clientId} and currency = ${currency}
    and account <> 'WIP' and business_date <= ${to}`;
}

async function balancesOf(session: Session, tenantId: number, period: Period): Promise<Balances> {
  const { from, to } = period;
  const total = (condition: RawBuilder<unknown>) =>
    sql`coalesce(sum(${owed}) filter (where ${condition}), 0)::numeric(16, 2)::text`;
  const due = (condition: RawBuilder<unknown>) => total(sql`account = 'RECEIVABLE' and ${condition}`);
  const late = (least: number, most: number) =>
    due(sql`due_date between ${to}::date - ${most}::integer and ${to}::date - ${least}::integer`);
  const row = await session.first<Omit<Balances, 'ageing'> & Balances['ageing']>(sql`
    select ${total(sql`business_date < ${from}`)} as "openingBalance", ${total(sql`true`)} as "closingBalance",
      ${due(sql`due_date >= ${to}`)} as "notDue", ${late(1, 30)} as "days1To30", ${late(31, 60)} as "days31To60",
      ${late(61, 90)} as "days61To90", ${due(sql`due_date < ${to}::date - 90`)} as "daysOver90",
      coalesce(sum(amount) filter (where account = 'CREDIT'), 0)::numeric(16, 2)::text as "unappliedCredit"
    from ${entriesUntil(tenantId, period)}`);
  if (row === undefined) throw new Error('A sum has no row.');
  const { openingBalance, closingBalance, ...ageing } = row;
  return { openingBalance, closingBalance, ageing };
}

/** SQL of the movements of a period. An allocation whose halves are both of the client cancels itself. */
function movementsOf(
  tenantId: number,
  period: Period,
  {
    openingBalance,
    after,
    limit,
  }: { readonly openingBalance: string; readonly after?: readonly unknown[] | undefined; readonly limit: number },
): RawBuilder<Movement> {
  const position = sql`business_date, recorded_at, id`;
  const beyond =
    after === undefined
      ? sql`true`
      : sql`(${position}) > (select ${position} from ledger_entry where tenant_id = ${tenantId} and id = ${after[0]})`;
  return sql<Movement>`
    select m.id, m.business_date::text as "businessDate", m.account, m.kind, ${documentNumber('m')} as "documentNumber",
      m.invoice_id as "invoiceId", m.payment_id as "paymentId", m.due_date::text as "dueDate", m.reason,
      m.moved::text as amount, m.balance::numeric(16, 2)::text as balance
    from (
      select * from (
        select *, ${openingBalance}::numeric + sum(moved) over (order by ${position}) as balance from (
          select *, ${owed} as moved,
            kind in ('ALLOCATION', 'DEALLOCATION') and sum(${owed}) over (
              partition by payment_id, invoice_id, kind, business_date, recorded_at) = 0 as is_internal
          from ${entriesUntil(tenantId, period)} and business_date >= ${period.from}
        ) entry where not is_internal and moved <> 0
      ) moving where ${beyond} order by ${position} limit ${limit}
    ) m order by m.business_date, m.recorded_at, m.id`;
}

function nameOf(
  { language, clientRef, from, to }: Pick<StatementDocument, 'language' | 'clientRef' | 'from' | 'to'>,
  format: 'csv' | 'pdf',
): string {
  return `${statementTexts[language].title} ${fileNamePart(clientRef)} ${from} ${to}.${format}`;
}

function fileOf(
  name: string,
  { currency, from, to }: Period,
  { openingBalance, closingBalance }: Balances,
  movements: readonly Movement[],
): CsvFile {
  const balanceAt = (day: string, kind: string, balance: string) => [
    day,
    kind,
    null,
    null,
    null,
    null,
    balance,
    currency,
  ];
  return new CsvFile(name, [
    ['Date', 'Kind', 'Document', 'Due', 'Reason', 'Amount', 'Balance', 'Currency'],
    balanceAt(from, 'OPENING', openingBalance),
    ...movements.map(({ businessDate, kind, documentNumber, dueDate, reason, amount, balance }) => [
      businessDate,
      kind,
      documentNumber,
      dueDate,
      reason,
      amount,
      balance,
      currency,
    ]),
    balanceAt(to, 'CLOSING', closingBalance),
  ]);
}
