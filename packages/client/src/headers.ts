import type { ClientOptions } from './options.ts';
import type { AnyInput, Call } from './types.ts';

/** The headers of a call without its token, the same in all attempts. The caller's headers override the client's. */
export function headersOf([, , idempotent]: Call, input: AnyInput, options: ClientOptions): Record<string, unknown> {
  const traceparent = options.traceparent?.();
  return {
    Tenant: options.tenant,
    ...(options.clientId !== undefined && { 'X-Client-Id': options.clientId }),
    ...(traceparent !== undefined && { traceparent }),
    // One key per call, the same in all attempts.
    ...(idempotent === 'key' && !input.dryRun && { 'Idempotency-Key': crypto.randomUUID() }),
    ...(input.dryRun && { 'Dry-Run': 'true' }),
    ...(input.prefer !== undefined && { Prefer: preferenceOf(input.prefer) }),
    ...input.headers,
  };
}

function preferenceOf({ example, code }: NonNullable<AnyInput['prefer']>): string {
  return [code !== undefined && `code=${code}`, example !== undefined && `example=${example}`]
    .filter(Boolean)
    .join(', ');
}
