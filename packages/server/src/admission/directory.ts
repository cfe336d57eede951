import { type RawBuilder, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { unauthenticated } from '../contract/problem.ts';
import { Rejection } from '../contract/rejection.ts';
import type { Caller, Tenant } from '../platform/auth/caller.ts';
import { databaseClock } from '../platform/database-clock.ts';
import { Cells } from '../platform/store/databases/index.ts';
import type { Store } from '../platform/store/store.ts';
import { readTenantSettings } from './tenant-settings.ts';
import type { AccessClaims } from './tokens.ts';

/** Changes by the operator, such as revoking a key or closing a tenant, take effect within this time, in milliseconds. */
const freshness = 5_000;

/** Precision of the last use of a key, in milliseconds: a write for each use would cost more than the use. */
const usePrecision = 15 * 60_000;

interface KeyState {
  readonly apiUserId: string;
  readonly apiUserName: string;
  readonly roles: readonly string[];
  readonly staffId: string | null;
  readonly usable: boolean;
  readonly lastUsedAt: string | null;
}

interface PlacedTenant extends Omit<Tenant, 'id' | 'settings'> {
  readonly cell: number;
  /** Null if it is in another database. */
  readonly id: number | null;
  /** Whether it is open. */
  readonly active: boolean;
  /** Whether it has moved to another database. */
  readonly hasLeft: boolean;
  readonly settings: unknown;
}

/** Where a tenant is, and the tenant itself if it is in the database with the directory. */
function placedTenant(name: string): RawBuilder<PlacedTenant> {
  return sql<PlacedTenant>`
    select present.cell, id, present.name, currency, time_zone as "timeZone", settings, is_sandbox as "isSandbox", active,
      exists (select from tenant_move move where move.tenant = id and move.phase = 'LEFT') as "hasLeft"
    from tenant_place place join tenant_place present on present.name = coalesce(place.renamed_to, place.name)
    left join tenant on tenant.name = present.name
    where place.name = ${name}`;
}

/** Tenants and API users with their keys, read from the database and cached for some seconds. */
export class Directory {
  readonly #store: Store;
  readonly #tenants: LRUCache<string, Tenant>;
  readonly #keys: LRUCache<string, KeyState>;

  /** @param clock a monotonic clock in milliseconds. */
  constructor(store: Store, clock: { now(): number } = performance) {
    this.#store = store;
    const options = { max: 10_000, ttl: freshness, ttlResolution: 0, perf: clock };
    this.#tenants = new LRUCache(options);
    this.#keys = new LRUCache(options);
  }

  /** Returns the tenant with the name, or undefined if it does not exist or is closed. */
  async tenant(name: string): Promise<Tenant | undefined> {
    return this.#tenants.get(name) ?? this.#readTenant(name);
  }

  /** Reads a tenant again when it is next used in this process. */
  forget(name: string): void {
    this.#tenants.delete(name);
  }

  async #readTenant(name: string): Promise<Tenant | undefined> {
    const placed = await this.#find(name);
    if (placed?.row?.id == null || !placed.row.active) return undefined;
    const { cell: _cell, active: _active, hasLeft: _hasLeft, ...columns } = placed.row;
    const tenant = { ...columns, id: placed.row.id, settings: readTenantSettings(placed.row.settings) };
    this.#tenants.set(name, tenant);
    return tenant;
  }

  async #find(
    name: string,
    left?: number,
  ): Promise<{ readonly cell: number; readonly row: PlacedTenant | undefined } | undefined> {
    const placement = await this.#store.owner.first(placedTenant(name));
    if (placement === undefined) return undefined;
    const { cell } = placement;
    // In another database, it is number 0 of its own directory.
    const row = cell === 0 ? placement : await this.#store.cell(cell).owner.first(placedTenant(name));
    // Afterwards, the directory says where it is.
    const hasLeft = row?.hasLeft === true && cell !== left;
    if (hasLeft && row.id !== null && this.#store instanceof Cells && (await this.#store.follow(row.id, cell)))
      return this.#find(name, cell);
    return { cell, row };
  }

  /** Returns the database that has the tenant, open or closed; undefined if there is no such tenant. */
  async storeOf(name: string): Promise<Store | undefined> {
    const placement = await this.#find(name);
    return placement === undefined ? undefined : this.#store.cell(placement.cell);
  }

  /** Returns the current state of an API key, or undefined if the tenant has no such key. */
  async key(tenantId: number, id: string): Promise<KeyState | undefined> {
    return this.#keys.get(keyPlace(tenantId, id)) ?? this.#readKey(tenantId, id);
  }

  async #readKey(tenantId: number, id: string): Promise<KeyState | undefined> {
    const state = await this.#store.read(tenantId, (session) =>
      session.first<KeyState>(sql`
        select u.id as "apiUserId", u.name as "apiUserName", u.roles, u.staff_id as "staffId",
          u.active and k.revoked_at is null and k.expires_at > now() as usable, k.last_used_at as "lastUsedAt"
        from api_key k join api_user u on u.tenant_id = k.tenant_id and u.id = k.api_user_id
        where k.tenant_id = ${tenantId} and k.id = ${id}`),
    );
    if (state !== undefined) this.#keys.set(keyPlace(tenantId, id), state);
    return state;
  }

  /** Records the use of a key. This is informational: if it fails, the request continues. */
  async markUsed(tenantId: number, id: string, { lastUsedAt }: Pick<KeyState, 'lastUsedAt'>): Promise<void> {
    if (lastUsedAt !== null && databaseClock.now() - Date.parse(lastUsedAt) < usePrecision) return;
    await this.#store.write(tenantId, (transaction) =>
      transaction.all(sql`update api_key set last_used_at = now() where tenant_id = ${tenantId} and id = ${id}`),
    );
    this.#keys.delete(keyPlace(tenantId, id));
  }

  /**
   * Returns the tenant and the caller of an access token.
   *
   * @param tenantName the `Tenant` header, which must name the tenant of the token.
   * @throws Rejection `TENANT_MISMATCH` or, if the key of the token is revoked, `UNAUTHENTICATED`.
   */
  async callerOf(claims: AccessClaims, tenantName: string | undefined): Promise<{ tenant: Tenant; caller: Caller }> {
    // An unknown tenant and a tenant of another token get the same message, so that names cannot be guessed.
    const isOther = tenantName !== undefined && tenantName !== claims.tenant;
    // Nearly every request finds both in the cache, and needs no promise for them.
    const tenant = this.#tenants.get(claims.tenant) ?? (await this.#readTenant(claims.tenant));
    // A token has the name that the tenant had when its key was created, and callers may send another name of the tenant.
    if (isOther && (tenant === undefined || (await this.tenant(tenantName))?.id !== tenant.id)) throw tenantMismatch();
    if (tenant === undefined)
      throw new Rejection('TENANT_MISMATCH', 'The tenant of this token is closed. Its operator can open it.');
    const key =
      this.#keys.get(keyPlace(tenant.id, claims.client_id)) ?? (await this.#readKey(tenant.id, claims.client_id));
    if (key === undefined || !key.usable)
      throw unauthenticated('The API key of this token has been revoked or has expired.');
    const caller = {
      apiUserId: claims.sub,
      apiUserName: key.apiUserName,
      roles: new Set(claims.roles),
      staffId: claims.staffId,
    };
    return { tenant, caller };
  }
}

function keyPlace(tenantId: number, id: string): string {
  return `${tenantId}/${id}`;
}

export function tenantMismatch(): Rejection {
  return new Rejection('TENANT_MISMATCH', 'The token belongs to another tenant than the one in the Tenant header.');
}
