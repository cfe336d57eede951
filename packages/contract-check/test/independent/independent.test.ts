import { describe, expect, it } from 'vitest';
import type { Category } from '../../src/finding/finding.ts';
import { isEveryDriftTested, sampleOf } from '../sample.ts';
import { checkOne, type Suite, suites } from './independent.ts';
import { strangers } from './strangers/strangers.ts';

const names = Object.keys(suites) as Suite[];

// That a correct server has no findings, four other servers show each day.
describe.each(isEveryDriftTested ? names : [])('the correct server of %s', (suite) => {
  it('has no findings', async () => {
    const { findings } = await checkOne(suite);
    expect(findings).toEqual([]);
  });
});

describe.each(names)('%s', (suite) => {
  it('has drifts with unique names, each of a declared operation', () => {
    const { drifts } = suites[suite];
    expect(new Set(drifts.map(({ name }) => name)).size).toBe(drifts.length);
    expect(drifts.every(({ operation }) => operation !== '')).toBe(true);
  });
});

type Described = Exclude<Suite, keyof typeof strangers>;

/**
 * A sample of the drifts that the check missed when the suites were added, some of each kind, with the other operations
 * that each needs. The script `independent` runs all of them.
 */
const found: Readonly<Record<Described, Readonly<Record<string, readonly string[]>>>> = {
  fleet: {
    'cookie-locale': [],
    'filter-unknown-status': [],
    'transfer-cargo': [],
    'put-merges': ['createVehicle', 'getVehicle'],
    'plate-duplicate-accepted': ['getVehicle'],
    'tenant-list-leak': ['getVehicle'],
  },
  lab: {
    'job-progress-90': ['startExport'],
    'submit-received': ['createSample', 'getSample', 'startSample'],
    'role-delete-write': ['createSample', 'getSample'],
    'any-tag-actions': ['createSample', 'getSample'],
    'archived-leak': ['createSample', 'getSample', 'archiveSample', 'releaseSample', 'submitSample', 'startSample'],
    'cost-read': ['createSample'],
    'rows-early': ['startExport', 'getExport'],
    'bulk-stops': ['listSamples', 'getSample'],
    'delete-takes-next': ['createSample', 'getSample', 'startSample', 'listSamples'],
    'third-read-rounds': ['createSample'],
  },
  tickets: {
    'r-customer-patch-empty': ['createCustomer', 'getCustomer'],
    'order-last-line-lost': ['getOrder', 'listCustomers', 'listEvents'],
    'events-q-case-sensitive': [],
  },
};

describe.each(Object.entries(found) as [Described, Readonly<Record<string, readonly string[]>>][])(
  'a drift of %s',
  (suite, names) => {
    it.each(sampleOf(Object.entries(names), 10))('%s is found', async (name, needs) => {
      const drift = suites[suite].drifts.find((one) => one.name === name);
      if (drift === undefined) throw new Error(`${suite} has no drift ${name}.`);
      const only = [drift.operation, ...needs];
      // The values of constraints are not what the laboratory is about.
      const probes = suite === 'lab' ? { probes: 2 } : {};
      const checks = [drift.kind as Category, 'behavior', 'responses', 'valid input', 'robustness'] as const;
      const { findings } = await checkOne(suite, name, { focus: only, checks, ...probes });
      expect(findings.length).toBeGreaterThan(0);
    });
  },
);

/** The drifts of the servers in the shapes of frameworks that are not found, by server. */
const missed: Readonly<Record<keyof typeof strangers, readonly string[]>> = {
  // Its filters are in a language of their own; what is restored can be a draft; a cancellation can come too late.
  aip: ['filter-ignored', 'undelete-resets', 'batch-get-hides', 'cancel-lies'],
  aspnet: ['floor-zero-lost'],
  // Lists often leave out what is cancelled.
  drf: ['cancelled-hidden'],
  etags: [],
  fastapi: [],
  // Whether several labels are joined with AND, and whether 404 hides what exists, is only said in words.
  github: ['labels-any', 'foreign-403'],
  jsonapi: [],
  spring: [],
  stripe: [],
  // The end of a page can be the number of its last row, or of the next one.
  twilio: ['end-off'],
};

const all = (Object.keys(strangers) as (keyof typeof strangers)[]).flatMap((suite) =>
  strangers[suite].drifts.map(({ name }) => [suite, name] as const),
);

// By day the drifts above show that the check finds what it found.
it.each(isEveryDriftTested ? all : [])(
  'all operations of %s with the drift %s have a finding, unless it is named as missed',
  async (suite, name) => {
    // With fewer values, a length of one property is not tried.
    const { findings } = await checkOne(suite, name, { probes: 40 });
    expect(findings.length > 0).toBe(!missed[suite].includes(name));
  },
);
