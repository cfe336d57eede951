import type { ClientOptions } from './options.ts';
import type { AnyInput, Call } from './types.ts';

/** The headers of a call without its token, the same in all attempts. The caller's headers override the client's. */
export function headersOf([, , idempotent]: Call, input: AnyInput, options: ClientOptions): Record<string, unknown> {
  return {
    Tenant: options.tenant,
    // What is undefined is not sent.
    'X-Client-Id': options.clientId,
    traceparent: options.traceparent?.(),
    // One key per call, the same in all attempts.
    'Idempotency-Key': idempotent === 'key' && !input.dryRun ? crypto.randomUUID() : undefined,
    // Of bodies that are not JSON, the contract accepts lines of it.
    'Content-Type': typeof input.body === 'string' ? 'application/x-ndjson' : undefined,
    'Dry-Run': input.dryRun ? 'true' : undefined,
    Prefer: input.prefer && preferenceOf(input.prefer),
    ...input.headers,
  };
}

function preferenceOf({ example, code }: NonNullable<AnyInput['prefer']>): string {
  return [code && `code=${code}`, example && `example=${example}`].filter(Boolean).join(', ');
}
