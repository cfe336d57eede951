import { Webhook } from 'standardwebhooks';
import { compactMember } from './json-text.ts';

/** A message to sign or to check. */
interface TestMessage {
  /** The body of the request, which has the payload as its member `payload`. */
  readonly bytes: Uint8Array;
  readonly secret: string;
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
}

/** Signs a message as events are signed. The contract admits secrets in base64 only. */
export function signTestMessage({ bytes, secret, id, timestamp }: TestMessage) {
  const payload = compactMember(Buffer.from(bytes).toString(), 'payload');
  const body: string = payload.startsWith('"') ? JSON.parse(payload) : payload;
  return {
    signature: new Webhook(secret).sign(id, new Date(timestamp * 1000), body),
    signedContent: `${id}.${timestamp}.${body}`,
  };
}
