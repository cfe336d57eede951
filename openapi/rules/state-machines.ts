/**
 * The server changes the state of rows only by these tables. A state without a transition to it, or the name of an operation
 * that does not exist, would describe a transition that cannot happen.
 */
import type { Oas3Rule } from '@redocly/openapi-core';
import { operationsOf, Place, type Report, reporter } from './contract.ts';
import { typesOf } from './schemas.ts';

const extension = 'x-state-machine';

export const stateMachines: Oas3Rule = () => {
  const schemas: Place[] = [];
  return {
    Schema(schema, { location, resolve }) {
      const place = new Place(schema, location, resolve);
      if (place.get(extension) !== undefined) schemas.push(place);
    },
    ref(node, { rawLocation, report }) {
      if (extension in node)
        report({
          message: 'Move the state machine to the schema of the status.',
          location: rawLocation.child([extension]),
        });
    },
    Root: {
      leave(node, context) {
        const report = reporter(context);
        const operations = operationsOf(new Place(node, context.location, context.resolve));
        const writing = new Set(
          operations.filter(({ place }) => place.text('x-rate-limit') === 'write').map(({ id }) => id),
        );
        for (const schema of schemas) {
          const machine = schema.get(extension);
          if (machine === undefined) continue;
          if (typesOf(schema).join() !== 'string' || schema.get('enum') === undefined)
            report(machine, 'Use a state machine only on a string enum: its values are the states.');
          checkStates(schema, machine, report);
          checkMovers(machine, writing, report);
          checkConditions(machine, report);
        }
      },
    },
  };
};

function checkStates(schema: Place, machine: Place, report: Report): void {
  const states = textsOf(schema, 'enum');
  const transitions = machine.list('transitions');
  const named = [
    ...machine.list('initial'),
    ...machine.list('imported'),
    ...machine.list('fixed'),
    ...transitions.flatMap((one) => [...one.list('from'), one.get('to') ?? []].flat()),
  ];
  for (const state of named) {
    if (!states.includes(String(state.value))) report(state, `Name a value of the enum: ${state.value} is not one.`);
  }
  const reached = new Set(textsOf(machine, 'initial'));
  // Iterating a set includes items that are added meanwhile, so this follows paths of any length.
  for (const state of reached) {
    for (const one of transitions) if (textsOf(one, 'from').includes(state)) reached.add(one.text('to') ?? '');
  }
  for (const state of states) {
    if (!reached.has(state)) report(machine, `Add a transition that leads to ${state}: no row can reach it.`);
  }
  for (const one of transitions) {
    if (textsOf(one, 'from').includes(one.text('to') ?? ''))
      report(one, `Remove ${one.text('to')} from \`from\`: a transition changes the state.`);
  }
}

function checkMovers(machine: Place, writing: ReadonlySet<string>, report: Report): void {
  const transitions = machine.list('transitions');
  const operations = [...machine.list('operations'), ...transitions.flatMap((one) => one.list('operations'))];
  for (const operation of operations) {
    if (!writing.has(String(operation.value)))
      report(operation, `Name an operation that writes: ${operation.value} is not one.`);
  }
  const usesDefault = transitions.filter(
    (one) => one.get('operations') === undefined && one.get('events') === undefined,
  );
  const defaults = textsOf(machine, 'operations');
  if (defaults.length > 0 && usesDefault.length === 0)
    report(machine.get('operations') ?? machine, 'Remove the operations: each transition names its own.');
  if (defaults.length === 0) {
    for (const one of usesDefault) report(one, 'Name the operations or events that cause the transition.');
  }
  const known = new Set<string>();
  for (const one of transitions) {
    const movers = usesDefault.includes(one) ? defaults : [...textsOf(one, 'operations'), ...textsOf(one, 'events')];
    for (const key of textsOf(one, 'from').flatMap((from) =>
      movers.map((mover) => `${from} to ${one.text('to')} by ${mover}`),
    )) {
      if (known.has(key)) report(one, `Remove the second transition from ${key}.`);
      known.add(key);
    }
    if (one.get('roles') !== undefined && one.get('operations') === undefined && one.get('events') !== undefined)
      report(one, 'Remove the roles: an event has no caller.');
  }
}

function checkConditions(machine: Place, report: Report): void {
  const defined = new Set(machine.map('conditions').map(([name]) => name));
  const used = machine.list('transitions').flatMap((one) => one.list('conditions'));
  for (const name of used) {
    if (!defined.has(String(name.value))) report(name, `Define the condition ${name.value} under \`conditions\`.`);
  }
  for (const [name, sentence] of machine.map('conditions')) {
    if (!used.some((one) => one.value === name))
      report(sentence, `Remove the condition ${name}: no transition names it.`);
  }
}

function textsOf(place: Place, key: string): string[] {
  return place.list(key).map((one) => String(one.value));
}
