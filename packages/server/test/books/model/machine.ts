import type { StateTransition } from '@financial-automation/spec';
import { schemaOf } from '../../../src/contract/contract.ts';
import { must } from './rows.ts';

/** Whether the conditions of transitions are met, by their names in the contract. */
export type Conditions = Readonly<Record<string, boolean>>;

/** The transitions that the contract declares, whoever causes them. */
export function transitionsOf(machine: string): readonly StateTransition[] {
  return machineOf(machine).transitions;
}

/** Whether callers can cause a transition: those that only name events are not available to them. */
export function operationsOf(machine: string, { operations, events }: StateTransition): readonly string[] {
  return operations ?? (events === undefined ? machineOf(machine).operations : []);
}

/** @throws Error if the model does not know a condition */
export function areMet(machine: string, { conditions = [] }: StateTransition, known: Conditions): boolean {
  return conditions.every((name) => {
    const isMet = known[name];
    if (isMet === undefined) throw new Error(`The model does not know the condition ${name} of ${machine}.`);
    return isMet;
  });
}

/** Applies the state machine of the contract to a change of the status by a caller. */
export function mustMove(machine: string, from: string, to: string, known: Conditions): void {
  const possible = transitionsOf(machine).filter(
    (transition) =>
      transition.from.includes(from) && transition.to === to && operationsOf(machine, transition).length > 0,
  );
  must(possible.some((transition) => areMet(machine, transition, known)));
}

function machineOf(name: string) {
  const machine = schemaOf(name)['x-state-machine'];
  if (machine === undefined) throw new Error(`The contract has no state machine ${name}.`);
  return machine;
}
