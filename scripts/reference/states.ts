/** A chapter of the reference with every state machine: its diagram and its transitions. */

import { describeMachine, type Schema } from '../../openapi/rules/described.ts';
import type { Contract } from '../../packages/mock/src/contract.ts';
import { diagramOf } from './diagram.ts';

const chapter = {
  name: 'states',
  'x-displayName': 'States and transitions',
};

const introduction = `
Each status below changes only by the transitions that are listed with it. A request for any other change fails with the code
\`INVALID_STATE\`, and the error lists the transitions that are possible.

In the diagrams, a dot leads to the states that a new row can have, and a double border marks a final state. You cause the solid
arrows by calling an operation. Only the service causes the dashed ones.
`;

/** Adds the chapter before the last one. In descriptions of a status, a link to it replaces the table. */
export function withStates(contract: Contract): Contract {
  const schemas = (Object.entries(contract.components.schemas ?? {}) as [string, Schema][]).sort(([one], [other]) =>
    one.localeCompare(other),
  );
  const links = new Map<string, string>();
  const sections = schemas.flatMap(([name, { 'x-state-machine': machine, description }]) => {
    if (machine === undefined) return [];
    const type = name.replace(/Status$/, '');
    const table = describeMachine(machine);
    if (description?.includes(table) !== true) throw new Error(`The description of ${name} lacks its transitions.`);
    links.set(table, `See [transitions of ${type}](#/${chapter.name}/${type.toLowerCase()}).`);
    return `## ${type}\n\n<figure class="state-machine" tabindex="0">${diagramOf(type, machine)}</figure>\n\n${table}\n`;
  });
  for (const [, schema] of schemas) replaceInDescriptions(schema, links);
  const description = [introduction, ...sections].join('\n');
  return { ...contract, tags: contract.tags.toSpliced(-1, 0, { ...chapter, description }) };
}

/** Properties repeat the description of the status that they refer to. */
function replaceInDescriptions(value: unknown, replacements: ReadonlyMap<string, string>): void {
  if (typeof value !== 'object' || value === null) return;
  for (const part of Object.values(value)) replaceInDescriptions(part, replacements);
  const schema: Schema = value;
  if (typeof schema.description !== 'string') return;
  for (const [text, replacement] of replacements) schema.description = schema.description.replace(text, replacement);
}
