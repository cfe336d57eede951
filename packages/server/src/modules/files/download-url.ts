import { millisecondsOf } from '../../contract/durations.ts';
import type { Service } from '../../entity/service.ts';

/** Validity of a URL, in seconds. */
const lifetime = millisecondsOf('downloadUrl') / 1000;

/** What a URL allows, which is signed with it. */
const purposes = { content: 'file-download', upload: 'file-upload' } as const;

type Kind = keyof typeof purposes;

/** The content of a download URL: file, tenant, and expiry in seconds since 1970. */
export interface Download {
  readonly tenantName: string;
  readonly fileId: string;
  readonly expires: number;
}

/**
 * Creates a URL that allows anyone to download a file, or to send its content, until it expires.
 *
 * @param now by the clock of the tenant, in milliseconds since 1970.
 */
export function signedUrl(
  kind: Kind,
  { config, vault }: Pick<Service, 'config' | 'vault'>,
  tenantName: string,
  fileId: string,
  now: number,
) {
  const expires = Math.floor(now / 1000) + lifetime;
  const signature = vault.sign(purposes[kind], signedText({ tenantName, fileId, expires }));
  const query = new URLSearchParams({ tenant: tenantName, expires: String(expires), signature });
  return { url: `${config.publicUrl}/${kind}/${fileId}?${query}`, expiresAt: new Date(expires * 1000).toISOString() };
}

/** Returns what a URL allows; undefined if this service did not sign it. */
export function readDownload(
  kind: Kind,
  { vault }: Pick<Service, 'vault'>,
  fileId: string,
  query: Readonly<Record<string, unknown>>,
): Download | undefined {
  const { tenant, expires, signature } = query;
  if (typeof tenant !== 'string' || typeof expires !== 'string' || typeof signature !== 'string') return undefined;
  if (!/^\d{1,12}$/.test(expires)) return undefined;
  const download = { tenantName: tenant, fileId, expires: Number(expires) };
  return vault.verify(purposes[kind], signedText(download), signature) ? download : undefined;
}

/** The parts are unambiguous: names of tenants and IDs contain no slash. */
function signedText({ tenantName, fileId, expires }: Download): string {
  return `${tenantName}/${fileId}/${expires}`;
}
