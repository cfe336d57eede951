/** Input of any length: `n` is the number of its repeated parts. */
export type Shape = readonly [name: string, create: (n: number) => string];

const repeated = (name: string, unit: string, before = '', after = ''): Shape => [
  name,
  (n) => `${before}${unit.repeat(n)}${after}`,
];

/** Texts, of which each is hard for one way of reading text: patterns, normalization, numbers, addresses, dates. */
export const texts: readonly Shape[] = [
  repeated('letters', 'a'),
  repeated('digits', '7'),
  repeated('zeros', '0'),
  repeated('decimal zeros', '0', '1.', '1'),
  repeated('decimals', '12.'),
  repeated('spaces', ' ', 'a', 'a'),
  repeated('line breaks', '\r\n', 'a', 'a'),
  repeated('sorted combining marks', '\u0301', 'a'),
  repeated('unsorted combining marks', '\u0301\u0316', 'a'),
  repeated('letters with unsorted marks', 'a\u0301\u0316'),
  repeated('jamo', '\u1100\u1161\u11a8'),
  repeated('ligatures', '\ufdfa'),
  repeated('surrogate pairs', '😀'),
  repeated('quotation marks', '"'),
  repeated('backslashes', '\\'),
  repeated('percent signs', '%'),
  repeated('wildcards', '%_', '', 'x'),
  repeated('labels', 'a.'),
  repeated('hyphens', 'a-'),
  repeated('commas', 'a,'),
  repeated('semicolons', 'a;'),
  repeated('equal signs', 'a=&'),
  repeated('slashes', '/a'),
  repeated('parent folders', '../'),
  repeated('parentheses', '('),
  repeated('brackets', '[a'),
  repeated('groups', '(a+)+'),
  repeated('email with a long name', 'a.', '', '@example.com'),
  repeated('email with many labels', 'a.', 'a@'),
  repeated('email signs', 'a@'),
  repeated('URL with many labels', 'a.', 'https://', 'com'),
  repeated('URL with many segments', 'a/', 'https://example.com/'),
  repeated('fraction of a second', '0', '2026-01-01T00:00:00.', 'Z'),
  repeated('dates', '2026-01-01'),
  repeated('phone number', '5', '+1'),
  repeated('UUIDs', '0199a1c2-0a05-7c01-8a4f-5d2e9b60f101'),
];

/** A valid text with one of its characters repeated, and an end that no pattern accepts. */
export function pumped(valid: string): Shape[] {
  const kinds = Map.groupBy(valid, (character) =>
    /[a-z]/i.test(character) ? 'a' : /\d/.test(character) ? '0' : character,
  );
  return [...kinds.values()]
    .slice(0, 6)
    .flatMap(([character = '']) => [
      repeated(`${valid} with ${character} repeated`, character, valid, '!'),
      repeated(`${character} repeated before ${valid}`, character, '', `${valid}!`),
    ]);
}

const list = (name: string, item: (index: number) => string): Shape => [
  name,
  (n) => `[${Array.from({ length: n }, (_, index) => item(index)).join(',')}]`,
];
const object = (name: string, property: (index: number) => string): Shape => [
  name,
  (n) => `{${Array.from({ length: n }, (_, index) => property(index)).join(',')}}`,
];

/** Numbers, as JSON. */
export const numbers: readonly Shape[] = [
  repeated('number of many digits', '7', '1'),
  repeated('number with many zeros', '0', '1.', '1'),
  repeated('number with a long exponent', '0', '1e', '1'),
  repeated('minus zero', '0', '-0.'),
];

/** Lists and objects, as JSON. */
export const structures: readonly Shape[] = [
  list('list of null', () => 'null'),
  list('list of numbers', (index) => `${index}.5`),
  list('list of inexact numbers', (index) => `0.${index}1234567890123456789`),
  list('list of texts', (index) => `"t${index}"`),
  list('list of empty objects', () => '{}'),
  list('list of objects', (index) => `{"a":${index}}`),
  list('list of lists', (index) => `[${index}]`),
  list('mixed list', (index) => ['null', '1', `"${index}"`, '{}', `[${index}]`][index % 5] ?? ''),
  object('object of many names', (index) => `"k${index}":1`),
  object('names with an equal start', (index) => `"${'k'.repeat(100)}${index}":1`),
  object('escaped names', (index) => `"\\u00e9${index}":1`),
  object('names of numbers', (index) => `"${index}":1`),
  object('a name many times', () => '"a":1'),
  [`nested lists`, (n) => `${'['.repeat(n)}${']'.repeat(n)}`],
  [`nested objects`, (n) => `${'{"a":'.repeat(n)}1${'}'.repeat(n)}`],
  [`unclosed lists`, (n) => '['.repeat(n)],
  repeated('escaped letters', '\\u00e9', '"', '"'),
  repeated('escaped surrogate pairs', '\\ud83d\\ude00', '"', '"'),
  repeated('escaped marks', '\\u0301\\u0316', '"a', '"'),
];

/** Lists of an item that the contract accepts, as JSON: equal ones, and ones that differ in an unknown property or in their text. */
export function lists(item: unknown): Shape[] {
  const json = JSON.stringify(item);
  const different = (index: number) => {
    if (typeof item === 'string') return JSON.stringify(`${item}${index}`);
    if (typeof item === 'object' && item !== null && !Array.isArray(item)) return JSON.stringify({ ...item, x: index });
    return `[${index}]`;
  };
  return [list('list of equal items', () => json), list('list of different items', different)];
}

/** An object that contains itself, as JSON: `{"_not":{"_not":…}}`. */
export function nested(name: string, isList: boolean): Shape {
  const [open, close] = isList ? ['[', ']'] : ['', ''];
  const before = `{${JSON.stringify(name)}:${open}`;
  const after = `${close}}`;
  return [`nested ${name}`, (n) => `${before.repeat(n)}{}${after.repeat(n)}`];
}

/** Values of headers: lists of what headers list. */
export const headerValues: readonly Shape[] = [
  ...texts.filter(([, create]) => /^[ -~]*$/.test(create(1))),
  repeated('media types', 'a/b;q=0.1,'),
  repeated('parameters', ';a=b', 'application/json'),
  repeated('quoted parameters', ';a="b', 'application/json'),
  repeated('charsets', ' ', 'application/json;', 'charset=utf-8'),
  repeated('tags', '"a",'),
  repeated('weak tags', 'W/"a-1",'),
  repeated('unclosed tags', 'W/"'),
  repeated('cookies', 'a=b; '),
  repeated('ranges', '0-0,', 'bytes='),
  repeated('addresses', '1.1.1.1,'),
  repeated('encodings', 'gzip,'),
  repeated('token', 'a', 'Bearer '),
  repeated('spaces before a token', ' ', 'Bearer ', 'a'),
  repeated('parts of a token', 'eyJhIjoxfQ.', 'Bearer '),
  repeated('trace', '0', '00-'),
  repeated('signatures', 't=1,v1=0,'),
];
