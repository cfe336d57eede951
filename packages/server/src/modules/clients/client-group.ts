import { embedCount } from '../../entity/embed.ts';
import { defineEntity } from '../../entity/entity.ts';

/** A family or a group of companies. Clients join it with their own `clientGroupId`. */
export const clientGroup = defineEntity('ClientGroup', {
  table: 'client_group',
  embeds: { memberCount: embedCount('Client', 'clientGroupId', { onChange: 'version', activeOnly: true }) },
});
