import { type RawBuilder, sql } from 'kysely';
import { defineEntity } from '../../entity/entity.ts';

/** Engagements that are created in the background. The results of the entries are in a separate table. */
export const engagementBatch = defineEntity('EngagementBatch', {
  table: 'engagement_batch',
  sumsUp: ['engagement_batch_item'],
  computed: {
    batchId: (row) => sql.ref(`${row}.id`),
    succeeded: (row) => ofItems(row, sql`count(i.engagement_id)::integer`),
    failed: (row) => ofItems(row, sql`count(i.failure)::integer`),
    engagementIds: (row) =>
      ofItems(
        row,
        sql`coalesce(json_agg(i.engagement_id order by i.index) filter (where i.engagement_id is not null), '[]')`,
      ),
    errors: (row) =>
      ofItems(row, sql`coalesce(json_agg(i.failure order by i.index) filter (where i.failure is not null), '[]')`),
  },
  snapshots: true,
  // An event is sent at the end; the progress can be read from the status.
  rules: { isAnnounced: ({ finishedAt }) => finishedAt !== null },
});

function ofItems(row: string, value: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select ${value} from engagement_batch_item i
    where i.tenant_id = ${sql.ref(`${row}.tenant_id`)} and i.engagement_batch_id = ${sql.ref(`${row}.id`)})`;
}
