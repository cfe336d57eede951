/**
 * The contract for the reference: with samples, chapters of states and webhooks, and everything that its search must
 * find.
 */
import { type Contract, operationsOf } from '../../packages/mock/src/contract.ts';
import { operations as index } from '../../packages/spec/src/index.ts';
import { type Guide, withLinks } from './guides.ts';
import { topicsOf } from './markdown.ts';
import { clientSample, curlSample } from './samples.ts';
import { type Shape, schemaName } from './shapes.ts';
import { withStates } from './states.ts';

export function described(contract: Contract, guides: readonly Guide[]): Contract {
  const copy = structuredClone(contract);
  for (const operation of operationsOf(contract)) {
    const shown = copy.paths[operation.path]?.[operation.method.toLowerCase()];
    if (typeof shown !== 'object' || shown === null)
      throw new Error(`The bundle has no ${operation.method} ${operation.path}.`);
    const { description = '' }: { description?: string } = shown;
    Object.assign(shown, {
      // The search covers titles, paths, descriptions and fields.
      description: `${linkedRole(description).trimEnd()}\n- **Operation ID**: \`${operation.id}\`\n`,
      'x-codeSamples': [
        { lang: 'curl', label: 'curl', source: curlSample(operation) },
        { lang: 'typescript', label: 'TypeScript', source: clientSample(operation) },
      ],
    });
  }
  return withGuides(withWebhooksApart(withRoles(withValuesInPlace(withStates(copy)))), guides);
}

/**
 * Moves the events to a separate chapter, because there are many and they cannot be called; extensions remain the last
 * chapter.
 */
function withWebhooksApart(contract: Contract): Contract {
  const events = Object.values(contract.webhooks).flatMap((item) => Object.values(item));
  for (const event of events) Object.assign(event, { tags: ['webhooks'] });
  const topic = topicsOf(contract).find(({ title }) => title === 'Webhooks');
  if (topic === undefined) throw new Error('The description of the API has no section "Webhooks".');
  const chapter = {
    name: 'webhooks',
    'x-displayName': 'Webhooks',
    description: `${topic.text}\n\nThe ${events.length} events below have the same envelope.`,
  };
  const description = contract.info.description.replace(`## Webhooks\n${topic.text}`, '');
  return { ...contract, info: { ...contract.info, description }, tags: contract.tags.toSpliced(-1, 0, chapter) };
}

/** Adds the guides, a chapter each, as the first group of the menu. */
function withGuides(contract: Contract, guides: readonly Guide[]): Contract {
  const tagOf = new Map<string, string>(Object.entries(index).map(([id, { tag }]) => [id, tag]));
  const chapters = guides.map((guide) => ({
    name: chapterOf(guide.name),
    'x-displayName': guide.title,
    description: withLinks(guide, (name) => tagOf.has(name), {
      operation: (id) => `#/${tagOf.get(id)}/${id.toLowerCase()}`,
      guide: (name) => `#/${chapterOf(name)}`,
      topic: (name) => (name === 'webhooks' ? '#/webhooks' : `#/section/${name}`),
    }),
  }));
  const groups = [
    { name: 'Guides', tags: chapters.map(({ name }) => name) },
    { name: 'Operations', tags: contract.tags.map((tag) => Object(tag).name) },
  ];
  return Object.assign({ ...contract, tags: [...chapters, ...contract.tags] }, { 'x-tagGroups': groups });
}

function chapterOf(guide: string): string {
  return `guide-${guide}`;
}

/** Moves the table of roles to a separate page, in the chapter of authentication. */
function withRoles(contract: Contract): Contract {
  Object.assign(Object(contract.components.schemas?.Role), { 'x-tags': [index.createToken.tag] });
  return contract;
}

function linkedRole(description: string): string {
  return description.replaceAll('the schema `Role`', `[all roles](#/${index.createToken.tag}/role)`);
}

/**
 * Replaces references by the schemas of single values. The search of Redoc only finds the first of several fields that
 * refer to the same schema.
 */
function withValuesInPlace(contract: Contract): Contract {
  const schemas: Record<string, Shape> = Object(contract.components.schemas);
  const isValue = ({ properties, items, oneOf, anyOf, additionalProperties, $ref }: Shape) =>
    [properties, items, oneOf, anyOf, additionalProperties, $ref].every((part) => part === undefined);
  const replaced = (property: Shape): Shape => {
    const target = property.$ref === undefined ? undefined : schemas[schemaName(property.$ref)];
    if (target === undefined || !isValue(target)) return property;
    const { $ref: _, ...own } = property;
    return { ...target, ...own };
  };
  for (const shape of shapesIn(schemas)) {
    if (shape.properties === undefined) continue;
    const properties = Object.entries(shape.properties).map(([name, property]) => [name, replaced(property)]);
    Object.assign(shape, { properties: Object.fromEntries(properties) });
  }
  return contract;
}

/** All schemas within some schemas, including themselves. */
function shapesIn(schemas: Readonly<Record<string, Shape>>): Shape[] {
  const found: Shape[] = [];
  const visit = (shape: Shape): void => {
    found.push(shape);
    const { properties = {}, items, oneOf = [], anyOf = [], additionalProperties } = shape;
    const within = [...Object.values(properties), ...oneOf, ...anyOf];
    if (items !== undefined) within.push(items);
    if (typeof additionalProperties === 'object') within.push(additionalProperties);
    for (const part of within) visit(part);
  };
  for (const schema of Object.values(schemas)) visit(schema);
  return found;
}
