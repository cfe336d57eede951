/** One run of a tool. */
export interface Run {
  readonly reports: readonly string[];
  /** The operations of which a call succeeded. */
  readonly reached: number;
  readonly requests: number;
  readonly seconds: number;
}

const volatile: readonly [RegExp, string][] = [
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, '<id>'],
  [/127\.0\.0\.1:\d+/g, '<host>'],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z?/g, '<time>'],
  // Positions of items and IDs, which depend on what other requests created.
  [/(?<=[./[])\d+(?=[./\]\s]|$)/g, '<n>'],
];

/** The distinct reports, without values that differ from run to run. */
export function distinct(reports: readonly string[]): Set<string> {
  return new Set(
    reports.map((report) => volatile.reduce((text, [pattern, name]) => text.replaceAll(pattern, name), report)),
  );
}

/** What a run of the server with a drift reports, and no run of the correct server. */
export function additional(reports: readonly string[], known: ReadonlySet<string>): string[] {
  return [...distinct(reports).difference(known)];
}

interface Labels {
  readonly tool: string;
  readonly server: string;
  readonly command: string;
}

/** All runs of a tool: on the correct server, and whether it caught each drift. */
interface Runs {
  readonly correct: readonly [Run, ...Run[]];
  readonly caught: readonly boolean[];
  /** The operations of the server. */
  readonly operations: number;
}

/**
 * The row of a tool in the table of the README. Requests, seconds and reach are those of its first run on the correct
 * server.
 */
export function rowOf({ tool, server, command }: Labels, { correct, caught, operations }: Runs): string {
  const [{ reached, requests, seconds }] = correct;
  const falseAlarms = distinct(correct.flatMap(({ reports }) => reports)).size;
  const shares = [`${caught.filter(Boolean).length} of ${caught.length}`, falseAlarms, `${reached} of ${operations}`];
  return `| ${[tool, server, ...shares, requests, Math.round(seconds), `\`${command}\``].join(' | ')} |`;
}
