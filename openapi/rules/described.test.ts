import { expect, describe as group, it } from 'vitest';
import { describe } from './described.ts';

const states = {
  initial: ['ASHORE'],
  operations: ['updateBoat'],
  transitions: [{ from: ['ASHORE'], to: 'AFLOAT' }],
};

/** A bundle with one operation. */
function bundleOf(operation: object, schemas: object = {}) {
  const post: { description?: string } = { ...operation };
  const document = {
    paths: { '/boats': { parameters: [], post } },
    components: { schemas },
    'x-rate-limit-policies': { write: { limit: 1200, window: 60 }, token: { limit: 30, window: 60 } },
    'x-body-limits': { write: 1048576 },
    'x-tenant-limits': { sailingBoats: 20 },
  };
  describe(document);
  return { post, document };
}

/** The description of a property after the bundle was described. */
function descriptionOf(property: object, schemas: object = {}): unknown {
  const boat = { properties: { property: { ...property } } };
  bundleOf({}, { ...schemas, Boat: boat });
  return Object(boat.properties.property).description;
}

group('an operation', () => {
  const facts = {
    'x-roles': ['BOAT_W', 'ADMIN'],
    'x-rate-limit': 'write',
    'x-body-limit': 'write',
    'x-tenant-limit': 'sailingBoats',
    'x-idempotent': 'key',
  };

  it('lists its roles, rate limit, idempotency and limits after its description', () => {
    expect(bundleOf({ ...facts, description: 'Creates a boat.\n' }).post.description).toBe(`Creates a boat.

**Access and limits**

- **Roles**: \`BOAT_W\` or \`ADMIN\` (see the schema \`Role\`)
- **Rate limit**: 1,200 requests in 60 seconds per API user (policy \`write\`)
- **Idempotency**: safe to repeat with the same \`Idempotency-Key\`
- **Maximum body size**: 1,024 KiB
- **Maximum per tenant**: 20 sailing boats
`);
  });

  it.each([
    [['PUBLIC'], '- **Roles**: none; no token is required'],
    [['ANY'], '- **Roles**: none; any valid token'],
  ])('with the roles %j says that none is required', (roles, line) => {
    const { post } = bundleOf({ ...facts, 'x-roles': roles, 'x-rate-limit': 'token' });
    expect(post.description).toContain(line);
  });

  it.each([
    [true, 'safe to repeat'],
    [false, 'not safe to repeat: the write can take effect twice'],
  ])('with x-idempotent %j is %s', (idempotent, words) => {
    expect(bundleOf({ ...facts, 'x-idempotent': idempotent }).post.description).toContain(
      `**Idempotency**: ${words}\n`,
    );
  });

  it('lists when it was deprecated and when it is removed', () => {
    const deprecation = { deprecated: true, 'x-deprecation': { since: '2026-10-01', sunset: '2027-04-01' } };
    const { description } = bundleOf({ ...facts, ...deprecation }).post;
    expect(description).toContain('- **Deprecated**: since 2026-10-01; removed on 2027-04-01 or later\n');
  });

  it('is marked as an extension, and without a body has no maximum size', () => {
    const { description } = bundleOf({ ...facts, 'x-body-limit': undefined, 'x-extension': true }).post;
    expect(description).toContain('- **Extension**: an addition to the product interface');
    expect(description).not.toContain('Maximum body size');
  });
});

group('a property', () => {
  it('describes who reads and writes it', () => {
    const property = { description: 'Rate.\n', 'x-read-roles': ['A', 'B'], 'x-write-roles': ['C'] };
    expect(descriptionOf(property)).toBe('Rate. Null without the `A` or `B` role. Writing it requires the `C` role.');
  });

  it('describes who sends a value', () => {
    const property = { description: 'Whether to send.\n', 'x-value-roles': { true: ['A', 'B'] } };
    expect(descriptionOf(property)).toBe('Whether to send. `true` also requires the `A` or `B` role.');
  });

  it('describes who sends a value of a parameter', () => {
    const parameter = { in: 'query', description: 'Rows.', schema: { $ref: '#/components/schemas/Choice' } };
    const schemas = { Choice: { description: 'Choice.', 'x-value-roles': { ALL: ['A'] } } };
    expect(descriptionOf(parameter, schemas)).toBe('Rows. `ALL` also requires the `A` role.');
  });

  it('describes which role reads the related rows that it filters by', () => {
    const schemas = { Crew: { 'x-record': { readRoles: ['CREW_R'] } }, CrewRelationWhere: {} };
    const property = { $ref: '#/components/schemas/CrewRelationWhere', description: 'Conditions on the crew.' };
    expect(descriptionOf(property, schemas)).toBe('Conditions on the crew. Requires the `CREW_R` role.');
  });

  it('describes which role reads the value that it filters by', () => {
    const schemas = {
      Crew: { properties: { rate: { description: 'Rate.', 'x-read-roles': ['RATE_R'] } } },
      CrewWhere: { properties: { rate: { $ref: '#/components/schemas/DecimalFilter' } } },
      DecimalFilter: { description: 'Condition on a number.' },
    };
    bundleOf({}, schemas);
    expect(schemas.CrewWhere.properties.rate).toMatchObject({
      description: 'Condition on a number. Requires the `RATE_R` role.',
    });
  });

  it.each([
    [{ value: 'RED' }, 'Color. Default on creation: `RED`.'],
    [{ value: [] }, 'Color. Default on creation: `[]`.'],
    [{ value: { hue: null } }, 'Color. Default on creation: an object in which every property is null.'],
    [{ rule: 'the color of the harbor.' }, 'Color. Default on creation: the color of the harbor.'],
  ])('describes its value on creation, %j', (onCreate, text) => {
    expect(descriptionOf({ description: 'Color.', 'x-on-create': onCreate })).toBe(text);
  });

  it('describes with which values of another property it is null', () => {
    expect(descriptionOf({ type: 'array', description: 'Masts.', 'x-only-for': { rig: ['KETCH'] } })).toBe(
      'Masts. Empty unless `rig` is `KETCH`.',
    );
    expect(descriptionOf({ description: 'Mast, or null.', 'x-only-for': { rig: ['SLOOP', 'KETCH'] } })).toBe(
      'Mast. Null unless `rig` is `SLOOP` or `KETCH`.',
    );
  });

  it.each([
    [true, 'It cannot change after creation.'],
    [{ unless: { rig: ['SLOOP'] } }, 'It can change only while the `rig` is `SLOOP`.'],
    [{ once: 'the boat is afloat.' }, 'It cannot change once the boat is afloat.'],
  ])('describes that it cannot change, %j', (immutable, text) => {
    expect(descriptionOf({ description: 'Mast.', 'x-immutable': immutable })).toBe(`Mast. ${text}`);
  });

  it('keeps the description of the schema that it refers to', () => {
    const Color = { description: 'Color.\n\n- `RED`: port.\n' };
    const property = { $ref: '#/components/schemas/Color', 'x-on-create': { value: 'RED' } };
    expect(descriptionOf(property, { Color })).toBe('Color.\n\n- `RED`: port.\n\nDefault on creation: `RED`.');
  });

  it('does not repeat the only initial state of its state machine', () => {
    const BoatStatus = { description: 'Status.', 'x-state-machine': states };
    const property = { $ref: '#/components/schemas/BoatStatus', 'x-on-create': { value: 'ASHORE' } };
    expect(descriptionOf(property, { BoatStatus })).toBeUndefined();
  });

  it('is described once, even if the bundle contains the object twice', () => {
    const shared = { description: 'Color.', 'x-on-create': { value: 'RED' } };
    bundleOf({}, { Boat: { properties: { hull: shared, deck: shared } } });
    expect(shared.description).toBe('Color. Default on creation: `RED`.');
  });
});

group('a status', () => {
  it('says in which states nothing else can change', () => {
    const BoatStatus: { description?: string } = { description: 'Status.' };
    Object.assign(BoatStatus, { 'x-state-machine': { ...states, fixed: ['AFLOAT'] } });
    bundleOf({}, { BoatStatus });
    expect(BoatStatus.description).toContain(
      'A new row is `ASHORE`. Nothing else of a row that is `AFLOAT` can change. Possible transitions:',
    );
  });

  it('says in which states an import writes it', () => {
    const BoatStatus: { description?: string } = { description: 'Status.' };
    Object.assign(BoatStatus, { 'x-state-machine': { ...states, imported: ['AFLOAT', 'SUNK'] } });
    bundleOf({}, { BoatStatus });
    expect(BoatStatus.description).toContain('A new row is `ASHORE`; an imported one can also be `AFLOAT` or `SUNK`.');
  });

  it('lists its transitions', () => {
    const BoatStatus: { description?: string } = Object.assign(
      { description: 'Status.' },
      { 'x-state-machine': states },
    );
    bundleOf({}, { BoatStatus });
    expect(BoatStatus.description).toBe(
      'Status.\n\nA new row is `ASHORE`. Possible transitions:\n\n| From | To | By |\n|---|---|---|\n| `ASHORE` | `AFLOAT` | `updateBoat` |\n',
    );
  });
});
