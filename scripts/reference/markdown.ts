/**
 * The reference as Markdown, for programs that read text: `llms.txt` (https://llmstxt.org) and, next to it, a page for
 * each guide, workflow and kind of changes, each operation, each schema and each topic. All links are relative, so the pages work on any server and from a disk.
 */
import { fromMarkdown } from 'mdast-util-from-markdown';
import { toString as textOf } from 'mdast-util-to-string';
import {
  type Contract,
  type DeclaredResponse,
  type Operation,
  operationsOf,
  type Parameter,
} from '../../packages/spec/src/examples.ts';
import { operations as index } from '../../packages/spec/src/index.ts';
import { type Chapter, chapterPath } from './chapters.ts';
import { withLinks } from './guides.ts';
import { sampleLanguages } from './samples.ts';
import { type SchemaLink, type Shape, schemaName, schemasIn, shapeOf, typeInWords } from './shapes.ts';

/** Other files next to `llms.txt`, with a description each. */
export const files = {
  'openapi.json': 'the API as an OpenAPI 3.1 document, with all schemas and examples',
  'openapi.yaml': 'the same document as YAML',
};

interface Event {
  readonly summary: string;
  readonly requestBody: { readonly content: Readonly<Record<'application/json', { readonly schema: Shape }>> };
}
export interface Topic {
  readonly title: string;
  readonly text: string;
  readonly path: string;
}

/** The text of each file by its path, which is relative to the folder of `llms.txt`. */
export function markdownPages(contract: Contract, chapters: readonly Chapter[]): Map<string, string> {
  const operations = operationsOf(contract);
  const topics = topicsOf(contract);
  const schemas: Record<string, Shape> = Object(contract.components.schemas);
  return new Map([
    ['llms.txt', overviewOf(contract, operations, topics, chapters)],
    ...chapters.map((chapter): [string, string] => [chapterPath(chapter), chapterPage(chapter)]),
    ...topics.map(({ path, title, text }): [string, string] => [path, `# ${title}\n\n${text}\n`]),
    ...operations.map((operation): [string, string] => [pathOf(operation), operationPage(contract, operation)]),
    [eventsPath, eventsPage(contract)],
    [schemasPath, schemasPage(schemas)],
    ...Object.entries(schemas).map(([name, schema]): [string, string] => [
      `reference/schemas/${name}.md`,
      schemaPage(name, schema),
    ]),
  ]);
}

/** What a page to print has: all pages but the changes. Schemas are on it once, and samples in one language. */
export function printedPages(contract: Contract, pages: ReadonlyMap<string, string>): Map<string, string> {
  const { title } = contract.info;
  const named = operationsOf(contract).map((operation): [string, string] => [
    pathOf(operation),
    operationPage(contract, operation, true),
  ]);
  const [, ...others] = [...pages].filter(([path]) => !path.startsWith('reference/changes/'));
  const introduction: [string, string] = ['reference/introduction.md', `# ${title}\n\n${introductionOf(contract)}\n`];
  return new Map([introduction, ...new Map([...others, ...named])]);
}

const eventsPath = 'reference/events.md';
const schemasPath = 'reference/schemas.md';

function pathOf({ id }: Operation): string {
  return `reference/operations/${id}.md`;
}

function chapterPage(chapter: Chapter): string {
  const text = withLinks(chapter, (name) => Object.hasOwn(index, name), {
    operation: (id) => `../operations/${id}.md`,
    guide: (name) => `../guides/${name}.md`,
    topic: (name) => `../topics/${name}.md`,
  });
  return `# ${chapter.title}\n\n${text}\n`;
}

function overviewOf(
  contract: Contract,
  operations: readonly Operation[],
  topics: readonly Topic[],
  pages: readonly Chapter[],
): string {
  const { title, summary } = contract.info;
  const chapters = contract.tags.map((tag): { name: string; 'x-displayName': string } => Object(tag));
  const listOf = (group: Chapter['group']) => [
    `## ${group}`,
    '',
    ...pages
      .filter((page) => page.group === group)
      .map((page) => `- [${page.title}](${chapterPath(page)}): ${page.summary}`),
    '',
  ];
  const lines = [
    `# ${title}`,
    '',
    `> ${summary}`,
    '',
    introductionOf(contract),
    '',
    'Each operation has a page with its roles, limits, parameters, request, response, errors and samples.',
    '',
    ...listOf('Guides'),
    ...listOf('Workflows'),
    '## Topics',
    '',
    ...topics.map(({ title: name, path }) => `- [${name}](${path})`),
    `- [Events](${eventsPath}): what the service sends to the URL of a subscription`,
  ];
  for (const { name, 'x-displayName': heading } of chapters) {
    const own = operations.filter(({ id }) => index[id].tag === name);
    lines.push('', `## ${heading}`, '');
    for (const operation of own) {
      const { id, method, path, summary: does } = operation;
      lines.push(`- [${id}](${pathOf(operation)}): ${does}. \`${method} ${path}\``);
    }
  }
  lines.push('', ...listOf('Changes'), '## Optional', '', `- [Schemas](${schemasPath}): all schemas by name`);
  for (const [file, description] of Object.entries(files)) lines.push(`- [${file}](${file}): ${description}`);
  return `${lines.join('\n')}\n`;
}

function introductionOf({ info: { description } }: Contract): string {
  return description.slice(0, headingsOf(description)[0]?.position?.start.offset).trim();
}

function headingsOf(description: string) {
  return fromMarkdown(description).children.filter((node) => node.type === 'heading' && node.depth === 2);
}

/** The sections of the description of the API, a page each. */
export function topicsOf({ info: { description } }: Contract): Topic[] {
  const headings = headingsOf(description);
  return headings.map((heading, position) => {
    const title = textOf(heading);
    const end = headings[position + 1]?.position?.start.offset;
    const text = description.slice(heading.position?.end.offset, end).trim();
    return { title, text, path: `reference/topics/${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.md` };
  });
}

/** The last part of the address of a topic, in each form of the reference. */
export function slugOf({ path }: Pick<Topic, 'path'>): string {
  return path.replaceAll(/^.*\/|\.md$/g, '');
}

const linkFromOperation: SchemaLink = (name) => `../schemas/${name}.md`;

/** @param isBesideSchemas whether the schemas are on the same page */
function operationPage(contract: Contract, operation: Operation, isBesideSchemas = false): string {
  const { body } = operation;
  const [success] = operation.responses;
  if (success === undefined) throw new Error(`${operation.id} has no response.`);
  const { status, description, schema } = success;
  return [
    `# ${operation.summary}`,
    `Operation \`${operation.id}\`: \`${operation.method} ${operation.path}\``,
    operation.description,
    'See also [Role](../schemas/Role.md), [Authentication](../topics/authentication.md) and [Limits](../topics/limits.md).',
    ...(operation.parameters.length === 0 ? [] : ['## Parameters', parameterTable(operation.parameters)]),
    ...(body === null
      ? []
      : ['## Request body', ...shapesOf(contract, body.schema, isBesideSchemas), ...exampleOf(body)]),
    `## Response ${status}`,
    description.trim(),
    ...(schema === undefined ? [] : [...shapesOf(contract, schema, isBesideSchemas), ...exampleOf(success)]),
    '## Errors',
    errorTable(operation.responses),
    'A status can also have other codes. See [Errors](../topics/errors.md).',
    '## Samples',
    ...sampleLanguages
      .slice(0, isBesideSchemas ? 1 : undefined)
      .map(({ fence, sampleOf }) => fenced(fence, sampleOf(operation))),
  ]
    .join('\n\n')
    .concat('\n');
}

function parameterTable(parameters: readonly Parameter[]): string {
  const rows = parameters.map(({ name, in: place, required, schema = {}, description = '' }) => {
    return [`\`${name}\``, place, required ? 'yes' : 'no', typeInWords(schema, linkFromOperation), description];
  });
  return table(['name', 'in', 'required', 'type', 'description'], rows);
}

/** The schema of a body, and the objects that it refers to; their references are links. */
function shapesOf(contract: Contract, shape: Shape, isBesideSchemas: boolean): string[] {
  const schemas: Record<string, Shape> = Object(contract.components.schemas);
  if (shape.$ref === undefined) return [shapeOf(shape, linkFromOperation)];
  const name = schemaName(shape.$ref);
  if (isBesideSchemas) return [`Schema [${name}](${linkFromOperation(name)})`];
  const top = schemas[name] ?? {};
  const inner = [...schemasIn(top)].filter((one) => one !== name && schemas[one]?.properties !== undefined);
  return [
    `Schema [${name}](${linkFromOperation(name)})`,
    ...(top.description === undefined ? [] : [top.description.trim()]),
    shapeOf(top, linkFromOperation),
    ...inner.flatMap((one) => [`### ${one}`, shapeOf(schemas[one] ?? {}, linkFromOperation)]),
  ];
}

function exampleOf({ examples }: Pick<DeclaredResponse, 'examples'>): string[] {
  const [example] = examples;
  return example === undefined ? [] : ['Example:', fenced('json', JSON.stringify(example.value, null, 2))];
}

function errorTable(responses: readonly DeclaredResponse[]): string {
  const rows = responses
    .filter(({ status }) => status >= 400)
    .map(({ status, description, examples }) => {
      const codes = new Set(examples.map(({ value }) => `\`${Object(value).code}\``));
      return [String(status), [...codes].join(', '), description];
    });
  return table(['status', 'codes', 'description'], rows);
}

function eventsPage(contract: Contract): string {
  const rows = Object.entries(contract.webhooks).map(([name, item]) => {
    const { summary, requestBody }: Event = Object(item.post);
    const { schema } = requestBody.content['application/json'];
    return [`\`${name}\``, summary, typeInWords(schema, (schemaOf) => `schemas/${schemaOf}.md`)];
  });
  return [
    '# Events',
    'The service sends these events as signed POST requests. See [Webhooks](topics/webhooks.md) for signatures and retries.',
    table(['event', 'sent when', 'body'], rows),
  ]
    .join('\n\n')
    .concat('\n');
}

function schemasPage(schemas: Readonly<Record<string, Shape>>): string {
  const lines = Object.entries(schemas).map(([name, { description = '' }]) => {
    const [sentence = ''] = description.split('\n');
    return `- [${name}](schemas/${name}.md)${sentence === '' ? '' : `: ${sentence}`}`;
  });
  return `# Schemas\n\n${lines.sort().join('\n')}\n`;
}

function schemaPage(name: string, schema: Shape): string {
  const members = schema.oneOf ?? schema.anyOf;
  const link: SchemaLink = (other) => `${other}.md`;
  const shape =
    members === undefined || schema.properties !== undefined
      ? shapeOf(schema, link)
      : `One of:\n\n${members.map((member) => `- ${typeInWords(member, link)}`).join('\n')}`;
  const description = schema.description?.trim() ?? '';
  return [`# ${name}`, ...(description === '' ? [] : [description]), shape].join('\n\n').concat('\n');
}

function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells
      .map((cell) =>
        cell
          .trim()
          .replaceAll(/\s*\n\s*/g, ' ')
          .replaceAll('|', '\\|'),
      )
      .join(' | ')} |`;
  return [line(columns), `|${'---|'.repeat(columns.length)}`, ...rows.map(line)].join('\n');
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
}
