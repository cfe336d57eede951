import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AddressBlocked, DeliveryAddresses } from './addresses.ts';

/** What DNS says in these tests. */
const names: Readonly<Record<string, readonly string[]>> = {
  'public.example.com': ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
  'rebound.example.com': ['10.0.0.7'],
  'mixed.example.com': ['93.184.215.14', '127.0.0.1'],
  'mapped.example.com': ['::ffff:169.254.169.254'],
  'metadata.example.com': ['169.254.169.254'],
  'local6.example.com': ['fd00:ec2::254'],
  'loop.example.com': ['127.0.0.1'],
  'xn--mnchen-3ya.example.com': ['93.184.215.14'],
};
const resolve = async (name: string) => names[name] ?? [];
/** What a delivery checks before it connects. */
async function connectable(addresses: DeliveryAddresses, url: string, ports: readonly number[] = []) {
  addresses.checkForm(url, ports);
  return addresses.connectable(new URL(url).hostname.replace(/^\[(.*)\]$/, '$1'));
}
const production = new DeliveryAddresses({ allowLoopback: false, resolve });
const development = new DeliveryAddresses({ allowLoopback: true, resolve });

const accepted = [
  'https://public.example.com/hooks',
  'https://public.example.com:443/hooks?token=1#part',
  'https://PUBLIC.example.com./hooks',
  'https://münchen.example.com/hooks',
  'https://93.184.215.14/hooks',
  'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/hooks',
  'https://unknown.example.com/hooks',
];

const blocked: readonly (readonly [code: string, url: string])[] = [
  // Loopback, in every notation that a resolver or a browser takes.
  ['ADDRESS_NOT_PUBLIC', 'https://127.0.0.1/'],
  ['ADDRESS_NOT_PUBLIC', 'https://127.1/'],
  ['ADDRESS_NOT_PUBLIC', 'https://127.255.255.254/'],
  ['ADDRESS_NOT_PUBLIC', 'https://2130706433/'],
  ['ADDRESS_NOT_PUBLIC', 'https://0x7f000001/'],
  ['ADDRESS_NOT_PUBLIC', 'https://0x7f.0.0.1/'],
  ['ADDRESS_NOT_PUBLIC', 'https://0177.0.0.1/'],
  ['ADDRESS_NOT_PUBLIC', 'https://017700000001/'],
  ['ADDRESS_NOT_PUBLIC', 'https://127.0.0.1./'],
  ['ADDRESS_NOT_PUBLIC', 'https://127.0.0.1%2e/'],
  ['ADDRESS_NOT_PUBLIC', 'https://%31%32%37.0.0.1/'],
  ['ADDRESS_NOT_PUBLIC', 'https://１２７.０.０.１/'],
  ['ADDRESS_NOT_PUBLIC', 'https://①②⑦.0.0.1/'],
  ['ADDRESS_NOT_PUBLIC', 'https://127。0。0。1/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[::1]/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[0:0:0:0:0:0:0:1]/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[::ffff:127.0.0.1]/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[::ffff:7f00:1]/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[::127.0.0.1]/'],
  ['ADDRESS_NOT_PUBLIC', 'https://localhost/'],
  ['ADDRESS_NOT_PUBLIC', 'https://LOCALHOST/'],
  ['ADDRESS_NOT_PUBLIC', 'https://localhost./'],
  ['ADDRESS_NOT_PUBLIC', 'https://a.localhost/'],
  ['ADDRESS_NOT_PUBLIC', 'https://ⓛocalhost/'],
  // No host at all.
  ['ADDRESS_NOT_PUBLIC', 'https://0.0.0.0/'],
  ['ADDRESS_NOT_PUBLIC', 'https://0/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[::]/'],
  ['FORMAT', 'https://'],
  ['FORMAT', 'https://[::1/'],
  ['FORMAT', 'https://1.2.3.4.5/'],
  ['FORMAT', 'https://300.1.1.1/'],
  // Private networks.
  ['ADDRESS_NOT_PUBLIC', 'https://10.0.0.1/'],
  ['ADDRESS_NOT_PUBLIC', 'https://10.1/'],
  ['ADDRESS_NOT_PUBLIC', 'https://0xa000001/'],
  ['ADDRESS_NOT_PUBLIC', 'https://172.16.0.1/'],
  ['ADDRESS_NOT_PUBLIC', 'https://172.31.255.254/'],
  ['ADDRESS_NOT_PUBLIC', 'https://192.168.1.1/'],
  ['ADDRESS_NOT_PUBLIC', 'https://192.168.257/'],
  ['ADDRESS_NOT_PUBLIC', 'https://100.64.0.1/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[fc00::1]/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[fd12:3456:789a::1]/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[fec0::1]/'],
  // Link-local, and what clouds put there and elsewhere.
  ['ADDRESS_NOT_PUBLIC', 'https://169.254.169.254/latest/meta-data/'],
  ['ADDRESS_NOT_PUBLIC', 'https://0xa9fea9fe/'],
  ['ADDRESS_NOT_PUBLIC', 'https://0251.0376.0251.0376/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[::ffff:a9fe:a9fe]/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[fe80::1]/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[fd00:ec2::254]/'],
  ['ADDRESS_NOT_PUBLIC', 'https://100.100.100.200/'],
  ['ADDRESS_NOT_PUBLIC', 'https://192.0.0.192/'],
  ['ADDRESS_NOT_PUBLIC', 'https://168.63.129.16/'],
  ['ADDRESS_NOT_PUBLIC', 'https://metadata.google.internal/'],
  // Tunnels that carry an IPv4 address inside.
  ['ADDRESS_NOT_PUBLIC', 'https://[64:ff9b::7f00:1]/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[64:ff9b:1::a00:1]/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[2002:7f00:1::]/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[2001:0:7f00:1::]/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[::ffff:0:127.0.0.1]/'],
  // Documentation, benchmarks, multicast, broadcast, reserved.
  ['ADDRESS_NOT_PUBLIC', 'https://192.0.2.1/'],
  ['ADDRESS_NOT_PUBLIC', 'https://198.51.100.1/'],
  ['ADDRESS_NOT_PUBLIC', 'https://203.0.113.1/'],
  ['ADDRESS_NOT_PUBLIC', 'https://198.18.0.1/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[2001:db8::1]/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[3fff::1]/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[2001:2::1]/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[100::1]/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[4000::1]/'],
  ['ADDRESS_NOT_PUBLIC', 'https://224.0.0.1/'],
  ['ADDRESS_NOT_PUBLIC', 'https://240.0.0.1/'],
  ['ADDRESS_NOT_PUBLIC', 'https://255.255.255.255/'],
  ['ADDRESS_NOT_PUBLIC', 'https://[ff02::1]/'],
  // Names of private networks.
  ['ADDRESS_NOT_PUBLIC', 'https://intranet/'],
  ['ADDRESS_NOT_PUBLIC', 'https://printer.local/'],
  ['ADDRESS_NOT_PUBLIC', 'https://printer.local./'],
  ['ADDRESS_NOT_PUBLIC', 'https://db.prod.internal/'],
  ['ADDRESS_NOT_PUBLIC', 'https://nas.home.arpa/'],
  ['ADDRESS_NOT_PUBLIC', 'https://localhost.localdomain/'],
  ['ADDRESS_NOT_PUBLIC', 'https://home.arpa/'],
  ['ADDRESS_NOT_PUBLIC', 'https://hooks.test/'],
  ['ADDRESS_NOT_PUBLIC', 'https://hooks.invalid./'],
  ['ADDRESS_NOT_PUBLIC', 'https://hooks.onion/'],
  ['ADDRESS_NOT_PUBLIC', 'https://hooks.alt/'],
  // Names that no host can have.
  ['FORMAT', 'https://-example-.com/'],
  ['FORMAT', 'https://.example.com/'],
  ['FORMAT', 'https://example..com/'],
  ['FORMAT', 'https://example.com../'],
  ['FORMAT', 'https://my_hooks.example.com/'],
  ['FORMAT', `https://${'a'.repeat(64)}.com/`],
  ['FORMAT', `https://${'a.'.repeat(126)}com/`],
  ['FORMAT', 'https://xn--a.example.com/'],
  ['FORMAT', 'https://*.example.com/'],
  // Public names of addresses that are not.
  ['ADDRESS_NOT_PUBLIC', 'https://rebound.example.com/'],
  ['ADDRESS_NOT_PUBLIC', 'https://mixed.example.com/'],
  ['ADDRESS_NOT_PUBLIC', 'https://mapped.example.com/'],
  ['ADDRESS_NOT_PUBLIC', 'https://metadata.example.com/'],
  ['ADDRESS_NOT_PUBLIC', 'https://local6.example.com/'],
  // Another scheme, a login, another port; parsers disagree about some of these.
  ['NOT_HTTPS', 'http://public.example.com/'],
  ['NOT_HTTPS', 'file:///etc/passwd'],
  ['NOT_HTTPS', 'gopher://public.example.com/'],
  ['CREDENTIALS', 'https://user@public.example.com/'],
  ['CREDENTIALS', 'https://user:secret@public.example.com/'],
  ['CREDENTIALS', 'https://public.example.com@127.0.0.1/'],
  ['CREDENTIALS', 'https://127.0.0.1:443@public.example.com/'],
  ['ADDRESS_NOT_PUBLIC', 'https://127.0.0.1\\@public.example.com/'],
  ['ADDRESS_NOT_PUBLIC', 'https:\\\\127.0.0.1/'],
  ['ADDRESS_NOT_PUBLIC', 'https://127.0.0.1#@public.example.com/'],
  ['ADDRESS_NOT_PUBLIC', 'https://127.0.0.1?@public.example.com/'],
  ['ADDRESS_NOT_PUBLIC', 'https:127.0.0.1'],
  ['PORT_NOT_ALLOWED', 'https://public.example.com:22/'],
  ['PORT_NOT_ALLOWED', 'https://public.example.com:0/'],
  ['PORT_NOT_ALLOWED', 'https://public.example.com:5432/'],
];

test.each(accepted)('events can be delivered to %s', async (url) => {
  expect(await production.faultOf(url, [])).toBeUndefined();
});

describe('what is not public', () => {
  test('is tried in many ways', () => expect(blocked.length).toBeGreaterThan(60));

  test.each(blocked)('%s: %s, when it is saved and when it is sent', async (code, url) => {
    expect(await production.faultOf(url, [])).toMatchObject({ code });
    if (URL.canParse(url)) await expect(connectable(production, url)).rejects.toThrow(AddressBlocked);
  });
});

test('a host name is accepted if and only if each part and the whole have valid lengths and characters', () => {
  const inner = fc.string({ unit: fc.constantFrom(...'abz019-'), maxLength: 66 });
  const part = fc.tuple(inner, fc.constantFrom('', '-', '_'), fc.constantFrom('', 'x')).map((parts) => parts.join(''));
  const names = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => [...parts, 'com'].join('.'));
  fc.assert(
    fc.property(names, (name) => {
      // The URL parser has its own rules for labels in Punycode.
      fc.pre(!/(?:^|\.)..--/.test(name));
      const isValid =
        name.length <= 253 &&
        name.split('.').every((text) => {
          const isWithin = text.length >= 1 && text.length <= 63;
          return isWithin && !text.includes('_') && !text.startsWith('-') && !text.endsWith('-');
        });
      const check = () => production.checkForm(`https://${name}/`, []);
      if (isValid) expect(check).not.toThrow();
      else expect(check).toThrow(AddressBlocked);
    }),
    { numRuns: 500 },
  );
});

test('a name that resolved to a public address, and resolves to another one when it is sent, is blocked', async () => {
  let addresses = ['93.184.215.14'];
  const rebinding = new DeliveryAddresses({ allowLoopback: false, resolve: async () => addresses });
  const url = 'https://rebinding.example.com/';
  expect(await rebinding.faultOf(url, [])).toBeUndefined();
  expect(await connectable(rebinding, url)).toEqual(['93.184.215.14']);
  addresses = ['93.184.215.14', '169.254.169.254'];
  await expect(connectable(rebinding, url)).rejects.toThrow(AddressBlocked);
});

test('a name that does not resolve is accepted, and fails at delivery without being blocked', async () => {
  for (const resolveName of [async () => [], () => Promise.reject(new Error('SERVFAIL'))]) {
    const addresses = new DeliveryAddresses({ allowLoopback: false, resolve: resolveName });
    expect(await addresses.faultOf('https://unknown.example.com/', [])).toBeUndefined();
    const sending = connectable(addresses, 'https://unknown.example.com/');
    await expect(sending).rejects.not.toBeInstanceOf(AddressBlocked);
  }
});

test('a port is allowed where the operator allows it, and only there', async () => {
  expect(await production.faultOf('https://public.example.com:8443/', [8443])).toBeUndefined();
  expect(await production.faultOf('https://public.example.com:8444/', [8443])).toMatchObject({
    code: 'PORT_NOT_ALLOWED',
  });
  expect(await connectable(production, 'https://93.184.215.14:8443/', [8443])).toEqual(['93.184.215.14']);
  await expect(connectable(production, 'https://93.184.215.14:8443/')).rejects.toThrow(AddressBlocked);
});

describe('in development', () => {
  test.each([
    'http://localhost:8080/hooks',
    'http://127.0.0.1:8080/',
    'https://127.0.0.1/',
    'http://[::1]:9000/',
    'http://a.localhost/',
    'https://loop.example.com/',
  ])('events can be delivered to %s', async (url) => {
    expect(await development.faultOf(url, [])).toBeUndefined();
    expect(await connectable(development, url)).not.toEqual([]);
  });

  test.each([
    ['NOT_HTTPS', 'http://public.example.com/'],
    ['NOT_HTTPS', 'http://loop.example.com/'],
    ['NOT_HTTPS', 'http://10.0.0.1/'],
    ['ADDRESS_NOT_PUBLIC', 'https://10.0.0.1/'],
    ['ADDRESS_NOT_PUBLIC', 'https://169.254.169.254/'],
    ['ADDRESS_NOT_PUBLIC', 'https://[fd00::1]/'],
    ['ADDRESS_NOT_PUBLIC', 'https://rebound.example.com/'],
    ['CREDENTIALS', 'http://user@localhost/'],
  ])('%s: %s is blocked all the same', async (code, url) => {
    expect(await development.faultOf(url, [])).toMatchObject({ code });
    await expect(connectable(development, url)).rejects.toThrow(AddressBlocked);
  });
});
