/** State machines and restricted properties in the bundle and the reference. */
import { describe, expect, it } from 'vitest';
import { describeMachine, inWords, type Schema } from '../../openapi/rules/described.ts';
import { readContract } from '../../packages/spec/src/examples.ts';
import type { StateMachine } from '../../packages/spec/src/index.ts';
import { diagramOf, omittedLabels } from './diagram.ts';
import { withStates } from './states.ts';

const contract = await readContract();
const schemas = Object.entries(contract.components.schemas ?? {}) as [string, Schema][];
const machines = schemas.flatMap(([name, { 'x-state-machine': machine }]) =>
  machine === undefined ? [] : [{ name, machine }],
);

const machine: StateMachine = {
  initial: ['ASHORE'],
  operations: ['updateBoat'],
  transitions: [
    {
      ...{ from: ['ASHORE'], to: 'AFLOAT', roles: ['BOAT_W'], repeatable: true },
      ...{ requires: ['tug'], conditions: ['isTight', 'isPaid', 'isEmpty', 'isUsed', 'isOurs', 'isWood'] },
    },
    { from: ['AFLOAT', 'ASHORE'], to: 'SUNK', events: ['hullBroken', 'stormReported'] },
    { from: ['AFLOAT'], to: 'ASHORE', operations: ['updateBoat', 'deleteBoat'], events: ['tideFallen'] },
  ],
  conditions: {
    isTight: 'The hull has no leak.',
    isPaid: 'The fee is paid | waived.',
    isEmpty: { zero: ['load', 'crew'], remedy: 'Unload it.' },
    isUsed: { positive: ['miles', 'hours'], remedy: 'Sail it.' },
    isOurs: { is: { owner: ['FIRM'] }, remedy: 'Buy it.' },
    isWood: { isNot: { hull: ['STEEL', 'IRON'] }, remedy: 'Build another.' },
  },
};

describe('describeMachine', () => {
  it('lists the initial states and each transition with its movers, roles, required fields and conditions', () => {
    expect(describeMachine(machine).split('\n')).toEqual([
      'A new row is `ASHORE`. Possible transitions:',
      '',
      '| From | To | By | Role | Condition |',
      '|---|---|---|---|---|',
      '| `ASHORE` | `AFLOAT` | `updateBoat` | `BOAT_W` | Requires `tug`. The hull has no leak. The fee is paid \\| waived. The `load` and `crew` are zero. The `miles` or `hours` is more than zero. The `owner` is `FIRM`. The `hull` is not `STEEL` or `IRON`. Can be repeated. |',
      '| `AFLOAT`, `ASHORE` | `SUNK` | service: hull broken, storm reported |  |  |',
      '| `AFLOAT` | `ASHORE` | `updateBoat`, `deleteBoat`, service: tide fallen |  |  |',
    ]);
  });

  it('omits columns that no transition uses', () => {
    const [simple] = machine.transitions.slice(1);
    const text = describeMachine({ ...machine, transitions: simple === undefined ? [] : [simple] });
    expect(text).toContain('| From | To | By |\n');
  });
});

describe.each(machines)('$name', ({ name, machine }) => {
  it('lists its transitions in the description of the bundle, which fits in a field definition', () => {
    const description = schemas.find(([one]) => one === name)?.[1].description ?? '';
    expect(description).toContain(describeMachine(machine));
    // The schema of a record type returns it as the `description` of a field.
    const { maxLength = 0 } = Object(contract.components.schemas?.FieldDefinition).properties.description;
    expect(description.length).toBeLessThanOrEqual(maxLength);
  });

  it('is drawn with every state, operation and event, with a name and without colors of its own', () => {
    const svg = diagramOf(name, machine);
    const texts = [...svg.matchAll(/<text[^>]*>(.*?)<\/text>/g)].map(([, text = '']) =>
      text.replaceAll('&#160;', ' ').trim(),
    );
    const omitted = omittedLabels(machine);
    for (const { from, to, operations = [], events = [] } of machine.transitions) {
      const labels = operations.filter((operation) => !omitted.includes(operation));
      expect(texts).toEqual(expect.arrayContaining([...from, to, ...labels, ...events.map(inWords)]));
    }
    for (const label of omitted) expect(texts).not.toContain(label);
    expect(svg).toContain(`<title id="${name}-title">`);
    expect(svg).toContain(`<desc id="${name}-description">`);
    expect(svg).not.toMatch(/black|\n/);
  });
});

describe('omittedLabels', () => {
  it('are the usual operations, unless only one arrow has them', () => {
    expect(omittedLabels(machine)).toEqual(['updateBoat']);
    expect(omittedLabels({ ...machine, transitions: machine.transitions.slice(0, 2) })).toEqual([]);
  });
});

describe('withStates', () => {
  it('links from each status to the section with its transitions', () => {
    const shown = withStates(structuredClone(contract));
    const [chapter] = shown.tags.filter((tag) => 'name' in tag && tag.name === 'states');
    const text = chapter !== undefined && 'description' in chapter ? String(chapter.description) : '';
    for (const { name, machine } of machines) {
      const type = name.replace(/Status$/, '');
      expect(text).toContain(`\n## ${type}\n`);
      expect(text).toContain(describeMachine(machine));
      for (const label of omittedLabels(machine))
        expect(text).toMatch(new RegExp(`no other operation: .*\\b${label}\\b`));
      expect(shown.components.schemas?.[name]).toHaveProperty(
        'description',
        expect.stringContaining(`(#/states/${type.toLowerCase()})`),
      );
    }
  });
});
