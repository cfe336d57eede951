/** The pages of the reference beside the contract: guides, workflows, and what changes. */
import { readdir, readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { type Guide, readGuides } from './guides.ts';

/** A page in Markdown, and the group of the menu that has it. */
export interface Chapter extends Pick<Guide, 'name' | 'title' | 'summary' | 'text'> {
  readonly group: 'Guides' | 'Workflows' | 'Changes';
}

const openapi = new URL('../../openapi/', import.meta.url);

/** In the order of the menu. */
export async function readChapters(): Promise<Chapter[]> {
  const guides = (await readGuides()).map((guide): Chapter => ({ ...guide, group: 'Guides' }));
  return [...guides, ...(await readWorkflows()), ...(await readChanges())];
}

/** The first part of the address of a chapter, and the folder of its page in Markdown. */
export const prefixes = {
  Guides: { address: 'guide', folder: 'guides' },
  Workflows: { address: 'workflow', folder: 'workflows' },
  Changes: { address: 'changes', folder: 'changes' },
} as const satisfies Record<Chapter['group'], object>;

export function chapterOf({ group, name }: Pick<Chapter, 'group' | 'name'>): string {
  return `${prefixes[group].address}-${name}`;
}

export function chapterPath({ group, name }: Pick<Chapter, 'group' | 'name'>): string {
  return `reference/${prefixes[group].folder}/${name}.md`;
}

/** The part of an Arazzo document that a page shows. */
interface Arazzo {
  readonly info: { readonly title: string; readonly summary: string; readonly description: string };
  readonly workflows: readonly { readonly steps: readonly Step[] }[];
}
interface Step {
  readonly stepId: string;
  readonly operationId?: string;
  readonly description?: string;
}

async function readWorkflows(): Promise<Chapter[]> {
  const folder = new URL('workflows/', openapi);
  // w2 before w10.
  const order = new Intl.Collator('en', { numeric: true });
  const names = (await readdir(folder)).filter((name) => name.endsWith('.arazzo.yaml')).sort(order.compare);
  return await Promise.all(
    names.map(async (file): Promise<Chapter> => {
      const { info, workflows }: Arazzo = parse(await readFile(new URL(file, folder), 'utf8'));
      const steps = workflows.flatMap((workflow) => workflow.steps).map(stepLine);
      const text = [
        info.description.trim(),
        `The steps, as the Arazzo document \`openapi/workflows/${file}\` describes them; \`pnpm workflows\` runs it:`,
        steps.join('\n'),
      ].join('\n\n');
      return {
        group: 'Workflows',
        name: file.replace('.arazzo.yaml', ''),
        title: info.title,
        summary: info.summary,
        text,
      };
    }),
  );
}

function stepLine({ stepId, operationId, description }: Step, position: number): string {
  const call = operationId === undefined ? '' : ` \`${operationId}\``;
  const words = stepId.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
  const about = description?.trim() ?? (operationId === stepId ? '' : `${words[0]?.toUpperCase()}${words.slice(1)}.`);
  return `${position + 1}.${call}${call !== '' && about !== '' ? ':' : ''}${about === '' ? '' : ` ${about}`}`;
}

interface Break {
  readonly at: string;
  readonly says: string;
  readonly reason: string;
}

async function readChanges(): Promise<Chapter[]> {
  const changelog = await readFile(new URL('../CHANGELOG.md', openapi), 'utf8');
  const released = (await readdir(new URL('released/', openapi))).find((name) => /^v[\d.]+\.yaml$/.test(name)) ?? '';
  const breaks: readonly Break[] =
    parse(await readFile(new URL('released/allowed-breaks.yaml', openapi), 'utf8')) ?? [];
  const release = released.replace('.yaml', '');
  const rows = breaks.map(({ at, says, reason }) => `- ${says} ${reason} (\`${at}\`)`);
  return [
    {
      group: 'Changes',
      name: 'changelog',
      title: 'Changelog',
      summary: 'What changed in each release.',
      text: changelog.replace(/^# .*\n/, '').trim(),
    },
    {
      group: 'Changes',
      name: 'breaking',
      title: `Breaking changes since ${release}`,
      summary: `Every change since ${release} that can break a caller, with its place in the contract and its reason.`,
      text: `The contract is compared with ${release}. These differences can break a caller:\n\n${rows.join('\n')}`,
    },
  ];
}
