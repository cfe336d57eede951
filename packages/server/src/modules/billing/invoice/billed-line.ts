import { sql } from 'kysely';
import { defineEntity } from '../../../entity/entity.ts';

/** A tax of a line of an invoice or a credit note, with the line, as a row of its own. It never changes; what its document adds can. */
export const billedLine = defineEntity('BilledLine', {
  table: 'billed_line',
  computed: {
    systemRef: (row) => sql`${sql.ref(`${row}.id`)}::text`,
    sysRefs: () => sql`'[]'::jsonb`,
    metadata: () => sql`'{}'::jsonb`,
    active: () => sql`true`,
  },
  sortedBy: { systemRef: 'id', active: null },
  writable: false,
  audited: false,
});
