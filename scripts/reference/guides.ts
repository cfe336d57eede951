/**
 * The guides of `openapi/guides`: tasks from the first to the last call. Their TypeScript samples are one program per guide, and a
 * JSON block shows what the sample before it prints.
 */
import { readFile } from 'node:fs/promises';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { toString as textOf } from 'mdast-util-to-string';

export interface Guide {
  /** Name of the file without its ending. */
  readonly name: string;
  readonly title: string;
  /** The first paragraph. */
  readonly summary: string;
  /** Markdown below the title. */
  readonly text: string;
  readonly samples: readonly Sample[];
}

/** A TypeScript block, and the JSON block below it. */
export interface Sample {
  readonly code: string;
  readonly prints?: string;
}

type Root = ReturnType<typeof fromMarkdown>;
type Node = Root | Root['children'][number];

const folder = new URL('../../openapi/guides/', import.meta.url);

/** In the order of the list in the README. */
export async function readGuides(): Promise<Guide[]> {
  const list = await readFile(new URL('README.md', folder), 'utf8');
  const names = [...list.matchAll(/^\d+\. \[.*\]\(([a-z-]+)\.md\)$/gm)].map(([, name = '']) => name);
  return await Promise.all(
    names.map(async (name) => guideOf(name, await readFile(new URL(`${name}.md`, folder), 'utf8'))),
  );
}

/** @throws Error if the page has no title, or a block that no test runs */
export function guideOf(name: string, page: string): Guide {
  const [heading, first, ...rest] = fromMarkdown(page).children;
  if (heading?.type !== 'heading' || heading.depth !== 1 || first?.type !== 'paragraph')
    throw new Error(`${name}.md must begin with a title and a paragraph.`);
  const samples: { code: string; prints?: string }[] = [];
  for (const node of rest) {
    if (node.type !== 'code') continue;
    const last = samples.at(-1);
    if (node.lang === 'ts') samples.push({ code: node.value });
    else if (node.lang === 'json' && last !== undefined && last.prints === undefined) last.prints = node.value;
    else throw new Error(`${name}.md has a block that no test runs, in line ${node.position?.start.line}.`);
  }
  return {
    name,
    title: textOf(heading),
    summary: textOf(first).replaceAll(/\s*\n\s*/g, ' '),
    text: page.slice(heading.position?.end.offset).trim(),
    samples,
  };
}

/** The samples as one program. Before each sample, it calls `startSample` with its number. */
export function programOf({ samples }: Guide): string {
  return samples.map(({ code }, index) => `${index === 0 ? '' : `startSample(${index});\n`}${code}\n`).join('\n');
}

/** Where a page of the reference is, in the form that links to it. */
export interface Links {
  operation(id: string): string;
  guide(name: string): string;
  topic(name: string): string;
}

/**
 * The text of a guide with links for one form of the reference: the first mention of each operation becomes a link, and so do the
 * links to other pages, which are relative in the source.
 */
export function withLinks({ text }: Pick<Guide, 'text'>, isOperation: (name: string) => boolean, links: Links): string {
  const mentioned = new Set<string>();
  const changes: { start: number; end: number; by: string }[] = [];
  for (const node of nodesOf(fromMarkdown(text))) {
    const [start, end] = [node.position?.start.offset ?? 0, node.position?.end.offset ?? 0];
    if (node.type === 'inlineCode' && isOperation(node.value) && !mentioned.has(node.value)) {
      mentioned.add(node.value);
      changes.push({ start, end, by: `[\`${node.value}\`](${links.operation(node.value)})` });
    }
    if (node.type === 'link') {
      const source = text.slice(start, end);
      changes.push({ start, end, by: source.replace(`](${node.url})`, `](${linkTo(node.url, links)})`) });
    }
  }
  return changes.reduceRight((changed, { start, end, by }) => changed.slice(0, start) + by + changed.slice(end), text);
}

function linkTo(url: string, links: Links): string {
  const { folder, name } = /^(?<folder>\.\.\/topics\/)?(?<name>[a-z-]+)\.md$/.exec(url)?.groups ?? {};
  if (name === undefined) return url;
  return folder === undefined ? links.guide(name) : links.topic(name);
}

/** In the order of the text. What is inside a link stays as it is. */
function nodesOf(node: Node): Node[] {
  return 'children' in node && node.type !== 'link' ? [node, ...node.children.flatMap(nodesOf)] : [node];
}
