/** One round of one scenario against one stack. */
export interface Sample {
  readonly stack: string;
  readonly scenario: string;
  /** Microseconds of user and system time per request. */
  readonly cpu: number;
  readonly perSecond: number;
}

/** Prints, for each scenario, CPU per request and throughput of the stacks, and the ratios of the service to the others. */
export function report(samples: readonly Sample[], stacks: readonly string[]): void {
  for (const [scenario, ofScenario] of Map.groupBy(samples, (sample) => sample.scenario)) {
    const ours = ofScenario.filter((sample) => sample.stack === 'service');
    console.log(`\n${scenario}`);
    console.table(
      Object.fromEntries(
        stacks.map((stack) => {
          const own = ofScenario.filter((sample) => sample.stack === stack);
          return [
            stack,
            {
              'CPU, µs per request': spread(
                own.map((sample) => sample.cpu),
                0,
              ),
              'requests per second': spread(
                own.map((sample) => sample.perSecond),
                0,
              ),
              'CPU of the service to it': ratio(ours, own, (sample) => sample.cpu),
              'throughput of the service to it': ratio(ours, own, (sample) => sample.perSecond),
            },
          ];
        }),
      ),
    );
  }
}

/** Compares round by round, so that a slow round affects both sides of the ratio. */
function ratio(ours: readonly Sample[], theirs: readonly Sample[], of: (sample: Sample) => number): string {
  const ratios = ours.flatMap((sample, round) => {
    const other = theirs[round];
    return other === undefined ? [] : [of(sample) / of(other)];
  });
  return spread(ratios, 2);
}

function spread(values: readonly number[], digits: number): string {
  const sorted = values.toSorted((left, right) => left - right);
  const at = (share: number) => (sorted[Math.round(share * (sorted.length - 1))] ?? Number.NaN).toFixed(digits);
  return `${at(0.5)} [${at(0)}–${at(1)}]`;
}
