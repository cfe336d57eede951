import PostalMime from 'postal-mime';

/** What a mail server reports on a mail that it could not deliver (RFC 3464). */
export interface BounceReport {
  /** IDs of messages in the returned mail, without the domain: that of the mail is among them. */
  readonly messageIds: readonly string[];
  /** Recipients for whom the delivery has failed for good, in lower case. */
  readonly failed: readonly string[];
  /** What the last mail server said. */
  readonly reason: string | null;
}

/** Reads a report; undefined if the message is none. */
export async function readBounceReport(message: Buffer): Promise<BounceReport | undefined> {
  const { attachments } = await PostalMime.parse(message, { forceRfc822Attachments: true });
  const textOf = (types: readonly string[]) =>
    attachments
      .filter(({ mimeType }) => types.includes(mimeType.toLowerCase()))
      .map(({ content }) => unfolded(typeof content === 'string' ? content : new TextDecoder().decode(content)))
      .join('\n\n');
  const status = textOf(['message/delivery-status', 'message/global-delivery-status']);
  if (status === '') return undefined;
  const returned = textOf(['message/rfc822', 'text/rfc822-headers', 'message/global', 'message/global-headers']);
  const recipients = status
    .split('\n\n')
    .map(fieldsOf)
    .filter((fields) => fields.get('action')?.toLowerCase() === 'failed');
  return {
    messageIds: [...returned.matchAll(/^message-id: {0,9}<([^@>\s]{1,200})@/gim)].flatMap(([, id]) => id ?? []),
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
