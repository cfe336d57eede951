import { describe, expect, it } from 'vitest';
import type { Category } from '../../src/finding/finding.ts';
import { checkOne, type Suite, suites } from './independent.ts';

describe.each(Object.keys(suites) as Suite[])('%s', (suite) => {
  it('is left in peace as long as it is right', async () => {
    const { findings } = await checkOne(suite);
    expect(findings).toEqual([]);
  }, 180_000);

  it('has drifts of different names, each of an operation', () => {
    const { drifts } = suites[suite];
    expect(new Set(drifts.map(({ name }) => name)).size).toBe(drifts.length);
    expect(drifts.every(({ operation }) => operation !== '')).toBe(true);
  });
});

/** What the check did not find when the suites came, by what each of them needs besides its own operation. */
const found: Readonly<Record<Suite, Readonly<Record<string, readonly string[]>>>> = {
  fleet: {
    'form-gate': [],
    'form-yard': [],
    'leap-day-500': [],
    'upload-no-title': [],
    'upload-needs-date': [],
    'cookie-locale': [],
    'filter-unknown-status': [],
    'filter-hybrid': [],
    'percent-500': [],
    'old-date-500': [],
    'lenient-json': [],
    'transfer-cargo': [],
    'put-merges': ['createVehicle', 'getVehicle'],
    'patch-tags-appends': ['createVehicle', 'getVehicle'],
    'patch-false-zero': ['createVehicle', 'getVehicle'],
    'trip-transfer-not-stored': ['createVehicle', 'getTrip'],
    'assign-changes-nothing': ['createVehicle', 'getVehicle', 'listDrivers'],
    'unassign-ignored': ['createVehicle', 'getVehicle', 'assignDriver', 'listDrivers'],
    'etag-not-for-driver': ['createVehicle', 'getVehicle', 'listDrivers'],
    'bulk-last-skipped': ['createVehicle', 'getVehicle'],
    'bulk-delete-first-only': ['createVehicle', 'getVehicle', 'bulkCreateVehicles'],
    'delete-hard': ['createVehicle', 'getVehicle', 'listVehicles'],
    'stats-of-deleted': ['createVehicle', 'getVehicle', 'deleteVehicle'],
    'total-pages-floor': [],
    'fields-ignored': [],
    'trip-order-inverted': ['createVehicle', 'listVehicles'],
    'search-not-model': [],
    'create-attributes-last-lost': ['getVehicle'],
    'plate-duplicate-accepted': ['getVehicle'],
    'include-wrong-driver': ['listVehicles', 'getVehicle', 'createVehicle'],
    'count-list-disagrees': ['getVehicle'],
    'count-not-after-delete': ['createVehicle', 'getVehicle', 'createTrip', 'listTrips'],
    'patch-attributes-merge': ['createVehicle', 'getVehicle'],
    'patch-depot-merges': ['createVehicle', 'getVehicle'],
    'deleted-still-listed': ['createVehicle', 'getVehicle', 'deleteVehicle'],
    'deleted-still-readable': ['createVehicle', 'deleteVehicle'],
    'trips-of-deleted': ['createVehicle', 'getVehicle', 'deleteVehicle'],
    'trips-other-parent': ['createVehicle', 'createTrip', 'getTrip'],
    'stats-count-off': ['listTrips'],
    'assign-only-if-empty': ['createVehicle', 'getVehicle', 'listDrivers'],
    'tenant-list-leak': ['getVehicle'],
    'accept-any': [],
  },
  tickets: {
    'r-customer-patch-empty': ['createCustomer', 'getCustomer'],
    'p-customer-patch-birth-null': ['createCustomer', 'getCustomer'],
    'a-customer-412-is-409': ['createCustomer', 'getCustomer'],
    'hall-not-stored': ['listVenues', 'listHalls'],
    'hall-wheelchair-default': ['listVenues', 'listHalls'],
    'halls-all-venues': ['listVenues', 'createHall'],
    'order-last-line-lost': ['getOrder', 'listCustomers', 'listEvents'],
    'events-q-case-sensitive': [],
    'events-counts-of-page': [],
    'a-event-organizer-phone': ['createEvent', 'listEvents'],
    'a-order-total-float': ['listOrders'],
    'a-voucher-percent-string': ['putVoucher'],
    'r-event-status-soldOut': [],
    'r-order-card-expiry': ['listEvents', 'listCustomers'],
    'r-cancel-reason-short': ['createOrder', 'getOrder', 'listEvents', 'listCustomers'],
  },
};

describe.each(Object.entries(found) as [Suite, Readonly<Record<string, readonly string[]>>][])(
  'a drift of %s',
  (suite, names) => {
    it.each(Object.entries(names))('%s is found', async (name, needs) => {
      const drift = suites[suite].drifts.find((one) => one.name === name);
      if (drift === undefined) throw new Error(`${suite} has no drift ${name}.`);
      const only = [drift.operation, ...needs];
      const checks = [drift.kind as Category, 'semantics', 'answers', 'acceptance', 'robustness'] as const;
      const { findings } = await checkOne(suite, name, { only, checks });
      expect(findings.length).toBeGreaterThan(0);
    });
  },
);
