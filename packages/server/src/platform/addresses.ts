import { Resolver } from 'node:dns/promises';
import { domainToUnicode } from 'node:url';
import ipaddr from 'ipaddr.js';

/** The IP addresses of a host name, such as `203.0.113.7`; none where it has none. */
export type ResolveName = (name: string) => Promise<readonly string[]>;

interface AddressOptions {
  /** Lets events be delivered to this machine, over HTTP too, to try them out. Never in production. */
  readonly allowLoopback: boolean;
  readonly resolve?: ResolveName;
}

/** Why events cannot be sent to a URL, for whoever chose it. */
interface UrlFault {
  readonly code: 'FORMAT' | 'NOT_HTTPS' | 'CREDENTIALS' | 'PORT_NOT_ALLOWED' | 'ADDRESS_NOT_PUBLIC';
  readonly detail: string;
}

/** Nothing is sent to this address. The message is for the owner of the subscription. */
export class AddressBlocked extends Error {
  override readonly name = 'AddressBlocked';
}

/** DNS has no address for the host of a delivery URL. */
export class NameNotResolved extends Error {
  override readonly name = 'NameNotResolved';
}

/**
 * Names that public DNS never resolves: reserved ones (RFC 6761, 6762, 7686, 8375 and 9476, `.internal` by ICANN), and
 * `.localdomain`, which many machines use for themselves. Documentation uses `.example`, so it is accepted; deliveries fail.
 */
const privateSuffixes = [
  '.alt',
  '.home.arpa',
  '.internal',
  '.invalid',
  '.local',
  '.localdomain',
  '.localhost',
  '.onion',
  '.test',
];

/** One part of a host name (RFC 1123). `URL` has changed it to lower case and Punycode. */
const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Characters of a host name without the dot that may end it (RFC 1035). */
const maxHostLength = 253;

/** Services of cloud providers that every machine there reaches at these addresses, public as they look. */
const platformAddresses: ReadonlySet<string> = new Set(['168.63.129.16']);

const globalIpv6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Where events may be sent. A delivery URL is checked when it is saved, by its form and by what its name resolves to, and again
 * at each new connection, by the address that is connected to: a name can resolve to another address by then.
 */
export class DeliveryAddresses {
  readonly allowLoopback: boolean;
  readonly #resolve: ResolveName;

  constructor({ allowLoopback, resolve = resolvePublicName() }: AddressOptions) {
    this.allowLoopback = allowLoopback;
    this.#resolve = resolve;
  }

  /**
   * What is wrong with a delivery URL that is about to be saved. A name that does not resolve now is accepted; deliveries to it
   * fail.
   *
   * @param ports the ports that the tenant allows in addition to 443.
   */
  async faultOf(deliveryUrl: string, ports: readonly number[]): Promise<UrlFault | undefined> {
    const fault = this.#faultOfForm(deliveryUrl, ports);
    if (fault !== undefined) return fault;
    const host = hostOf(new URL(deliveryUrl));
    const addresses = await this.#addressesOf(host).catch((): readonly string[] => []);
    return addresses.every((address) => this.#isAllowed(address)) ? undefined : notPublic(host);
  }

  /**
   * Checks the form of a URL before it is delivered to: what is allowed may have changed since it was saved.
   *
   * @param ports the ports that the tenant allows in addition to 443.
   * @throws AddressBlocked
   */
  checkForm(deliveryUrl: string, ports: readonly number[]): URL {
    const fault = this.#faultOfForm(deliveryUrl, ports);
    if (fault !== undefined) throw new AddressBlocked(fault.detail);
    return new URL(deliveryUrl);
  }

  /**
   * The addresses to connect to for a delivery.
   *
   * @param host a name or an IP address.
   * @throws AddressBlocked where one of the addresses is not allowed.
   * @throws NameNotResolved
   */
  async connectable(host: string): Promise<readonly string[]> {
    const addresses = await this.#addressesOf(host.replace(/\.$/, ''));
    if (addresses.length === 0) throw new NameNotResolved(`The name ${host} does not resolve.`);
    for (const address of addresses) this.checkAddress(address, host);
    return addresses;
  }

  /** Checks the address of a connection. @throws AddressBlocked that names the host. */
  checkAddress(address: string, host: string): void {
    if (!this.#isAllowed(address)) throw new AddressBlocked(notPublic(host).detail);
  }

  #isAllowed(address: string): boolean {
    return isPublic(address) || (this.allowLoopback && isLoopback(address));
  }

  #faultOfForm(deliveryUrl: string, ports: readonly number[]): UrlFault | undefined {
    const url = URL.parse(deliveryUrl);
    if (url === null) return { code: 'FORMAT', detail: 'deliveryUrl is not a URL.' };
    const host = hostOf(url);
    const isLocal = this.allowLoopback && (isLocalName(host) || isLoopback(host));
    if (url.protocol !== 'https:' && !(isLocal && url.protocol === 'http:'))
      return { code: 'NOT_HTTPS', detail: 'deliveryUrl must start with https://.' };
    if (url.username !== '' || url.password !== '') {
      const detail = 'deliveryUrl must not contain a user name or a password. Verify the signature instead.';
      return { code: 'CREDENTIALS', detail };
    }
    const isName = !ipaddr.isValid(host);
    if (isName && !isHostName(host)) {
      const detail =
        'The host name is invalid. Each part must have 1 to 63 letters, digits or hyphens, with no hyphen at its ends.';
      return { code: 'FORMAT', detail };
    }
    if (isLocal) return undefined;
    if (url.port !== '' && !ports.includes(Number(url.port))) {
      const detail = `Port ${url.port} is not allowed. Use port 443, or ask the operator to allow this one.`;
      return { code: 'PORT_NOT_ALLOWED', detail };
    }
    return (isName ? isPrivateName(host) : !isPublic(host)) ? notPublic(host) : undefined;
  }

  async #addressesOf(host: string): Promise<readonly string[]> {
    if (ipaddr.isValid(host)) return [host];
    return isLocalName(host) ? ['127.0.0.1', '::1'] : this.#resolve(host);
  }
}

/** The host without the brackets of IPv6 and the dot that may end a name. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

function isHostName(host: string): boolean {
  if (host.length > maxHostLength || !host.split('.').every((part) => label.test(part))) return false;
  // A label that is not valid Punycode remains as it is.
  return !domainToUnicode(host)
    .split('.')
    .some((part) => part.startsWith('xn--'));
}

function isPrivateName(host: string): boolean {
  return !host.includes('.') || privateSuffixes.some((suffix) => `.${host}`.endsWith(suffix));
}

function isLocalName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

/** Whether an address is reached from everywhere on the internet. None that IANA lists as special is, in any notation. */
function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address) || platformAddresses.has(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(globalIpv6);
}

function isLoopback(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.parse(address).range() === 'loopback';
}

function notPublic(host: string): UrlFault {
  return {
    code: 'ADDRESS_NOT_PUBLIC',
    detail: `${host} is not a public address. Events are sent to public ones only.`,
  };
}

/**
 * Resolves names by DNS alone, not by the files of this machine, and outside of Node's small pool of threads, which a few names
 * that do not answer would fill.
 */
function resolvePublicName(): ResolveName {
  const resolver = new Resolver({ timeout: 1_500, tries: 2 });
  return async (name) => {
    const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    return found.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  };
}
