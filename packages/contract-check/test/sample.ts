/** Whether every drift is tested, which the nightly run does, and not a sample of them. */
export const isEveryDriftTested = process.env.DRIFTS === 'all';

/** Every nth element of a list of drifts; all of them with `DRIFTS=all`. */
export function sampleOf<Drift>(drifts: readonly Drift[], nth: number): Drift[] {
  return isEveryDriftTested ? [...drifts] : drifts.filter((_, index) => index % nth === 0);
}
