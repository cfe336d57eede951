import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Operation } from '../contract/contract.ts';
import { millisecondsOf } from '../contract/durations.ts';
import { inProgress } from '../contract/problem.ts';
import { Rejection } from '../contract/rejection.ts';
import { storedBody } from '../contract/stored-values.ts';
import type { Context } from '../entity/context.ts';
import type { Service } from '../entity/service.ts';
import type { Vault } from '../platform/auth/vault.ts';
import type { Store, Transaction } from '../platform/store/store.ts';

/** A response as it is stored for replays. */
export interface StoredResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** How long a key has its response, in seconds. */
const lifetime = millisecondsOf('idempotencyKey') / 1000;

/** What the vault signs the digests of requests for: without its key, nobody can try out what a request had, such as tax IDs. */
const purpose = 'idempotent-request';

/**
 * A request with an `Idempotency-Key`, which is bound to its API user. The key is locked by the transaction of the changes, and stored with
 * the response in it: whatever ends the transaction, also the death of the process, releases the key.
 */
export class KeyedRequest {
  readonly #store: Store;
  readonly #vault: Vault;
  readonly #tenantId: number;
  readonly #apiUserId: string;
  readonly #holds: Context['holds'];
  readonly #operation: Operation;
  readonly #key: string;
  readonly #digest: string;

  constructor(
    { store, vault }: Pick<Service, 'store' | 'vault'>,
    owner: {
      readonly tenant: { readonly id: number };
      readonly caller: { readonly apiUserId: string };
      readonly holds: Context['holds'];
    },
    operation: Operation,
    key: string,
    input: { readonly path: unknown; readonly query: unknown; readonly body: unknown },
  ) {
    this.#store = store;
    this.#vault = vault;
    this.#tenantId = owner.tenant.id;
    this.#apiUserId = owner.caller.apiUserId;
    this.#holds = owner.holds;
    this.#operation = operation;
    this.#key = key;
    this.#digest = createHash('sha256')
      .update(JSON.stringify([operation.id, input.path, input.query, input.body ?? null]))
      .digest('hex');
  }

  get #isOwn() {
    return sql`tenant_id = ${this.#tenantId} and api_user_id = ${this.#apiUserId} and key = ${this.#key}`;
  }

  /**
   * Returns the response to the first request with the key, if it has one, with the values that the caller may see by now.
   *
   * @throws Rejection `IDEMPOTENCY_KEY_REUSED` if the first request was for another operation or had another input
   */
  async firstResponse(): Promise<StoredResponse | undefined> {
    const first = await this.#store.read(this.#tenantId, (session) =>
      session.first<{ hash: string; response: StoredResponse }>(sql`
        select request_hash as hash, json_build_object(
          'status', response_status, 'headers', response_headers, 'body', response_body) as response
        from idempotency_key where ${this.#isOwn} and status = 'DONE' and expires_at > now()`),
    );
    if (first === undefined) return undefined;
    // The version before stored digests as they are.
    if (first.hash !== this.#digest && !this.#vault.verify(purpose, this.#digest, first.hash)) {
      throw new Rejection(
        'IDEMPOTENCY_KEY_REUSED',
        'This Idempotency-Key was used for another request. Use a new one.',
      );
    }
    const { response } = first;
    return { ...response, body: storedBody(this.#operation, response.status, response.body, this.#holds) };
  }

  /**
   * Does the work of a transaction, and stores the response that it returns.
   *
   * @throws Rejection `REQUEST_IN_PROGRESS` while another transaction has the key, or if it has a response by now
   */
  async once<Result>(transaction: Transaction, work: () => Promise<Result>): Promise<Result> {
    // The version before kept keys of requests in progress as rows; a request of it that finds its row replaced writes nothing.
    const lock = await transaction.first<{ isFree: boolean }>(sql`
      with lock as materialized (
        select pg_try_advisory_xact_lock(
          hashtextextended(${`idempotency_key ${this.#tenantId} ${this.#apiUserId} ${this.#key}`}, 0)) as "isFree"
      ), former as (
        delete from idempotency_key using lock
        where "isFree" and ${this.#isOwn} and (status = 'RUNNING' or expires_at <= now())
      )
      select "isFree" from lock`);
    if (lock?.isFree !== true) throw this.#inProgress();
    const result = await work();
    const { status, headers = {}, body } = result as Partial<StoredResponse>;
    if (status === undefined)
      throw new Error(`${this.#operation.id} accepts an Idempotency-Key: its write must return its result.`);
    const stored = await transaction.first(sql`
      insert into idempotency_key (
        tenant_id, api_user_id, operation, key, request_hash, status, response_status, response_headers, response_body, expires_at)
      values (${this.#tenantId}, ${this.#apiUserId}, ${this.#operation.id}, ${this.#key}, ${this.#vault.sign(purpose, this.#digest)}, 'DONE', ${status},
        ${JSON.stringify(headers)}, ${JSON.stringify(body)}, now() + make_interval(secs => ${lifetime}))
      on conflict do nothing returning key`);
    if (stored === undefined) throw this.#inProgress();
    return result;
  }

  #inProgress(): Rejection {
    return inProgress('The first request with this Idempotency-Key is still running. Try again shortly.');
  }
}

/** Number of rows that are deleted in one transaction. */
const purgeBatch = 1_000;

/** Deletes the expired keys of all open tenants of a database, and returns their number. Copies of tenants that move are closed. */
export async function purgeExpiredKeys(store: Store): Promise<number> {
  const tenants = await store.owner.all<{ id: number }>(sql`select id from tenant where active`);
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
