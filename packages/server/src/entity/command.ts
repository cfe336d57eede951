import type { Command, Plan } from './plan.ts';

/** How many commands there are for an event. */
const defined = new Map<string, number>();

/**
 * Defines what happens at an event of the contract's state machines: a function whose steps change all rows that change with it. Rows of
 * several machines can change by one event; machines of different subjects can have events of one name, with a command each.
 */
export function command<Args extends readonly unknown[], Result>(
  event: string,
  steps: (plan: Plan, ...args: Args) => Result,
): Command<Args, Result> & { readonly event: string } {
  defined.set(event, (defined.get(event) ?? 0) + 1);
  const run = (plan: Plan, ...args: Args): Result => plan.during(event, () => steps(plan, ...args));
  return Object.assign(run, { event });
}

/** How many commands each event has. */
export function commandsOfEvents(): ReadonlyMap<string, number> {
  return defined;
}
