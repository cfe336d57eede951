/** Values of formats: what is not valid, what is at the limits, and what is at the limits of calendars. */

type Texts = Readonly<Record<string, readonly string[]>>;

export const wrongFormats: Texts = {
  uuid: ['not-a-uuid', '0190b3a4-7c1e-7f3a-9b2d', '0190b3a4-7c1e-7f3a-9b2d-1f2e3d4c5b6g'],
  email: ['no-at-sign.example.com', 'a@', 'a b@example.com'],
  'idn-email': ['no-at-sign.example.com'],
  uri: ['/only/a/path', 'not a uri', 'https://example.com/a b'],
  url: ['not a url'],
  'uri-reference': ['http://[', 'a b', '\\\\server\\share'],
  'uri-template': ['/{unclosed'],
  iri: ['not an iri'],
  ipv4: ['256.0.0.1', '1.2.3', '2001:db8::1'],
  ipv6: ['192.0.2.1', '2001:db8::g', '1:2:3:4:5:6:7'],
  hostname: ['-example.com', 'a_b.example.com', 'exam ple.com'],
  date: ['2024-02-30', '2023-02-29', '24-01-01', '2024-1-1', '01/02/2024', '2024-01-01T00:00:00Z'],
  'date-time': ['2024-02-30T00:00:00Z', '2024-01-01', '2024-01-01T00:00:00', '2024-01-01T25:00:00Z', 'yesterday'],
  time: ['25:00:00Z', '12:60:00Z', '12:00', '12:00:00'],
  duration: ['1 hour', 'P', 'PT', 'P1S'],
  byte: ['not base64!', 'abc'],
  regex: ['[unclosed', '(', '*'],
  'json-pointer': ['no-slash', '/a~2'],
  'relative-json-pointer': ['/a'],
};

export const wrongNumbers: Readonly<Record<string, readonly number[]>> = {
  int32: [2 ** 31, -(2 ** 31) - 1],
  int64: [2 ** 63, 1.5],
};

export const extremes: Texts = {
  date: ['2024-02-29', '2000-02-29', '1970-01-01', '2024-12-31', '2038-01-20'],
  'date-time': [
    ...['2024-02-29T23:59:59Z', '2024-06-30T12:00:00+14:00', '2024-06-30T12:00:00-12:00'],
    ...['2024-06-30T12:00:00.123Z', '2024-06-30T12:00:00.1Z', '2038-01-20T00:00:00Z'],
  ],
  time: ['00:00:00Z', '23:59:59Z', '12:00:00+14:00', '12:00:00.123Z'],
  duration: ['PT0S', 'P1Y2M3DT4H5M6S', 'P1W'],
  email: ['a@example.com', 'first.last+tag@example.co.uk', "o'neil@example.com"],
  uuid: ['ffffffff-ffff-4fff-bfff-ffffffffffff'],
  uri: ['https://example.com', 'https://user@example.com:8443/a%20b?x=1&y=2#z', 'urn:isbn:0451450523'],
  'uri-reference': ['/a/b?x=1#y', '../a', '#a'],
  ipv4: ['0.0.0.0', '255.255.255.255'],
  ipv6: ['::', '::1', '::ffff:192.0.2.1', '2001:db8:0:0:0:0:0:1'],
  hostname: ['localhost', `${'a'.repeat(63)}.example.com`, 'xn--bcher-kva.example'],
  byte: ['AA==', 'AAA=', 'AAAA', '+/+/'],
  'json-pointer': ['', '/a~1b/~0'],
  regex: ['.*', '^\\d{2,3}$'],
};

export const oddTimes: Texts = {
  date: ['0001-01-01', '1582-10-10', '1900-02-28', '1969-12-31', '9999-12-31'],
  'date-time': [
    ...['0001-01-01T00:00:00Z', '1900-01-01T00:00:00Z', '1969-12-31T23:59:59Z', '9999-12-31T23:59:59Z'],
    ...['2024-06-30T23:59:59.999999999Z', '2024-01-01T00:00:00+14:00', '2024-01-01T00:00:00-12:00'],
  ],
};
