import type { Service } from '../../service.ts';

/** How long a URL is valid, in seconds. */
const lifetime = 15 * 60;

const purpose = 'file-download';

/** What a download URL says: which file of which tenant, and until when, in seconds since 1970. */
export interface Download {
  readonly tenantName: string;
  readonly fileId: string;
  readonly expires: number;
}

/** A URL by which anybody downloads the content of a file for a while. */
export function downloadUrlOf(
  { config, vault }: Pick<Service, 'config' | 'vault'>,
  tenantName: string,
  fileId: string,
) {
  const expires = Math.floor(Date.now() / 1000) + lifetime;
  const signature = vault.sign(purpose, signedText({ tenantName, fileId, expires }));
  const query = new URLSearchParams({ tenant: tenantName, expires: String(expires), signature });
  return {
    downloadUrl: `${config.publicUrl}/content/${fileId}?${query}`,
    downloadUrlExpiresAt: new Date(expires * 1000).toISOString(),
  };
}

/** The download that a URL is for; undefined where this service did not sign it. */
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

/** No part has a slash in it: names of tenants and IDs have none. */
function signedText({ tenantName, fileId, expires }: Download): string {
  return `${tenantName}/${fileId}/${expires}`;
}
