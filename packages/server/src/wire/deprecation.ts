import type { Operation } from '../contract/contract.ts';

/** Headers of a deprecated operation: the days of its deprecation (RFC 9745) and removal (RFC 8594). */
export function deprecationHeaders({ deprecation }: Pick<Operation, 'deprecation'>): Record<string, string> {
  if (deprecation === null) return {};
  const start = (day: string) => Temporal.PlainDate.from(day).toZonedDateTime('UTC').epochMilliseconds;
  return {
    Deprecation: `@${start(deprecation.since) / 1000}`,
    Sunset: new Date(start(deprecation.sunset)).toUTCString(),
  };
}
