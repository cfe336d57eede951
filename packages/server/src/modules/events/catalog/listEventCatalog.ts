import type { Handler } from '../../../entity/context.ts';
import { wholeList } from '../../bulk/index.ts';
import { listEventTypes } from './catalog.ts';

/** What can be subscribed to, and what cannot. */
export const listEventCatalog: Handler<'listEventCatalog'> = async (context, { query }) => {
  const { tenant } = context;
  const types = await context.read((session) => listEventTypes(session, tenant.id));
  const entries = types.flatMap((type) => type.entries(tenant.settings));
  const { enabled } = query;
  return {
    status: 200,
    body: wholeList(enabled === undefined ? entries : entries.filter((entry) => entry.enabled === enabled)),
  };
};
