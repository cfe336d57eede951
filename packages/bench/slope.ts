/** A straight line through samples over time, by least squares. */
export interface Slope {
  /** Change per hour. */
  readonly perHour: number;
  /** Half the width of the interval that contains the true slope with 95 %, if the samples scatter independently. */
  readonly uncertainty: number;
}

/** @param samples of a value, with their times in seconds; at least three */
export function slopeOf(samples: readonly { readonly at: number; readonly value: number }[]): Slope {
  const count = samples.length;
  const meanOf = (of: (sample: { at: number; value: number }) => number) =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / count;
  const at = meanOf((sample) => sample.at);
  const value = meanOf((sample) => sample.value);
  const spread = samples.reduce((sum, sample) => sum + (sample.at - at) ** 2, 0);
  const slope = samples.reduce((sum, sample) => sum + (sample.at - at) * (sample.value - value), 0) / spread;
  const residual = samples.reduce((sum, sample) => sum + (sample.value - value - slope * (sample.at - at)) ** 2, 0);
  const deviation = Math.sqrt(residual / (count - 2) / spread);
  return { perHour: slope * 3600, uncertainty: 1.96 * deviation * 3600 };
}
