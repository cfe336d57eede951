import { Readable } from 'node:stream';
import MailComposer from 'nodemailer/lib/mail-composer';
import { parseConnectionUrl } from 'nodemailer/lib/shared';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { Tenant } from '../auth/caller.ts';

export interface MailSettings {
  /** URL of the mail server, which contains its password; undefined if tenants that are no sandboxes send no mails. */
  readonly url: string | undefined;
  /** The same for sandboxes. */
  readonly sandboxUrl: string | undefined;
  /** Address of the sender. */
  readonly from: string;
  /** URL of the service, for links in mails. */
  readonly publicUrl: string;
}

export interface MailMessage {
  /** The same in each attempt: it identifies the mail at all servers on its way. */
  readonly id: string;
  readonly senderName: string;
  readonly replyTo: string | null;
  /** Where a recipient stops mails like this one; null if nobody can. */
  readonly unsubscribeUrl: string | null;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  /** Those of them who have not got it yet. */
  readonly recipients: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly attachments: readonly { readonly fileName: string; readonly mimeType: string; readonly content: Buffer }[];
}

/** Result of an attempt. */
export interface MailDelivery {
  /**
   * - `accepted`: by the mail server, for all but the rejected and the deferred recipients
   * - `deferred`: not delivered, and a later attempt can succeed
   * - `rejected`: not delivered, and no later attempt can succeed
   * - `unknown`: it was handed over, and no response came
   */
  readonly outcome: 'accepted' | 'deferred' | 'rejected' | 'unknown';
  readonly accepted: readonly string[];
  /** Recipients whom the mail server has rejected for good. */
  readonly bounced: readonly string[];
  /** What the mail server or the connection said; null if all recipients were accepted. */
  readonly failure: string | null;
}

/** Inactivity after which a mail server is given up, in milliseconds. */
const timeouts = { dnsTimeout: 10_000, connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 60_000 };

/** The mail servers of the process. */
export class MailServers {
  readonly #settings: MailSettings | undefined;
  readonly #timeouts: typeof timeouts;

  /** @param limits shorter timeouts */
  constructor(settings: MailSettings | undefined, limits: Partial<typeof timeouts> = {}) {
    this.#settings = settings;
    this.#timeouts = { ...timeouts, ...limits };
  }

  /** Returns the one for a tenant: mails of sandboxes never get to the server of the others. */
  of({ isSandbox }: Pick<Tenant, 'isSandbox'>): MailServer | undefined {
    if (this.#settings === undefined) return undefined;
    const { url, sandboxUrl } = this.#settings;
    const chosen = isSandbox ? sandboxUrl : url;
    return chosen === undefined ? undefined : new MailServer(chosen, this.#settings, this.#timeouts);
  }
}

export class MailServer {
  readonly #url: string;
  readonly #from: string;
  readonly #timeouts: typeof timeouts;
  readonly publicUrl: string;

  constructor(url: string, { from, publicUrl }: MailSettings, limits: typeof timeouts) {
    this.#url = url;
    this.#from = from;
    this.publicUrl = publicUrl;
    this.#timeouts = limits;
  }

  /**
   * Hands over a mail once. It never throws because of the server.
   *
   * @param signal ends the connection.
   */
  async deliver(message: MailMessage, signal: AbortSignal): Promise<MailDelivery> {
    const bytes = await this.#compose(message);
    const { auth, ...target } = parseConnectionUrl(this.#url);
    // Somebody on the way can hide that the server offers TLS. `?requireTLS=false` in the URL is for a network that nobody else is in.
    const connection = new SMTPConnection({ requireTLS: auth !== undefined, ...target, ...this.#timeouts });
    const close = () => connection.close();
    signal.addEventListener('abort', close);
    // The connection reads the message once the server has accepted the envelope: from then on it can arrive.
    let isHandedOver = false;
    const content = Readable.from(
      (function* () {
        isHandedOver = true;
        yield bytes;
      })(),
    );
    try {
      await new Promise<void>((resolve, reject) => {
        connection.once('error', reject);
        connection.connect((error) => (error ? reject(error) : resolve()));
      });
      if (auth !== undefined)
        await new Promise<void>((resolve, reject) =>
          connection.login(auth, (error) => (error ? reject(error) : resolve())),
        );
      const envelope = { from: this.#from, to: [...message.recipients], size: bytes.length };
      const info = await new Promise<Sent>((resolve, reject) => {
        connection.once('error', reject);
        connection.send(envelope, content, (error, result) => (error ? reject(error) : resolve(result ?? noneSent)));
      });
      connection.quit();
      const replies = (info.rejectedErrors ?? []).map(replyOf);
      return {
        outcome: 'accepted',
        accepted: info.accepted.map(String),
        bounced: bouncedOf(replies),
        failure: replies[0]?.response ?? null,
      };
    } catch (error) {
      return failed(error, isHandedOver);
    } finally {
      signal.removeEventListener('abort', close);
      connection.on('error', () => undefined);
      if (isHandedOver) setTimeout(close, 1_000).unref();
      else close();
    }
  }

  #compose(message: MailMessage): Promise<Buffer> {
    const { id, senderName, replyTo, to, cc, subject, text, html, unsubscribeUrl, attachments } = message;
    const [, domain = 'localhost'] = this.#from.split('@');
    const composer = new MailComposer({
      messageId: `<${id}@${domain}>`,
      from: { name: senderName, address: this.#from },
      ...(replyTo === null ? {} : { replyTo }),
      // As objects: nodemailer would split a text at commas.
      to: to.map((address) => ({ name: '', address })),
      cc: cc.map((address) => ({ name: '', address })),
      // RFC 8058: mail programs show a button, and submit it by themselves. As prepared values, which are not encoded or folded.
      ...(unsubscribeUrl === null
        ? {}
        : {
            headers: {
              'List-Unsubscribe': { prepared: true, value: `<${unsubscribeUrl}>` },
              'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
            },
          }),
      subject,
      text,
      html,
      attachments: attachments.map(({ fileName, mimeType, content }) => ({
        filename: fileName,
        contentType: mimeType,
        content,
      })),
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    return composer.compile().build();
  }
}

interface Sent {
  readonly accepted: readonly unknown[];
  readonly rejectedErrors?: readonly unknown[] | undefined;
}

const noneSent: Sent = { accepted: [] };

/** What a mail server said about one recipient, or the connection about all. */
interface MailReply {
  readonly recipient: string | undefined;
  readonly code: number;
  readonly response: string;
}

function replyOf(error: unknown): MailReply {
  const { responseCode, response, recipient } = detailsOf(error);
  const message = error instanceof Error ? error.message : String(error);
  return {
    recipient: typeof recipient === 'string' ? recipient : undefined,
    code: typeof responseCode === 'number' ? responseCode : 0,
    response: typeof response === 'string' ? response : message,
  };
}

function detailsOf(error: unknown): Readonly<Record<string, unknown>> {
  return typeof error === 'object' && error !== null ? { ...error } : {};
}

function bouncedOf(replies: readonly MailReply[]): string[] {
  return replies.flatMap(({ recipient, code }) => (recipient !== undefined && code >= 500 ? [recipient] : []));
}

function failed(error: unknown, isHandedOver: boolean): MailDelivery {
  const { rejectedErrors, command } = detailsOf(error);
  const own = replyOf(error);
  const each = Array.isArray(rejectedErrors) ? rejectedErrors.map(replyOf) : [];
  const bounced = bouncedOf(each);
  const failure = own.response;
  // Each recipient was rejected; those who were not for good can be tried again.
  if (each.length > 0) {
    const outcome = bounced.length === each.length ? 'rejected' : 'deferred';
    return { outcome, accepted: [], bounced, failure };
  }
  if (isHandedOver && own.code === 0) return { outcome: 'unknown', accepted: [], bounced, failure };
  // A rejected password is a fault of the settings, which can be mended.
  const isFinal = own.code >= 500 && ['MAIL FROM', 'RCPT TO', 'DATA'].includes(String(command));
  return { outcome: isFinal ? 'rejected' : 'deferred', accepted: [], bounced, failure };
}
