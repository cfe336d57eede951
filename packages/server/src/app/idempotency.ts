import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import pRetry from 'p-retry';
import type { Operation } from '../contract/contract.ts';
import { millisecondsOf } from '../contract/durations.ts';
import { inProgress } from '../contract/problem.ts';
import { Rejection } from '../contract/rejection.ts';
import { storedBody } from '../contract/stored-values.ts';
import { DatabaseUnavailable, OutcomeUnknown } from '../platform/store/errors.ts';
import type { Store, Transaction } from '../platform/store/store.ts';

/** A response as it is stored for replays. */
export interface StoredResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** A claimed key: the first request with it stores its response, in the same transaction as its changes. */
export interface KeyClaim {
  /** @throws Rejection `REQUEST_IN_PROGRESS` if another request has since claimed the key. */
  store(transaction: Transaction, response: StoredResponse): Promise<void>;
  /** Whether a response was stored. */
  isStored(): boolean;
  /** Releases the key after a request without effect, so that it can be used again. */
  release(): Promise<void>;
}

/** How long a key has its response, in seconds. */
const lifetime = millisecondsOf('idempotencyKey') / 1000;
/** Time that a request that died blocks its key, in seconds. */
const abandonedAfterSeconds = 60;
/** How often a key is released again while the database is unavailable: for about that time. */
const releaseTries = 30;

/**
 * Claims an `Idempotency-Key`, or returns the response to the first request with it. A key is bound to its API user.
 *
 * @throws Rejection `IDEMPOTENCY_KEY_REUSED` if the first request was for another operation or had another input,
 * `REQUEST_IN_PROGRESS` while it runs.
 */
export async function claimKey(
  store: Store,
  owner: { readonly tenant: { readonly id: number }; readonly caller: { readonly apiUserId: string } },
  operation: Operation,
  key: string,
  input: { readonly path: unknown; readonly query: unknown; readonly body: unknown },
): Promise<KeyClaim | StoredResponse> {
  const { tenant, caller } = owner;
  const hash = createHash('sha256')
    .update(JSON.stringify([operation.id, input.path, input.query, input.body ?? null]))
    .digest('hex');
  const ofRequest = sql`tenant_id = ${tenant.id} and api_user_id = ${caller.apiUserId} and key = ${key}`;

  let claimedAt: string | undefined;
  const claim = async (transaction: Transaction): Promise<KeyClaim | StoredResponse> => {
    claimedAt = undefined;
    await transaction.all(sql`
      delete from idempotency_key where ${ofRequest} and (expires_at < now()
        or (status = 'RUNNING' and created_at < now() - make_interval(secs => ${abandonedAfterSeconds})))`);
    const claimed = await transaction.first<{ at: string }>(sql`
      insert into idempotency_key (tenant_id, api_user_id, operation, key, request_hash, status, expires_at)
      values (${tenant.id}, ${caller.apiUserId}, ${operation.id}, ${key}, ${hash}, 'RUNNING', now() + make_interval(secs => ${lifetime}))
      on conflict do nothing returning created_at as at`);
    if (claimed !== undefined) {
      claimedAt = claimed.at;
      return claimOf(claimed.at);
    }

    const first = await transaction.first<{ hash: string; status: string } & { response: StoredResponse }>(sql`
      select request_hash as hash, status, json_build_object(
        'status', response_status, 'headers', response_headers, 'body', response_body) as response
      from idempotency_key where ${ofRequest}`);
    if (first !== undefined && first.hash !== hash) {
      throw new Rejection(
        'IDEMPOTENCY_KEY_REUSED',
        'This Idempotency-Key was used for another request. Use a new one.',
      );
    }
    if (first === undefined || first.status === 'RUNNING') {
      throw inProgress('The first request with this Idempotency-Key is still running. Try again shortly.');
    }
    const { response } = first;
    return { ...response, body: storedBody(operation, response.status, response.body) };
  };

  try {
    return await store.write(tenant.id, claim);
  } catch (error) {
    if (!(error instanceof OutcomeUnknown)) throw error;
    // Nothing but the claim may have been written, and it must not block whoever repeats the request.
    if (claimedAt !== undefined)
      void claimOf(claimedAt)
        .release()
        .catch(() => undefined);
    throw new DatabaseUnavailable(error.message);
  }

  /** The claim made at this instant only: a request that was presumed dead may still be running. */
  function claimOf(at: string): KeyClaim {
    const own = sql`${ofRequest} and status = 'RUNNING' and created_at = ${at}`;
    let isStored = false;
    return {
      isStored: () => isStored,
      async store(transaction, response) {
        const updated = await transaction.first(sql`
          update idempotency_key set status = 'DONE', response_status = ${response.status},
            response_headers = ${JSON.stringify(response.headers)}, response_body = ${JSON.stringify(response.body)}
          where ${own} returning key`);
        if (updated === undefined) {
          throw inProgress(
            'The request took too long, and another request with the same Idempotency-Key has replaced it. Nothing was written.',
          );
        }
        isStored = true;
      },
      async release() {
        // A transaction whose connection broke may still be open, or committed: its lock and its state decide.
        await pRetry(
          () => store.write(tenant.id, (transaction) => transaction.all(sql`delete from idempotency_key where ${own}`)),
          {
            retries: releaseTries,
            minTimeout: 100,
            maxTimeout: 2_000,
            unref: true,
            shouldRetry: ({ error }) => error instanceof DatabaseUnavailable,
          },
        );
      },
    };
  }
}

/** Number of rows that are deleted in one transaction. */
const purgeBatch = 1_000;

/** Deletes the expired keys of all open tenants of a database, and returns their number. Copies of tenants that move are closed. */
export async function purgeExpiredKeys(store: Store): Promise<number> {
  const tenants = await store.system((transaction) =>
    transaction.all<{ id: number }>(sql`select id from tenant where active`),
  );
  let purged = 0;
  for (const { id } of tenants) {
    for (let deleted = purgeBatch; deleted === purgeBatch; ) {
      const rows = await store.write(id, (transaction) =>
        transaction.all(sql`
          delete from idempotency_key where tenant_id = ${id} and (api_user_id, key) in (
            select api_user_id, key from idempotency_key where tenant_id = ${id} and expires_at < now()
            limit ${purgeBatch} for update skip locked)
          returning key`),
      );
      deleted = rows.length;
      purged += deleted;
    }
  }
  return purged;
}

export function isReplay(result: KeyClaim | StoredResponse): result is StoredResponse {
  return 'status' in result;
}
