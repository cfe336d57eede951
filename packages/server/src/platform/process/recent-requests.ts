import { LRUCache } from 'lru-cache';

/** A request of an API user to an operation, with its problem if it was rejected. Queries and bodies are not kept. */
export interface RecentRequest {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly milliseconds: number;
  /** Name of the API user. */
  readonly user: string;
  readonly problem: RecentProblem | undefined;
}

export interface RecentProblem {
  readonly code: string;
  readonly detail: string;
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[];
}

const requestsOfTenant = 200;
/** Tenants without recent requests make room for others. */
const maxTenants = 500;
const maxErrors = 5;
const maxTextLength = 300;

/**
 * The latest requests of each tenant, in memory: a write for each request would cost more than most requests. Each process has its
 * own, which end with it.
 */
export class RecentRequests {
  readonly #tenants = new LRUCache<string, RecentRequest[]>({ max: maxTenants });

  record(tenant: string, request: Omit<RecentRequest, 'problem'>, body: unknown): void {
    let requests = this.#tenants.get(tenant);
    if (requests === undefined) {
      requests = [];
      this.#tenants.set(tenant, requests);
    }
    const problem = request.status >= 400 ? problemIn(body) : undefined;
    requests.push({ ...request, path: request.path.slice(0, maxTextLength), problem });
    // All at once, because removing the first one moves all others.
    if (requests.length >= requestsOfTenant * 2) requests.splice(0, requestsOfTenant);
  }

  /** The newest first. */
  of(tenant: string): readonly RecentRequest[] {
    return (this.#tenants.get(tenant) ?? []).slice(-requestsOfTenant).toReversed();
  }
}

function problemIn(body: unknown): RecentProblem | undefined {
  if (typeof body !== 'object' || body === null || !('code' in body)) return undefined;
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

function cut(text: unknown): string {
  return String(text ?? '')
    .slice(0, maxTextLength)
    .toWellFormed();
}
