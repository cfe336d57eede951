import { sql } from 'kysely';
import { defineEntity, type Entity } from '../../entity/entity.ts';

/** A family or a group of companies. Clients join it by their own `clientGroupId`. */
export const clientGroup: Entity = defineEntity({
  type: 'ClientGroup',
  table: 'client_group',
  computed: {
    memberCount: (row) => sql`(select count(*)::integer from client member
      where member.tenant_id = ${sql.ref(`${row}.tenant_id`)} and member.client_group_id = ${sql.ref(`${row}.id`)} and member.active)`,
  },
});
