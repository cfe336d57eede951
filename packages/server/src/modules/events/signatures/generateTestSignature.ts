import type { Handler } from '../../../entity/context.ts';
import { databaseClock } from '../../../platform/database-clock.ts';
import { newId } from '../../../platform/store/new-id.ts';
import { signTestMessage } from './test-message.ts';

/** Signs a payload with the caller's secret. Nothing is stored or logged. */
export const generateTestSignature: Handler<'generateTestSignature'> = async (_context, { body, bytes }) => {
  const { secret, id = newId(), timestamp = Math.floor(databaseClock.now() / 1000) } = body;
  const { signature, signedContent } = signTestMessage({ bytes, secret, id, timestamp });
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature };
  return { status: 200, body: { headers, signature, signedContent } };
};
