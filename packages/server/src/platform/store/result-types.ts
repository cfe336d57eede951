import pg, { type CustomTypesConfig } from 'pg';

/**
 * Converts database values to JavaScript values. Passed to each pool, so that no global state is changed.
 *
 * | database | JavaScript |
 * |---|---|
 * | `timestamptz` | RFC 3339 in UTC with milliseconds: `2026-10-01T09:30:00.000Z` |
 * | `date` | `2026-10-01` |
 * | `numeric` | string, with the places it was stored with |
 * | `int8` | number; beyond 2^53 − 1 an error, never a rounded value |
 * | `jsonb` | parsed |
 *
 * Lists are converted element by element. Other types are converted by `pg`.
 */
export const resultTypes: CustomTypesConfig = {
  getTypeParser(oid, format) {
    const parse = format === 'binary' ? undefined : parsers.get(oid);
    return parse ?? pg.types.getTypeParser(oid, format);
  },
};

type TextParser = (text: string) => unknown;

/** The type of `text[]`. */
const textList: number = 1009;

const parsers = new Map<number, TextParser>([
  [20, parseInteger],
  [1016, parseList(parseInteger)],
  [1082, asWritten],
  [1182, parseList(asWritten)],
  [1184, parseInstant],
  [1185, parseList(parseInstant)],
  [1231, parseList(asWritten)],
]);

function asWritten(text: string): string {
  return text;
}

function parseInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`The integer ${text} is beyond the safe range.`);
  return value;
}

/** The server writes `2026-10-01 09:30:00.5+00`: all sessions run in UTC, and trailing zeros are omitted. */
const instantPattern = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/;

function parseInstant(text: string): string {
  const [, date, time, fraction = ''] = instantPattern.exec(text) ?? [];
  if (date === undefined) throw new RangeError(`The instant ${text} is not in UTC, or not in the common era.`);
  return `${date}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
}

/** A list is split like a list of texts in `pg`, then each element is parsed. */
function parseList(parseElement: TextParser): TextParser {
  const split: (text: string) => (string | null)[] = pg.types.getTypeParser(textList, 'text');
  return (text) => split(text).map((element) => (element === null ? null : parseElement(element)));
}
