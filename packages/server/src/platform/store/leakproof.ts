import type { PoolClient } from 'pg';
import type { StoreLog } from './limits.ts';

/**
 * Functions that must be leakproof for requests to use the indexes on names, amounts and lists.
 *
 * Under row-level security, PostgreSQL applies the policy before any operator that is not declared leakproof, because
 * such an operator could disclose hidden rows in an error message; and an operator that is applied later cannot use an
 * index. `LIKE`, `lower`, the parts of `search_text`, `@>` and the comparisons of `numeric` are not leakproof, which makes trigram indexes useless
 * and turns a search of a millisecond into a scan of all rows of the tenant. None of these functions discloses a value,
 * and callers cannot send SQL, so they can be declared leakproof in this database. This requires a superuser; with other
 * users everything works, but such searches are slower.
 */
const functions = [
  'textlike(text, text)',
  'textnlike(text, text)',
  'lower(text)',
  'upper(text)',
  'replace(text, text, text)',
  'translate(text, text, text)',
  '"normalize"(text, text)',
  'regexp_replace(text, text, text, text)',
  'numeric_eq(numeric, numeric)',
  'numeric_ne(numeric, numeric)',
  'numeric_lt(numeric, numeric)',
  'numeric_le(numeric, numeric)',
  'numeric_gt(numeric, numeric)',
  'numeric_ge(numeric, numeric)',
  'arraycontains(anyarray, anyarray)',
  'jsonb_contains(jsonb, jsonb)',
].map((signature) => `pg_catalog.${signature}`);

/** Declares the functions leakproof if the user is allowed to, and otherwise logs the statements for an administrator. */
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
    // The lock prevents processes that start together from updating the same rows of the catalogue.
    const lock = `select pg_advisory_xact_lock(hashtext('declare_leakproof'))`;
    await client.query(`begin; ${lock}; ${statements.join(' ')} commit`);
  } else {
    log.info(
      `Searches by a part of a name cannot use their index. For faster searches an administrator may run, in this database: ${statements.join(' ')}`,
    );
  }
}
