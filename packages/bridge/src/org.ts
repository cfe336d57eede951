import { type Client, orThrow } from '../../client/src/index.ts';
import { BridgeError } from './errors.ts';

/** The org that a file is of, in a firm with several. */
export interface FileOrg {
  readonly id: string;
  readonly systemRef: string;
  /** Whether it is the first org of the firm, which was the only one once. */
  readonly isFirst: boolean;
}

/**
 * Returns the org that the user names; undefined if the firm has only one.
 *
 * @throws BridgeError if there is no such org, or several and none is named
 */
export async function orgOf(
  api: Client,
  systemRef: string | undefined,
  signal: AbortSignal,
): Promise<FileOrg | undefined> {
  // In the order of creation.
  const { data } = await orThrow(api.listOrgs({ body: { pageSize: 1000 }, signal }));
  const orgs = data.filter(({ active }) => active);
  if (systemRef === undefined && orgs.length < 2) return undefined;
  const found = data.find((one) => one.systemRef === systemRef);
  if (found !== undefined) return { id: found.id, systemRef: found.systemRef, isFirst: found === data[0] };
  const known = orgs.map((one) => `${one.systemRef} (${one.name})`).join(', ');
  throw new BridgeError(`Name the org with --org <systemRef>. The firm has ${known}.`);
}
