/** The contract for the reference: with samples, and chapters of states and webhooks. */
import { type Contract, operationsOf } from '../../packages/spec/src/examples.ts';
import { operations as index } from '../../packages/spec/src/index.ts';
import { type Chapter, chapterOf, chapterPath } from './chapters.ts';
import { type Links, withLinks } from './guides.ts';
import { slugOf, topicsOf } from './markdown.ts';
import { sampleLanguages } from './samples.ts';
import { stateLinks, withStates } from './states.ts';

export function described(contract: Contract, chapters: readonly Chapter[]): Contract {
  const copy = structuredClone(contract);
  for (const operation of operationsOf(contract)) {
    const shown = copy.paths[operation.path]?.[operation.method.toLowerCase()];
    if (typeof shown !== 'object' || shown === null)
      throw new Error(`The bundle has no ${operation.method} ${operation.path}.`);
    Object.assign(shown, {
      description: `${linkedRole(operation.description)}\n- **Operation ID**: \`${operation.id}\`\n${stateLinks(contract, operation)}`,
      'x-codeSamples': sampleLanguages.map(({ lang, label, sampleOf }) => ({
        lang,
        label,
        source: sampleOf(operation),
      })),
    });
  }
  return withChapters(
    withWebhooksApart(withAuthenticationOnce(withRoles(withErrorsApart(withStates(copy))))),
    chapters,
  );
}

/** Moves the events to a separate chapter, because there are many and they cannot be called; the sandbox remains the last chapter. */
function withWebhooksApart(contract: Contract): Contract {
  const events = Object.values(contract.webhooks).flatMap((item) => Object.values(item));
  for (const event of events) Object.assign(event, { tags: ['webhooks'] });
  const { description, text } = withoutTopic(contract, 'Webhooks');
  const chapter = {
    name: 'webhooks',
    'x-displayName': 'Webhooks',
    description: `${text}\n\nThe ${events.length} events below have the same envelope.`,
  };
  return { ...contract, info: { ...contract.info, description }, tags: contract.tags.toSpliced(-1, 0, chapter) };
}

/** Moves the topic of authentication to the description of its chapter, which otherwise has the same title. */
function withAuthenticationOnce(contract: Contract): Contract {
  const { description, text } = withoutTopic(contract, 'Authentication');
  const tags = contract.tags.map((chapter) =>
    'name' in chapter && chapter.name === index.createToken.tag ? { ...chapter, description: text } : chapter,
  );
  return { ...contract, info: { ...contract.info, description }, tags };
}

/** The description of the API without a topic, and the text of the topic. */
function withoutTopic(contract: Contract, title: string): { readonly description: string; readonly text: string } {
  const topic = topicsOf(contract).find((one) => one.title === title);
  if (topic === undefined) throw new Error(`The description of the API has no section "${title}".`);
  return { description: contract.info.description.replace(`## ${title}\n${topic.text}`, ''), text: topic.text };
}

/** Adds guides and workflows as the first groups of the menu, and changes as the last one. */
function withChapters(contract: Contract, chapters: readonly Chapter[]): Contract {
  const tagOf = new Map<string, string>(Object.entries(index).map(([id, { tag }]) => [id, tag]));
  const topics = new Set(topicsOf(contract).map(slugOf));
  const links: Links = {
    operation: (id) => `#/${tagOf.get(id)}/${id.toLowerCase()}`,
    guide: (name) => `#/${chapterOf({ group: 'Guides', name })}`,
    // Some topics are in the chapter with their name.
    topic: (name) => (topics.has(name) ? `#/section/${name}` : `#/${name}`),
  };
  const tags = chapters.map((chapter) => ({
    name: chapterOf(chapter),
    'x-displayName': chapter.title,
    // The size of the page is limited, and changes are long.
    description:
      chapter.group === 'Changes'
        ? `${chapter.summary}\n\n[${chapter.title}](${chapterPath(chapter)})`
        : withLinks(chapter, (name) => tagOf.has(name), links),
  }));
  const groupOf = (name: Chapter['group']) => ({
    name,
    tags: chapters.filter(({ group }) => group === name).map(chapterOf),
  });
  const groups = [
    groupOf('Guides'),
    groupOf('Workflows'),
    { name: 'Operations', tags: contract.tags.map((tag) => Object(tag).name) },
    groupOf('Changes'),
  ];
  return Object.assign({ ...contract, tags: [...tags, ...contract.tags] }, { 'x-tagGroups': groups });
}

/** The server has a page of all codes, which would otherwise be in this page once more. */
function withErrorsApart(contract: Contract): Contract {
  for (const name of ['ProblemCode', 'ProblemErrorCode', 'ItemErrorCode']) {
    const schema: { description?: string } = Object(contract.components.schemas?.[name]);
    const [first = ''] = schema.description?.split('\n\n') ?? [];
    schema.description = `${first} The page \`/reference/errors\` of a server describes each code.`;
  }
  return contract;
}

/** Moves the table of roles to a separate page, in the chapter of authentication. */
function withRoles(contract: Contract): Contract {
  Object.assign(Object(contract.components.schemas?.Role), { 'x-tags': [index.createToken.tag] });
  return contract;
}

function linkedRole(description: string): string {
  return description.replaceAll('the schema `Role`', `[all roles](#/${index.createToken.tag}/role)`);
}
