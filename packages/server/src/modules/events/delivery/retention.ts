import { sql } from 'kysely';

/** How long events and the attempts to deliver them are kept, in days. The README and the contract state it. */
export const keptDays = 30;

/** The time of the tenant since which they are kept. Older rows can still exist for a while. */
export const keptSince = sql`tenant_now() - interval '1 day' * ${sql.lit(keptDays)}`;
