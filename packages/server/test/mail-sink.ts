import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { atEnd } from './at-end.ts';

export interface ReceivedMail {
  readonly recipients: readonly string[];
  readonly raw: string;
  readonly parsed: Email;
}

/** What a mail server does with what it gets. */
export interface SinkBehavior {
  /** Rejects a recipient with this code. */
  recipient?(address: string): number | undefined;
  /** Rejects a message with this code after it was received. */
  message?(received: ReceivedMail): number | undefined;
  /** The response waits for it. */
  beforeResponse?(): Promise<unknown>;
}

export interface MailSink {
  readonly url: string;
  /** Messages that were received as a whole, also those that were then rejected. */
  readonly received: ReceivedMail[];
  behavior: SinkBehavior;
}

/** Starts a mail server that keeps what it gets. */
export async function startMailSink(): Promise<MailSink> {
  const sink: { received: ReceivedMail[]; behavior: SinkBehavior } = { received: [], behavior: {} };
  const rejection = (code: number) =>
    Object.assign(new Error(code < 500 ? 'Try again later' : 'No such mailbox'), { responseCode: code });
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onRcptTo({ address }, _session, done) {
      const code = sink.behavior.recipient?.(address);
      done(code === undefined ? null : rejection(code));
    },
    onData(stream, { envelope }, done) {
      const read = async () => {
        const bytes = await buffer(stream);
        const parsed = await PostalMime.parse(bytes);
        const received = { recipients: envelope.rcptTo.map(({ address }) => address), raw: bytes.toString(), parsed };
        sink.received.push(received);
        const code = sink.behavior.message?.(received);
        await sink.behavior.beforeResponse?.();
        return code === undefined ? null : rejection(code);
      };
      // A sender that is killed closes the connection within a message.
      read().then(done, done);
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = server.server.address() as AddressInfo;
  return Object.assign(sink, { url: `smtp://127.0.0.1:${port}` });
}
