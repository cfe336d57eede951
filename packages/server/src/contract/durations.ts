import { contract, type DurationName } from './contract.ts';

const durations = contract['x-durations'];

/** A duration that callers rely on, in milliseconds. */
export function millisecondsOf(name: DurationName): number {
  return inMilliseconds(durations[name]);
}

/** The pauses before an event is sent again, in milliseconds: after the first failure, the second and so on. */
export const eventRetries: readonly number[] = durations.eventRetries.map(inMilliseconds);

function inMilliseconds(duration: string): number {
  return Temporal.Duration.from(duration).total('milliseconds');
}
