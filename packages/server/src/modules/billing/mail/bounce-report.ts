/** What a mail server reports on a mail that it could not deliver (RFC 3464). */
export interface BounceReport {
  /** IDs of messages in the returned mail, without the domain: that of the mail is among them. */
  readonly messageIds: readonly string[];
  /** Recipients for whom the delivery has failed for good, in lower case. */
  readonly failed: readonly string[];
  /** What the last mail server said. */
  readonly reason: string | null;
}

/** Bytes in which a report and the header of the returned mail are: anybody can send one, and what follows can be a whole document. */
const relevant = 128 * 1024;
/** Message IDs that are tried. */
const maxIds = 20;

/**
 * Reads a report; undefined if the message is none. Its parts come in a fixed order and are not encoded, so nothing of the message is
 * parsed but their fields.
 */
export function readBounceReport(message: Buffer): BounceReport | undefined {
  const text = unfolded(message.toString('utf8', 0, relevant));
  const [, status] = text.split(/^content-type: {0,9}message\/(?:global-)?delivery-status\b/im, 2);
  if (status === undefined) return undefined;
  const [own = '', returned = ''] = status.split(/^content-type: {0,9}(?=message\/|text\/rfc822-headers)/im, 2);
  const recipients = own
    .split('\n\n')
    .map(fieldsOf)
    .filter((fields) => fields.get('action')?.toLowerCase() === 'failed');
  const ids = returned.matchAll(/^message-id: {0,9}<([^@>\s]{1,200})@/gim).take(maxIds);
  return {
    messageIds: [...ids].flatMap(([, id]) => id ?? []),
    failed: recipients.flatMap((fields) => {
      const [, address] = (fields.get('original-recipient') ?? fields.get('final-recipient') ?? '').split(';');
      return address === undefined ? [] : [address.trim().toLowerCase()];
    }),
    reason: recipients.map((fields) => fields.get('diagnostic-code')).find((code) => code !== undefined) ?? null,
  };
}

/** The lines of a header in one each. */
function unfolded(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(/\n[ \t]{1,9}/g, ' ');
}

/** The fields of a part, such as `Final-Recipient: rfc822; ines@example.com`, by their names in lower case. */
function fieldsOf(part: string): ReadonlyMap<string, string> {
  return new Map(
    part.split('\n').map((line) => {
      const [name = '', ...value] = line.split(':');
      return [name.trim().toLowerCase(), value.join(':').trim()];
    }),
  );
}
