import { Webhook } from 'standardwebhooks';
import { invalid } from '../../../http/problem.ts';
import { compactMember } from './json-text.ts';

const prefix = 'whsec_';

/** A message to sign or to check. */
interface TestMessage {
  /** The body of the request, which has the payload as its member `payload`. */
  readonly bytes: Uint8Array;
  readonly secret: string;
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
}

/**
 * Signs a message as events are signed.
 *
 * @throws Rejection `VALIDATION_ERROR` where the secret is not base64.
 */
export function signTestMessage({ bytes, secret, id, timestamp }: TestMessage) {
  const payload = compactMember(Buffer.from(bytes).toString(), 'payload');
  const body: string = payload.startsWith('"') ? JSON.parse(payload) : payload;
  return {
    signature: webhookOf(secret).sign(id, new Date(timestamp * 1000), body),
    signedContent: `${id}.${timestamp}.${body}`,
  };
}

function webhookOf(secret: string): Webhook {
  const encoded = secret.slice(prefix.length);
  // Decoders disagree about text that is not quite base64, and so would the signatures.
  if (Buffer.from(encoded, 'base64').toString('base64') !== encoded)
    throw invalid('/secret', 'FORMAT', 'The part of the secret after whsec_ is not base64.');
  return new Webhook(secret);
}
