import { hostname } from 'node:os';
import { sql } from 'kysely';
import type { Store } from '../store/store.ts';

/** A request of an API user to an operation, with its problem if it was rejected. Queries and bodies are not kept. */
export interface RecentRequest {
  readonly id: string;
  /** RFC 3339 */
  readonly receivedAt: string;
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly milliseconds: number;
  /** Name of the API user. */
  readonly user: string;
  /** The process that responded. */
  readonly process: string;
  readonly problem: RecentProblem | null;
}

export interface RecentProblem {
  readonly code: string;
  readonly detail: string;
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[];
}

/** The machine and the number of this process, in lines of the log, too. */
export const processName = `${hostname()}/${process.pid}`;

/** How often requests are written, in milliseconds. */
const writeEvery = 5_000;
/** How many are written at once, so that a day of them has a bound: of those that failed, and a random sample of the others. */
const most = { failed: 40, others: 20 };
const maxErrors = 5;
const maxTextLength = 300;

interface Kept extends RecentRequest {
  readonly tenant: string;
}

/** A request with the body of its response. */
type DescribedRequest = Omit<RecentRequest, 'status' | 'problem' | 'process'> & { readonly body: unknown };

/** Requests of the same kind since the last write. */
class Sample {
  readonly #most: number;
  #kept: Kept[] = [];
  #seen = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(create: () => Kept): void {
    this.#seen += 1;
    const index = this.#kept.length < this.#most ? this.#kept.length : Math.floor(Math.random() * this.#seen);
    if (index < this.#most) this.#kept[index] = create();
  }

  takeAll(): readonly Kept[] {
    const kept = this.#kept;
    this.#kept = [];
    this.#seen = 0;
    return kept;
  }
}

/** Which of a tenant's requests to return, the newest first. */
interface Choice {
  readonly id?: string | undefined;
  readonly onlyFailed?: boolean;
  readonly offset?: number;
  readonly limit: number;
}

const columns = sql`id, to_char(received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "receivedAt",
  operation, method, path, status, milliseconds::float, user_name as "user", process, problem`;

/** The requests of the last day. They are written some seconds after they were served, all at once. */
export class RecentRequests {
  readonly #store: Store;
  readonly #failed = new Sample(most.failed);
  readonly #others = new Sample(most.others);

  constructor(store: Store) {
    this.#store = store;
  }

  /** @param describe is called only for those that are kept */
  record(tenant: string, status: number, describe: () => DescribedRequest): void {
    const hasFailed = status >= 400;
    (hasFailed ? this.#failed : this.#others).add(() => {
      const { body, path, ...request } = describe();
      const problem = hasFailed ? problemIn(body) : null;
      return { ...request, path: cut(path), status, tenant, process: processName, problem };
    });
  }

  /** Writes requests while the process serves. @returns a function that writes the rest and ends that */
  keepWriting(failed: (error: unknown) => void): () => Promise<void> {
    const write = () => this.write().catch(failed);
    const writing = setInterval(write, writeEvery);
    return () => {
      clearInterval(writing);
      return write();
    };
  }

  async write(): Promise<void> {
    const rows = JSON.stringify([...this.#failed.takeAll(), ...this.#others.takeAll()]);
    if (rows === '[]') return;
    // Each database takes those of its tenants.
    for (const { store } of this.#store.cells)
      await store?.ownerStatements(
        `insert into recent_request (tenant_id, id, received_at, operation, method, path, status, milliseconds, user_name, process, problem)
         select tenant.id, r.id, "receivedAt", operation, method, path, status, milliseconds, "user", process, nullif(problem, 'null')
         from jsonb_to_recordset($1::jsonb) r (tenant text, id uuid, "receivedAt" timestamptz, operation text, method text, path text,
           status integer, milliseconds numeric, "user" text, process text, problem jsonb)
         join tenant on tenant.name = r.tenant and tenant.active
         where not exists (select from tenant_move move where move.tenant = tenant.id and move.phase <> 'REMOVED')
         on conflict do nothing`,
        [rows],
      );
  }

  /** The requests of a tenant, also those that this process has not written yet. */
  async of(tenantId: number, { id, onlyFailed = false, offset = 0, limit }: Choice): Promise<readonly RecentRequest[]> {
    await this.write();
    const withId = id === undefined ? sql`true` : sql`id::text = ${id}`;
    const withStatus = onlyFailed ? sql`status >= 400` : sql`true`;
    return this.#store.read(tenantId, (session) =>
      session.all(sql<RecentRequest>`
        select ${columns} from recent_request
        where tenant_id = ${tenantId} and received_at > now() - interval '1 day' and ${withId} and ${withStatus}
        order by id desc limit ${limit} offset ${offset}`),
    );
  }
}

/** Deletes requests that are older than a day. */
export async function purgeRecentRequests(store: Store): Promise<void> {
  await store.ownerStatements(`delete from recent_request where received_at < now() - interval '1 day'`);
}

/** The request with an ID, of any tenant of a database. */
export async function findRequest(
  store: Store,
  id: string,
): Promise<(RecentRequest & { readonly tenant: string }) | undefined> {
  return store.owner.first(sql<RecentRequest & { tenant: string }>`
    select tenant, ${columns} from (
      select r.*, t.name as tenant from recent_request r join tenant t on t.id = r.tenant_id where r.id::text = ${id}) r`);
}

function problemIn(body: unknown): RecentProblem | null {
  if (typeof body !== 'object' || body === null || !('code' in body)) return null;
  const errors = 'errors' in body && Array.isArray(body.errors) ? body.errors.slice(0, maxErrors) : [];
  return {
    code: String(body.code),
    detail: 'detail' in body ? cut(body.detail) : '',
    errors: errors.map((error: { pointer?: unknown; detail?: unknown }) => ({
      pointer: cut(error.pointer),
      detail: cut(error.detail),
    })),
  };
}

/** Texts of callers, without the character that the database cannot store. */
function cut(text: unknown): string {
  return String(text ?? '')
    .slice(0, maxTextLength)
    .replaceAll('\0', '')
    .toWellFormed();
}
