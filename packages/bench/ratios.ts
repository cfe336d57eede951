/** The figures of a scenario by stack, and how they compare with those that were recorded. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { quantile, ratiosOf, spread } from './figures.ts';

/** Of each round of one scenario against one stack. */
export interface Rounds {
  /** Microseconds of user and system time per request. */
  readonly cpu: number[];
  readonly perSecond: number[];
}

/** The rounds of a scenario, by stack. */
export type Measured = Readonly<Record<string, Rounds>>;

interface Recorded {
  readonly date: string;
  /** What was measured. */
  readonly commit: string;
  /**
   * The processor time of the service in relation to another stack: the median of the rounds, and the quartiles, because a single
   * round can be far off on a machine with other work.
   */
  readonly ratios: Readonly<
    Record<string, { readonly median: number; readonly lower: number; readonly upper: number }>
  >;
}

const file = new URL('last-ratios.json', import.meta.url);
const last: Readonly<Record<string, Recorded>> = JSON.parse(readFileSync(file, 'utf8'));

/** Prints CPU per request and throughput of the stacks, and the ratios of the service to the others. */
export function printTable(scenario: string, measured: Measured): void {
  const ours = measured.service;
  console.log(`\n${scenario}`);
  console.table(
    Object.fromEntries(
      Object.entries(measured).map(([stack, { cpu, perSecond }]) => [
        stack,
        {
          'CPU, µs per request': spread(cpu, 0),
          'requests per second': spread(perSecond, 0),
          'CPU of the service to it': spread(ratiosOf(ours?.cpu ?? [], cpu), 2),
          'throughput of the service to it': spread(ratiosOf(ours?.perSecond ?? [], perSecond), 2),
        },
      ]),
    ),
  );
}

/** Prints which ratios are beyond the spread of the recorded ones, and with `--record`, records them. */
export function compareWithLast(scenarios: Readonly<Record<string, Measured>>, isRecorded: boolean): void {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  const date = new Date().toISOString().slice(0, 10);
  const all: Record<string, Recorded> = { ...last };
  console.log('\nCompared with last-ratios.json:');
  for (const [scenario, measured] of Object.entries(scenarios)) {
    const then = last[scenario];
    const ratios = ratiosToOthers(measured);
    const changes = Object.entries(ratios).flatMap(([stack, { median }]) => {
      const { median: middle, lower = median, upper = median } = then?.ratios[stack] ?? {};
      if (median >= lower && median <= upper) return [];
      const change = median > upper ? 'SLOWER' : 'faster';
      return [`${change} than ${middle} [${lower}–${upper}] in relation to ${stack}: ${median}`];
    });
    const since = then === undefined ? 'not recorded yet' : `since ${then.date} (${then.commit})`;
    console.log(`${scenario}, ${since}: ${changes.length === 0 ? 'within the spread' : changes.join('; ')}`);
    // A run of some stacks keeps the ratios of the others.
    all[scenario] = { date, commit, ratios: { ...then?.ratios, ...ratios } };
  }
  if (isRecorded) writeFileSync(file, `${JSON.stringify(all, undefined, 2)}\n`);
}

function ratiosToOthers({ service, ...others }: Measured): Recorded['ratios'] {
  return Object.fromEntries(
    Object.entries(others).map(([stack, { cpu }]) => {
      const ratios = ratiosOf(service?.cpu ?? [], cpu);
      const at = (share: number) => Math.round(quantile(ratios, share) * 1000) / 1000;
      return [stack, { median: at(0.5), lower: at(0.25), upper: at(0.75) }];
    }),
  );
}
