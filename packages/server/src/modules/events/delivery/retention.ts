import { sql } from 'kysely';
import { millisecondsOf } from '../../../contract/durations.ts';

/** How long events and the attempts to deliver them are kept, in days. */
export const keptDays = millisecondsOf('event') / 86_400_000;

/** The time of the tenant since which they are kept. Older rows can still exist for a while. */
export const keptSince = sql`tenant_now() - interval '1 day' * ${sql.lit(keptDays)}`;
