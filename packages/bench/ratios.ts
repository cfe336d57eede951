import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Sample } from './report.ts';

/**
 * The processor time of the service in relation to another stack: the median of the rounds, and the quartiles, because a single round
 * can be far off on a machine with other work.
 */
interface Ratio {
  readonly median: number;
  readonly lower: number;
  readonly upper: number;
}

/** By scenario, then by the other stack. */
export type ScenarioRatios = Record<string, Record<string, Ratio>>;

interface Recorded {
  readonly date: string;
  /** What was measured. */
  readonly commit: string;
  /** By the other stack. */
  readonly ratios: Readonly<Record<string, Ratio>>;
}

const file = new URL('last-ratios.json', import.meta.url);

/** Compares round by round, so that a slow round affects both sides of a ratio. */
export function ratiosOf(samples: readonly Sample[], stacks: readonly string[]): Record<string, Ratio> {
  const of = (stack: string) => samples.filter((sample) => sample.stack === stack).map(({ cpu }) => cpu);
  const ours = of('service');
  const others = stacks.filter((stack) => stack !== 'service');
  return Object.fromEntries(
    others.map((stack) => {
      const theirs = of(stack);
      const ratios = ours
        .map((cpu, round) => rounded(cpu / (theirs[round] ?? Number.NaN)))
        .toSorted((left, right) => left - right);
      const at = (share: number) => ratios[Math.round(share * (ratios.length - 1))] ?? Number.NaN;
      return [stack, { median: at(0.5), lower: at(0.25), upper: at(0.75) }];
    }),
  );
}

/** Prints which ratios are now beyond the spread of the recorded ones. */
export function compareWithLast(ratios: ScenarioRatios): void {
  const last = lastRatios();
  console.log('\nCompared with last-ratios.json:');
  for (const [scenario, ofScenario] of Object.entries(ratios)) {
    const recorded = last[scenario];
    if (recorded === undefined) {
      console.log(`${scenario}: not recorded yet`);
      continue;
    }
    const changes = Object.entries(ofScenario).flatMap(([stack, { median }]) => {
      const then = recorded.ratios[stack];
      if (then === undefined) return [];
      const change = median > then.upper ? 'SLOWER' : median < then.lower ? 'faster' : undefined;
      const range = `${then.median} [${then.lower}–${then.upper}]`;
      return change === undefined ? [] : [`${change} than ${range} in relation to ${stack}: ${median}`];
    });
    const text = changes.length === 0 ? 'within the spread' : changes.join('; ');
    console.log(`${scenario}, since ${recorded.date} (${recorded.commit}): ${text}`);
  }
}

/** Keeps these ratios for later runs; those of scenarios that were not measured remain. */
export function recordRatios(ratios: ScenarioRatios): void {
  const date = new Date().toISOString().slice(0, 10);
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  const before = lastRatios();
  // A run of some stacks keeps the ratios of the others.
  const recorded = Object.entries(ratios).map(([scenario, ofScenario]): [string, Recorded] => [
    scenario,
    { date, commit, ratios: { ...before[scenario]?.ratios, ...ofScenario } },
  ]);
  const all = { ...before, ...Object.fromEntries(recorded) };
  writeFileSync(file, `${JSON.stringify(all, undefined, 2)}\n`);
}

function lastRatios(): Readonly<Record<string, Recorded>> {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
