/** The size of a firm. The number of time entries is approximate. */
export interface Size {
  readonly staff: number;
  readonly clients: number;
  readonly jobs: number;
  readonly entries: number;
  /** They share one content. */
  readonly files: number;
}

/** A firm that the service writes with its own commands, and how many of it are side by side in the tenant. */
export interface Profile {
  readonly written: Size;
  readonly copies: number;
}

/** Three years of four people. */
const written: Size = { staff: 4, clients: 40, jobs: 200, entries: 6_000, files: 600 };

export const profiles = {
  /** For tests: as many rows as `tiny`, in less time. */
  sample: { written: { staff: 4, clients: 4, jobs: 15, entries: 300, files: 30 }, copies: 20 },
  /** Beside the firm of the examples, which serves calls meanwhile. */
  demo: { written: { staff: 4, clients: 20, jobs: 70, entries: 2_000, files: 150 }, copies: 1 },
  tiny: { written, copies: 1 },
  small: { written, copies: 20 },
  mid: { written, copies: 200 },
  load: { written, copies: 600 },
} as const satisfies Readonly<Record<string, Profile>>;

export type ProfileName = keyof typeof profiles;

export function isProfile(name: string): name is ProfileName {
  return Object.hasOwn(profiles, name);
}
