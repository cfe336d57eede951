import type { ClientOptions } from './options.ts';
import type { AnyInput, Call } from './types.ts';

/** The headers of a call but for its token, the same in all its tries. The caller's own go before the client's. */
export function headersOf([, , idempotent]: Call, input: AnyInput, options: ClientOptions): Record<string, unknown> {
  const traceparent = options.traceparent?.();
  return {
    Tenant: options.tenant,
    ...(options.clientId !== undefined && { 'X-Client-Id': options.clientId }),
    ...(traceparent !== undefined && { traceparent }),
    // One key for the call, so the same in all its tries.
    ...(idempotent === 'key' && { 'Idempotency-Key': crypto.randomUUID() }),
    ...(input.prefer !== undefined && { Prefer: preferenceOf(input.prefer) }),
    ...input.headers,
  };
}

function preferenceOf({ example, code }: NonNullable<AnyInput['prefer']>): string {
  return [code !== undefined && `code=${code}`, example !== undefined && `example=${example}`]
    .filter(Boolean)
    .join(', ');
}
