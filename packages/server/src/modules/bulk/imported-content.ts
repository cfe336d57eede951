import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import type { RecordItem } from './own-keys.ts';
import type { ReadItem } from './read-items.ts';
import type { RecordType } from './record-type.ts';

/** What the vault encrypts digests of secrets for: without its key, nobody can compare them with the digests of guesses. */
export const importedContentPurpose = 'imported-content';

/** What an import sends for a row. */
export interface ImportedContent {
  readonly type: string;
  readonly systemRef: string;
  /** SHA-256, in hexadecimal. */
  readonly digest: string;
  /** Whether it has values that no response has, such as tax IDs. */
  readonly isSecret: boolean;
}

/** Returns the content of the imports of a request, by the position of their items. Rows without a `systemRef` are new each time. */
export function importedContents(
  items: readonly ReadItem<RecordItem>[],
  types: ReadonlyMap<string, RecordType>,
): ReadonlyMap<number, ImportedContent> {
  return new Map(
    items.flatMap((one, position) => {
      if (!('item' in one) || one.item.source === undefined || one.item.systemRef === undefined) return [];
      const { type, systemRef, ifVersion: _, ...content } = one.item;
      const fields = types.get(type)?.entity.fields;
      const isSecret = Object.keys(content.attributes ?? {}).some((name) => fields?.get(name)?.writeOnly === true);
      return [[position, { type, systemRef, digest: digestOf(content), isSecret }]];
    }),
  );
}

type Work = Pick<UnitOfWork, 'transaction' | 'tenantId' | 'origin'>;

/** Returns the positions of what imports last sent for the same rows. Of a row that the request sends with several contents, it returns none. */
export async function repeatedContents(
  { transaction, tenantId, origin: { vault } }: Work,
  contents: ReadonlyMap<number, ImportedContent>,
): Promise<ReadonlySet<number>> {
  if (contents.size === 0) return new Set();
  const rows = await transaction.all<{ position: number; digest: string | null; encrypted: Buffer | null }>(sql`
    select sent.position, encode(last.digest, 'hex') as digest, last.digest_encrypted as encrypted
    from unnest(${[...contents.keys()]}::integer[], ${keysOf(contents.values())}) sent (position, type, system_ref)
    join imported_content last on last.tenant_id = ${tenantId} and last.type = sent.type and last.system_ref = sent.system_ref`);
  // A digest beside an encrypted one is later: the version before writes it.
  const digestIn = ({ digest, encrypted }: (typeof rows)[number]) =>
    digest ?? (encrypted && vault.decrypt(importedContentPurpose, encrypted));
  const repeated = new Set(
    rows.filter((row) => digestIn(row) === contents.get(row.position)?.digest).map(({ position }) => position),
  );
  for (const sent of Map.groupBy(contents, ([, content]) => rowOf(content)).values())
    if (sent.some(([, { digest }]) => digest !== sent[0]?.[1].digest))
      for (const [position] of sent) repeated.delete(position);
  return repeated;
}

/** Stores what was sent for rows, in the order of their keys, so that calls do not wait for each other in turns. */
export async function storeContents(
  { transaction, tenantId, origin: { vault } }: Work,
  contents: readonly ImportedContent[],
): Promise<void> {
  if (contents.length === 0) return;
  // The last of several for one row.
  const byRow = new Map(contents.map((content) => [rowOf(content), content]));
  const all = [...byRow.values()];
  const digests = all.map(({ digest, isSecret }) => (isSecret ? null : digest));
  const encrypted = all.map(({ digest, isSecret }) =>
    isSecret ? vault.encrypt(importedContentPurpose, digest).toString('hex') : null,
  );
  await transaction.all(sql`
    insert into imported_content (tenant_id, type, system_ref, digest, digest_encrypted)
    select ${tenantId}, type, system_ref, decode(digest, 'hex'), decode(encrypted, 'hex')
    from unnest(${keysOf(all)}, ${digests}::text[], ${encrypted}::text[]) sent (type, system_ref, digest, encrypted)
    order by type, system_ref
    on conflict (tenant_id, type, system_ref)
      do update set digest = excluded.digest, digest_encrypted = excluded.digest_encrypted`);
}

function rowOf({ type, systemRef }: Pick<ImportedContent, 'type' | 'systemRef'>): string {
  return JSON.stringify([type, systemRef]);
}

function keysOf(contents: Iterable<ImportedContent>) {
  const all = [...contents];
  return sql`${all.map(({ type }) => type)}::text[], ${all.map(({ systemRef }) => systemRef)}::text[]`;
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
