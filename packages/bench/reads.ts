/**
 * Measures every list, search and by-ID read on the demo data of a large firm, beside SQL that reads the bare rows of the same page,
 * and the first page of work in progress beside one that is 850,000 rows deep.
 */

import { entityNamed } from '@financial-automation/server/entity/registry';
import type { Session } from '@financial-automation/server/platform/store/session';
import { writeCursor } from '@financial-automation/server/query/cursor';
import { orderClause, orderKeys } from '@financial-automation/server/query/order';
import { conditionOf } from '@financial-automation/server/query/where';
import { sql } from 'kysely';
import { readOptions } from '../../scripts/options.ts';
import { inTurns, quantile } from './figures.ts';
import { type FirmRead, page, readsOf } from './firm-reads.ts';
import { openMidFirm } from './mid-firm.ts';

const { values } = readOptions({
  options: {
    reads: { type: 'boolean' },
    database: { type: 'string' },
    profile: { type: 'string', default: 'mid' },
    rounds: { type: 'string', default: '30' },
    depth: { type: 'string', default: '850000' },
  },
});
const rounds = Number(values.rounds);
const firm = await openMidFirm(values.database, values.profile);
const { store, scope } = firm;
const { tenantId, vault } = scope;

try {
  const reads = await store.read(tenantId, (session) => readsOf(session, scope));
  const deep = await deepPage(Number(values.depth));
  const figures: Record<string, unknown> = {};
  for (const read of [...deep, ...reads]) {
    const [service = [], bare = []] = await inTurns(
      rounds,
      1,
      () => store.read(tenantId, read.run),
      () => store.read(tenantId, (session) => bareRows(session, read)),
    );
    figures[read.name] = {
      'p50, ms': quantile(service, 0.5).toFixed(1),
      'p99, ms': quantile(service, 0.99).toFixed(1),
      'bare rows, p50': quantile(bare, 0.5).toFixed(1),
      'bare rows, p99': quantile(bare, 0.99).toFixed(1),
    };
  }
  console.table(figures);
} finally {
  await firm.close();
}

/** The first page of work in progress, and one that a cursor continues far behind it. */
async function deepPage(depth: number): Promise<FirmRead[]> {
  const entity = entityNamed('WipEntry');
  const position = await store.read(tenantId, (session) =>
    session.first<{ id: string }>(sql`
      select id from wip_entry where tenant_id = ${tenantId} order by id limit 1 offset ${depth}`),
  );
  const first = 'WipEntry: first page';
  const name = `WipEntry: page behind ${depth} rows`;
  if (position === undefined) return [];
  const query = { operation: name, tenantId, where: {}, orderBy: [] };
  const cursor = writeCursor(vault, query, { values: [position.id], offset: depth });
  return [page('list', first, entity, scope, {}), page('deep page', name, entity, scope, { cursor })];
}

/** Reads the rows of a page without values of other rows, as hand-written SQL does. */
function bareRows(session: Session, { entity, request, id }: FirmRead): Promise<unknown> {
  const condition = id === undefined ? conditionOf(entity, 'e', tenantId, request.where ?? {}) : sql`e.id = ${id}`;
  const order = orderClause(entity, 'e', orderKeys(entity, request.orderBy ?? []));
  return session.all(sql`
    select e.* from ${sql.table(entity.table)} e where e.tenant_id = ${tenantId} and ${condition} order by ${order} limit 51`);
}
