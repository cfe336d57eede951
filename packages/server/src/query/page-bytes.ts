import { type RawBuilder, sql } from 'kysely';
import { contract } from '../contract/contract.ts';
import { compiler } from '../platform/store/session.ts';

/** The columns of the rows of a page. */
interface PageColumns {
  readonly names: readonly string[];
  /** Those whose size has no small bound. */
  readonly sized: readonly string[];
  /** One that is never null. */
  readonly key: string;
}

/** Limits the rows of an ordered statement, of which `used` bytes are already read. */
type Limit = <Row>(statement: RawBuilder<unknown>, used?: number) => RawBuilder<Row>;

/**
 * Limits rows to those that fit into a page: the last one reaches `x-page-bytes`. If there are more, one more is returned, with
 * null as its key. The database stops there: a count over the rows so far can end a scan, and a sum cannot.
 */
export function withinPageBytes({ names, sized, key }: PageColumns): Limit {
  // About the size of the names, and of values such as IDs, amounts and instants.
  const rest = names.reduce((sum, name) => sum + name.length + 16, 0);
  const sizes = sized.map((name) => sql`coalesce(octet_length(${sql.ref(`row.${name}`)}::text), 0)`);
  const size = rawOf(sql.join([sql.lit(rest), ...sizes], sql` + `));
  const shown = rawOf(
    sql.join(
      names.map((name) =>
        name === key ? sql`case when "#beyond" = 0 then ${sql.id(name)} end as ${sql.id(name)}` : sql.id(name),
      ),
    ),
  );
  return <Row>(statement: RawBuilder<unknown>, used = 0) => sql<Row>`
    select ${shown} from (
      select sized.*, count(case when "#before" >= ${sql.lit(contract['x-page-bytes'])} then 1 end) over (rows unbounded preceding) as "#beyond" from (
        select row.*, ${used}::integer + coalesce(sum(${size}) over (rows between unbounded preceding and 1 preceding), 0) as "#before"
        from (${statement}) row
      ) sized
    ) counted where "#beyond" <= 1`;
}

/** Cached as text, as compiling it for each query would cost more than the rest. */
function rawOf(part: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql.raw(Buffer.from(part.compile(compiler).sql).toString());
}

/** The same for `JsonRow`s. */
export const withinPage = withinPageBytes({ names: ['json'], sized: ['json'], key: 'json' });

/**
 * Removes the row beyond those that fit.
 *
 * @returns whether there was one.
 */
export function removeBeyond<Row extends object>(rows: Row[], key: keyof Row): boolean {
  const isCut = rows.at(-1)?.[key] === null;
  if (isCut) rows.pop();
  return isCut;
}
