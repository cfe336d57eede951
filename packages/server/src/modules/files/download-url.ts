import { millisecondsOf } from '../../contract/durations.ts';
import type { Service } from '../../entity/service.ts';

/** Validity of a URL, in seconds. */
const lifetime = millisecondsOf('downloadUrl') / 1000;

const purpose = 'file-download';

/** The content of a download URL: file, tenant, and expiry in seconds since 1970. */
export interface Download {
  readonly tenantName: string;
  readonly fileId: string;
  readonly expires: number;
}

/**
 * Creates a URL that allows anyone to download a file until it expires.
 *
 * @param now by the clock of the tenant, in milliseconds since 1970.
 */
export function downloadUrlOf(
  { config, vault }: Pick<Service, 'config' | 'vault'>,
  tenantName: string,
  fileId: string,
  now: number,
) {
  const expires = Math.floor(now / 1000) + lifetime;
  const signature = vault.sign(purpose, signedText({ tenantName, fileId, expires }));
  const query = new URLSearchParams({ tenant: tenantName, expires: String(expires), signature });
  return {
    downloadUrl: `${config.publicUrl}/content/${fileId}?${query}`,
    downloadUrlExpiresAt: new Date(expires * 1000).toISOString(),
  };
}

/** Returns the download of a URL; undefined if this service did not sign it. */
export function readDownload(
  { vault }: Pick<Service, 'vault'>,
  fileId: string,
  query: Readonly<Record<string, unknown>>,
): Download | undefined {
  const { tenant, expires, signature } = query;
  if (typeof tenant !== 'string' || typeof expires !== 'string' || typeof signature !== 'string') return undefined;
  if (!/^\d{1,12}$/.test(expires)) return undefined;
  const download = { tenantName: tenant, fileId, expires: Number(expires) };
  return vault.verify(purpose, signedText(download), signature) ? download : undefined;
}

/** The parts are unambiguous: names of tenants and IDs contain no slash. */
function signedText({ tenantName, fileId, expires }: Download): string {
  return `${tenantName}/${fileId}/${expires}`;
}
