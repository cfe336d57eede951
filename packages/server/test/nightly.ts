/** Whether `pnpm test:nightly` runs, and not `pnpm test`, which runs a sample of what takes long. */
export const isNightly = process.env.NIGHTLY !== undefined;

/** Every nth element, and in the nightly run all of them. */
export function sampleOf<Element>(all: readonly Element[], nth: number): Element[] {
  return isNightly ? [...all] : all.filter((_, index) => index % nth === 0);
}
