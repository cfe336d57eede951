import ipaddr from 'ipaddr.js';
import { Rejection } from '../contract/rejection.ts';
import type { Tenant } from '../platform/auth/caller.ts';

/** Origin of a request. */
export interface CallOrigin {
  /** IP address of the caller. */
  readonly address: string;
  /** Value of `X-Client-Id`, if present. */
  readonly clientId?: string | undefined;
}

type Network = readonly [address: ipaddr.IPv4 | ipaddr.IPv6, bits: number];

/** Settings are cached with their tenant, so each list is parsed once. */
const parsed = new WeakMap<readonly string[], readonly Network[]>();

/** Checks a request against the tenant's settings. @throws Rejection `ACCESS_RESTRICTED` */
export function checkAccess({ settings }: Tenant, { address, clientId }: CallOrigin): void {
  const { allowedAddresses, allowedClientIds } = settings;
  if (allowedAddresses.length > 0 && !isWithin(address, allowedAddresses))
    throw new Rejection('ACCESS_RESTRICTED', 'The tenant does not allow access from this address.');
  if (allowedClientIds.length > 0 && (clientId === undefined || !allowedClientIds.includes(clientId)))
    throw new Rejection(
      'ACCESS_RESTRICTED',
      'The tenant does not allow access by this client ID. Send an allowed one in the X-Client-Id header.',
    );
}

function isWithin(address: string, texts: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  // Sockets that accept both versions report IPv4 addresses as `::ffff:203.0.113.7`.
  const caller = ipaddr.process(address);
  const networks = parsed.getOrInsertComputed(texts, () => texts.map(parseNetwork));
  return networks.some(([network, bits]) => caller.kind() === network.kind() && caller.match(network, bits));
}

/** Parses `203.0.113.7` or `2001:db8::/32`. IPv4-mapped IPv6 networks become IPv4 networks. */
function parseNetwork(text: string): Network {
  const [address = '', bits] = text.split('/');
  const network = ipaddr.parse(address);
  const length = bits === undefined ? network.toByteArray().length * 8 : Number(bits);
  if (network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress() && length >= 96)
    return [network.toIPv4Address(), length - 96];
  return [network, length];
}
