import type { PoolClient } from 'pg';
import type { StoreLog } from './engine.ts';

/**
 * Lets the indexes on names, amounts and lists serve requests.
 *
 * Under row-level security PostgreSQL applies the policy before any operator that is not declared leakproof, because
 * such an operator could give away hidden rows in an error message; and an operator that has to come later cannot use
 * an index. `LIKE`, `lower`, `@>` and the comparisons of `numeric` are not declared so, which makes trigram indexes useless
 * and turns a search of a millisecond into a walk through all rows of the tenant. None of these functions says
 * anything about a value, and nobody sends us SQL to probe with: they may be declared leakproof in this database.
 * Only a superuser can do that; with another user everything works, and such searches are slower.
 */
const functions = [
  'textlike(text, text)',
  'textnlike(text, text)',
  'lower(text)',
  'numeric_eq(numeric, numeric)',
  'numeric_ne(numeric, numeric)',
  'numeric_lt(numeric, numeric)',
  'numeric_le(numeric, numeric)',
  'numeric_gt(numeric, numeric)',
  'numeric_ge(numeric, numeric)',
  'arraycontains(anyarray, anyarray)',
].map((signature) => `pg_catalog.${signature}`);

/** Declares them where that is allowed, and says what an administrator may run where it is not. */
export async function declareLeakproof(client: PoolClient, log: StoreLog): Promise<void> {
  const { rows } = await client.query<{ superuser: boolean; declared: boolean }>(
    `select (select rolsuper from pg_roles where rolname = current_user) as superuser,
            (select bool_and(proleakproof) from pg_proc where oid = any ($1::text[]::regprocedure[])) as declared`,
    [functions],
  );
  const { superuser = false, declared = false } = rows[0] ?? {};
  if (declared) return;
  const statements = functions.map((signature) => `ALTER FUNCTION ${signature} LEAKPROOF;`);
  if (superuser) {
    // The lock keeps processes that start together from updating the same rows of the catalogue.
    const lock = `select pg_advisory_xact_lock(hashtext('declare_leakproof'))`;
    await client.query(`begin; ${lock}; ${statements.join(' ')} commit`);
  } else {
    log.info(
      `Searches by a part of a name cannot use their index. For faster searches an administrator may run, in this database: ${statements.join(' ')}`,
    );
  }
}
