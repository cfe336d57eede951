import type { Operation } from '../contract/contract.ts';

/** The headers of a deprecated operation: since when it is deprecated (RFC 9745), and when it is removed (RFC 8594). */
export function deprecationHeaders({ deprecation }: Pick<Operation, 'deprecation'>): Record<string, string> {
  if (deprecation === null) return {};
  const start = (day: string) => Temporal.PlainDate.from(day).toZonedDateTime('UTC').epochMilliseconds;
  return {
    Deprecation: `@${start(deprecation.since) / 1000}`,
    Sunset: new Date(start(deprecation.sunset)).toUTCString(),
  };
}
