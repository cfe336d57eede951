/** A chapter of the reference with every state machine: its diagram and its transitions. */

import { describeMachine, operationsOf, type Schema } from '../../openapi/rules/described.ts';
import type { Contract, Operation } from '../../packages/spec/src/examples.ts';
import type { StateMachine } from '../../packages/spec/src/index.ts';
import { diagramOf, omittedLabels } from './diagram.ts';
import { type Shape, schemaName } from './shapes.ts';

/** The name of the chapter, which is also the first part of its links. */
export const stateChapter = 'states';

const introduction = `
Each status below changes only by the transitions that are listed with it. A request for any other change fails with the code
\`INVALID_STATE\`, and the error lists the transitions that are possible.

In the diagrams, a dot leads to the states that a new row can have, and a double border marks a final state. You cause the solid
arrows by calling an operation. Only the service causes the dashed ones.
`;

/** A state machine of the contract, with the table of its transitions in the description of its status. */
export interface ShownMachine {
  /** Name of the schema of the status. */
  readonly status: string;
  readonly type: string;
  readonly machine: StateMachine;
  readonly table: string;
}

/** All state machines, by name. */
export function stateMachinesOf(contract: Contract): ShownMachine[] {
  return schemasOf(contract).flatMap(([status, { 'x-state-machine': machine, description }]) => {
    if (machine === undefined) return [];
    const table = describeMachine(machine);
    if (description?.includes(table) !== true) throw new Error(`The description of ${status} lacks its transitions.`);
    return [{ status, type: status.replace(/Status$/, ''), machine, table }];
  });
}

function schemasOf(contract: Contract): [string, Schema][] {
  const schemas = Object.entries(contract.components.schemas ?? {}) as [string, Schema][];
  return schemas.sort(([one], [other]) => one.localeCompare(other));
}

/** The link to a state machine, in Markdown. */
function linkTo({ type }: ShownMachine, text: string): string {
  return `[${text}](#/${stateChapter}/${type.toLowerCase()})`;
}

/** Adds the chapter before the last one. In descriptions of a status, a link to it replaces the table. */
export function withStates(contract: Contract): Contract {
  const machines = stateMachinesOf(contract);
  const links = new Map(
    machines.map((shown) => [shown.table, `See ${linkTo(shown, `transitions of ${shown.type}`)}.`]),
  );
  const sections = machines.map(({ type, machine, table }) => {
    const omitted = omittedLabels(machine).map((label) => `\`${label}\``);
    const note = omitted.length === 0 ? '' : `Solid arrows that name no other operation: ${omitted.join(' or ')}.\n\n`;
    return `## ${type}\n\n<figure class="state-machine" tabindex="0">${diagramOf(type, machine)}</figure>\n\n${note}${table}\n`;
  });
  for (const [, schema] of schemasOf(contract)) replaceInDescriptions(schema, links);
  const description = [introduction, ...sections].join('\n');
  const chapter = { name: stateChapter, 'x-displayName': 'States and transitions', description };
  return { ...contract, tags: contract.tags.toSpliced(-1, 0, chapter) };
}

/** Links to the states of what an operation returns, or changes from one state to another; empty if there are none. */
export function stateLinks(contract: Contract, { id, responses: [success] }: Operation): string {
  const schemas: Readonly<Record<string, Shape>> = Object(contract.components.schemas);
  const returned = new Set<string>();
  const visit = (shape: Shape, depth: number): void => {
    const name = shape.$ref === undefined ? undefined : schemaName(shape.$ref);
    if (name !== undefined) returned.add(name);
    const target = name === undefined ? shape : schemas[name];
    if (target === undefined || depth === 0) return;
    // The rows of a page are one level deeper than a single one.
    const parts = [
      target.properties?.data?.items,
      target.properties?.status,
      ...(target.oneOf ?? []),
      ...(target.anyOf ?? []),
    ];
    for (const part of parts) if (part !== undefined) visit(part, depth - 1);
  };
  visit(success?.schema ?? {}, 2);
  const links = stateMachinesOf(contract).flatMap((shown) => {
    const { status, machine } = shown;
    const moves = machine.transitions.some((transition) => operationsOf(transition, machine.operations).includes(id));
    return moves || returned.has(status) ? [linkTo(shown, shown.type)] : [];
  });
  return links.length === 0 ? '' : `- **States**: ${links.join(', ')}\n`;
}

/** Properties repeat the description of the status that they refer to. */
function replaceInDescriptions(value: unknown, replacements: ReadonlyMap<string, string>): void {
  if (typeof value !== 'object' || value === null) return;
  for (const part of Object.values(value)) replaceInDescriptions(part, replacements);
  const schema: Schema = value;
  if (typeof schema.description !== 'string') return;
  for (const [text, replacement] of replacements) schema.description = schema.description.replace(text, replacement);
}
