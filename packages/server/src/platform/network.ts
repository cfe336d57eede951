import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The IPv4 address, or the IPv6 network of one subscriber, which has more addresses than could be counted. */
export function networkOf(address: string): string {
  // Most addresses; to parse one costs more than all else that a connection costs here.
  if (isIPv4(address)) return address;
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv6' ? parsed.toNormalizedString().split(':').slice(0, 4).join(':') : parsed.toString();
}
