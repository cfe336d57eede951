import { timingSafeEqual } from 'node:crypto';
import type { Handler } from '../../../entity/context.ts';
import { signTestMessage } from './test-message.ts';

const wellFormed = /^v1,[A-Za-z0-9+/]{43}=$/;

/** Checks signatures with the caller's secret; one valid signature is enough. Nothing is stored or logged. */
export const validateTestSignature: Handler<'validateTestSignature'> = async (_context, { body, bytes }) => {
  const expected = Buffer.from(signTestMessage({ ...body, bytes }).signature);
  const signatures = body.signature.split(' ').filter((part) => wellFormed.test(part));
  const valid = signatures.some((signature) => timingSafeEqual(Buffer.from(signature), expected));
  if (valid) return { status: 200, body: { valid, reason: null } };
  const reason = signatures.length === 0 ? ('MALFORMED_SIGNATURE' as const) : ('SIGNATURE_MISMATCH' as const);
  return { status: 200, body: { valid, reason } };
};
