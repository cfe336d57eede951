import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import type { RecordItem } from './own-keys.ts';
import type { ReadItem } from './read-items.ts';

/** What an import sends for a row. */
export interface ImportedContent {
  readonly type: string;
  readonly systemRef: string;
  /** SHA-256, in hexadecimal. */
  readonly digest: string;
}

/** Returns the content of the imports of a request, by the position of their items. Rows without a `systemRef` are new each time. */
export function importedContents(items: readonly ReadItem<RecordItem>[]): ReadonlyMap<number, ImportedContent> {
  return new Map(
    items.flatMap((one, position) => {
      if (!('item' in one) || one.item.source === undefined || one.item.systemRef === undefined) return [];
      const { type, systemRef, ifVersion: _, ...content } = one.item;
      return [[position, { type, systemRef, digest: digestOf(content) }]];
    }),
  );
}

/** Returns the positions of what imports last sent for the same rows. Of a row that the request sends with several contents, it returns none. */
export async function repeatedContents(
  { transaction, tenantId }: Pick<UnitOfWork, 'transaction' | 'tenantId'>,
  contents: ReadonlyMap<number, ImportedContent>,
): Promise<ReadonlySet<number>> {
  if (contents.size === 0) return new Set();
  const rows = await transaction.all<{ position: number }>(sql`
    select sent.position from unnest(${[...contents.keys()]}::integer[], ${columnsOf(contents.values())}) sent (position, type, system_ref, digest)
    join imported_content last on last.tenant_id = ${tenantId} and last.type = sent.type
      and last.system_ref = sent.system_ref and last.digest = decode(sent.digest, 'hex')`);
  const repeated = new Set(rows.map(({ position }) => position));
  for (const sent of Map.groupBy(contents, ([, content]) => rowOf(content)).values())
    if (sent.some(([, { digest }]) => digest !== sent[0]?.[1].digest))
      for (const [position] of sent) repeated.delete(position);
  return repeated;
}

/** Stores what was sent for rows, in the order of their keys, so that calls do not wait for each other in turns. */
export async function storeContents(
  { transaction, tenantId }: Pick<UnitOfWork, 'transaction' | 'tenantId'>,
  contents: readonly ImportedContent[],
): Promise<void> {
  if (contents.length === 0) return;
  // The last of several for one row.
  const byRow = new Map(contents.map((content) => [rowOf(content), content]));
  await transaction.all(sql`
    insert into imported_content (tenant_id, type, system_ref, digest)
    select ${tenantId}, type, system_ref, decode(digest, 'hex') from unnest(${columnsOf(byRow.values())}) sent (type, system_ref, digest)
    order by type, system_ref
    on conflict (tenant_id, type, system_ref) do update set digest = excluded.digest`);
}

function rowOf({ type, systemRef }: Pick<ImportedContent, 'type' | 'systemRef'>): string {
  return JSON.stringify([type, systemRef]);
}

function columnsOf(contents: Iterable<ImportedContent>) {
  const all = [...contents];
  const columns = [all.map(({ type }) => type), all.map(({ systemRef }) => systemRef), all.map(({ digest }) => digest)];
  return sql.join(columns.map((column) => sql`${column}::text[]`));
}

/** The digest does not depend on the order of names. */
function digestOf(content: object): string {
  const json = JSON.stringify(content, (_name, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value,
  );
  return createHash('sha256').update(json).digest('hex');
}
