/** Tests every pair of states with every mover, for every state machine of the contract, against its declaration. */

import { isDeepStrictEqual } from 'node:util';
import { operations } from '@financial-automation/spec';
import { describe, expect, it } from 'vitest';
import { contract } from '../contract/contract.ts';
import { fieldsOf } from '../contract/fields.ts';
import { Rejection } from '../contract/rejection.ts';
import '../app/handlers.ts';
import { allEntities } from './registry.ts';
import { rulesOf } from './rules.ts';
import { checkInitialState, findTransition, type Machine, type Mover, machineOf } from './state-machine.ts';

interface StatesAndMachine {
  readonly name: string;
  readonly states: readonly string[];
  readonly machine: Machine;
}

/** A transition from one state to another by one mover. */
interface Step {
  readonly from: string;
  readonly to: string;
  readonly mover: string;
  readonly roles: readonly string[];
  readonly conditions: readonly string[];
}

const machines: readonly StatesAndMachine[] = Object.entries(contract.components.schemas).flatMap(([name, schema]) => {
  const machine = schema['x-state-machine'];
  return machine === undefined
    ? []
    : [{ name, states: schema.enum ?? [], machine: { ...machine, type: name, field: 'status' } }];
});

const transitions = machines.flatMap(({ machine }) => machine.transitions);
const allRoles = [...new Set(transitions.flatMap(({ roles = [] }) => roles))];
const events = [...new Set(transitions.flatMap((transition) => transition.events ?? [])), 'somethingElse'];
const writing = Object.entries(operations).flatMap(([id, { rateLimit }]) => (rateLimit.policy === 'write' ? [id] : []));

/** All movers: each event, and each operation that writes, by callers with no role, with each role and with all. */
const movers: readonly { readonly name: string; readonly held: readonly string[]; readonly mover: Mover }[] = [
  ...events.map((event) => ({ name: event, held: allRoles, mover: { event } })),
  ...writing.flatMap((operation) =>
    [[], ...allRoles.map((role) => [role]), allRoles].map((held) => ({
      name: operation,
      held,
      mover: { operation, holds: (roles: readonly string[]) => roles.some((role) => held.includes(role)) },
    })),
  ),
];

/** The transitions that a machine declares, one by one. */
function stepsOf({ operations: usual, transitions: declared }: Machine): readonly Step[] {
  return declared.flatMap(
    ({ from: sources, to, operations: named, events: caused, roles = [], requires = [], conditions = [] }) => {
      const causes = named === undefined && caused === undefined ? usual : [...(named ?? []), ...(caused ?? [])];
      return sources.flatMap((from) =>
        causes.map((mover) => ({ from, to, mover, roles, conditions: [...requires, ...conditions] })),
      );
    },
  );
}

function rejectionOf(work: () => unknown): Rejection | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof Rejection) return error;
    throw error;
  }
}

/** The rest of the sentence of a message with this beginning; empty if there is none. */
function sentenceWith(message: string, beginning: string): string {
  return message.split(beginning)[1]?.split('.')[0] ?? '';
}

function statesIn(sentence: string, states: readonly string[], then = ''): readonly string[] {
  return states.filter((state) => new RegExp(`\\b${state}\\b${then}`).test(sentence));
}

it('the contract declares state machines', () => {
  expect(machines.length).toBeGreaterThan(0);
});

describe.each(machines)('findTransition › $name', ({ states, machine }) => {
  const steps = stepsOf(machine);

  // Differences are collected: an assertion for each of some 100,000 steps took most of the time.
  it.each(states)(
    'accepts exactly the declared transitions from %s, and when it rejects others, lists them and from where those are possible',
    (from) => {
      const differences: unknown[] = [];
      for (const { name, held, mover } of movers) {
        const open = steps.filter((step) => step.from === from && step.mover === name);
        for (const to of states.filter((state) => state !== from)) {
          const declared = open.filter((step) => step.to === to);
          const leading = steps.filter((step) => step.to === to && step.mover === name);
          const expected = outcomeFor(declared, held, { open, leading });
          const actual = outcomeOf(from, to, mover, declared);
          if (!isDeepStrictEqual(actual, expected)) differences.push({ from, to, name, held, expected, actual });
        }
      }
      expect(differences).toEqual([]);

      /** What the declaration says of a transition. */
      function outcomeFor(
        declared: readonly Step[],
        held: readonly string[],
        { open, leading }: { readonly open: readonly Step[]; readonly leading: readonly Step[] },
      ) {
        const allowed = declared.find(({ roles }) => roles.length === 0 || roles.some((role) => held.includes(role)));
        if (allowed !== undefined) return { to: allowed.to, conditions: allowed.conditions };
        if (declared.length > 0)
          return { code: 'FORBIDDEN', pointer: '/status', named: declared.flatMap(({ roles }) => roles) };
        const possible = states.filter((state) => open.some((step) => step.to === state));
        const isFinal = !steps.some((step) => step.from === from);
        const sources = isFinal ? [] : leading;
        const possibleFrom = states.filter((state) => sources.some((step) => step.from === state));
        const saysNone = !isFinal && possible.length + possibleFrom.length === 0;
        const conditional = [
          possible.filter((state) => open.every((step) => step.to !== state || step.conditions.length > 0)),
          possibleFrom.filter((state) => sources.every((step) => step.from !== state || step.conditions.length > 0)),
        ];
        return { code: 'INVALID_STATE', pointer: '/status', possible, possibleFrom, isFinal, saysNone, conditional };
      }

      /** What the service does. */
      function outcomeOf(from: string, to: string, mover: Mover, declared: readonly Step[]) {
        try {
          const { to: reached, requires = [], conditions = [] } = findTransition(machine, from, to, mover);
          return { to: reached, conditions: [...requires, ...conditions] };
        } catch (error) {
          if (!(error instanceof Rejection)) throw error;
          const { code, pointer, message } = error;
          if (declared.length > 0)
            return {
              code,
              pointer,
              named: declared.flatMap(({ roles }) => roles).filter((role) => message.includes(role)),
            };
          const sentences = [`From ${from} it can become`, `It can become ${to} from`].map((beginning) =>
            sentenceWith(message, beginning),
          );
          const [possible, possibleFrom] = sentences.map((sentence) => statesIn(sentence, states));
          return {
            code,
            pointer,
            possible,
            possibleFrom,
            conditional: sentences.map((sentence) => statesIn(sentence, states, ' \\(with conditions\\)')),
            isFinal: message.includes(`${from} is final.`),
            saysNone: message.includes('This operation cannot'),
          };
        }
      }
    },
  );

  it.each(states)('accepts %s for a new row only if it is declared', (state) => {
    const rejection = rejectionOf(() => checkInitialState(machine, state));
    if (machine.initial.includes(state)) return expect(rejection).toBeUndefined();
    expect(rejection).toMatchObject({ code: 'INVALID_STATE', pointer: '/status' });
    for (const initial of machine.initial) expect(rejection?.message).toContain(initial);
  });
});

describe('machineOf', () => {
  it('finds the machine of the status of each entity', () => {
    expect(machineOf('Job', fieldsOf('Job'))?.transitions).toBe(
      contract.components.schemas.JobStatus?.['x-state-machine']?.transitions,
    );
  });

  it('returns undefined if other fields record the states of another entity', () => {
    expect(machineOf('DraftInvoiceHistory', fieldsOf('DraftInvoiceHistory'))).toBeUndefined();
  });
});

describe('the rules of entities', () => {
  const withMachine = [...allEntities()].filter(({ machine, writable }) => writable && machine !== undefined);

  it.each(withMachine)('$type checks exactly the conditions that its state machine defines in words', (entity) => {
    const inWords = Object.entries(entity.machine?.conditions ?? {}).filter(([, one]) => typeof one === 'string');
    expect(Object.keys(rulesOf(entity).conditions ?? {}).sort()).toEqual(inWords.map(([name]) => name).sort());
  });

  it.each(withMachine)('$type has the fields and values that the conditions of its state machine name', (entity) => {
    for (const condition of Object.values(entity.machine?.conditions ?? {})) {
      if (typeof condition === 'string') continue;
      const { zero = [], positive = [], is = {}, isNot = {} } = condition;
      for (const name of [...zero, ...positive])
        expect([name, entity.fields.get(name)?.kind]).toEqual([name, 'decimal']);
      for (const [name, values] of Object.entries({ ...is, ...isNot }))
        expect(entity.fields.get(name)?.schema.enum).toEqual(expect.arrayContaining([...values]));
    }
  });

  it.each(withMachine)('$type can be written with the fields that its transitions require', ({ type, machine }) => {
    const written = fieldsOf(type).flatMap(({ name, written }) => (written === undefined ? [] : [name]));
    expect(written).toEqual(
      expect.arrayContaining(machine?.transitions.flatMap(({ requires = [] }) => requires) ?? []),
    );
  });
});
