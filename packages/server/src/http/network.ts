import ipaddr from 'ipaddr.js';

/** The IPv4 address, or the IPv6 network of one subscriber, which has more addresses than could be counted. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv6' ? parsed.toNormalizedString().split(':').slice(0, 4).join(':') : parsed.toString();
}
