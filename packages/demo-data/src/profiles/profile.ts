/** The size of a firm. Other sizes are derived from clients and staff. */
export interface Profile {
  /** Also those who have left. */
  readonly staff: number;
  readonly clients: number;
  readonly jobs: number;
  /** Approximate number of time entries, which are derived from working days. */
  readonly entries: number;
  /** Number of files; they share one content. */
  readonly files: number;
}

export const profiles = {
  tiny: { staff: 4, clients: 80, jobs: 400, entries: 7_500, files: 600 },
  small: { staff: 40, clients: 1_200, jobs: 4_000, entries: 120_000, files: 30_000 },
  mid: { staff: 345, clients: 8_000, jobs: 40_000, entries: 1_200_000, files: 310_000 },
  load: { staff: 1_035, clients: 24_000, jobs: 120_000, entries: 3_600_000, files: 930_000 },
} as const satisfies Readonly<Record<string, Profile>>;

export type ProfileName = keyof typeof profiles;

/** The other tenants that are loaded with the first, for tests of isolation: by the suffix of their name. */
export const besides: Readonly<Record<ProfileName, Readonly<Record<string, ProfileName | 'empty'>>>> = {
  tiny: {},
  small: {},
  mid: { small: 'small', empty: 'empty' },
  load: {},
};

export function isProfile(name: string): name is ProfileName {
  return Object.hasOwn(profiles, name);
}
