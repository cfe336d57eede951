import { posix } from 'node:path';
import { Marked } from 'marked';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { toString as textOf } from 'mdast-util-to-string';
import { describe, expect, it } from 'vitest';
import { operationsOf, readContract } from '../../packages/spec/src/examples.ts';
import { operations as index } from '../../packages/spec/src/index.ts';
import { chapterPath, readChapters } from './chapters.ts';
import { guideOf, withLinks } from './guides.ts';
import { files, markdownPages, printedPages } from './markdown.ts';
import { printPage } from './print.ts';
import { clientSample, curlSample } from './samples.ts';
import { limitsInWords, shapeOf, typeInWords } from './shapes.ts';

const contract = await readContract();
const operations = operationsOf(contract);
const chapters = await readChapters();
const pages = markdownPages(contract, chapters);
const overview = pages.get('llms.txt') ?? '';

describe('llms.txt', () => {
  it('has a title, a summary, and sections with lists of links', () => {
    const [title, summary, ...rest] = fromMarkdown(overview).children;
    expect(title).toMatchObject({ type: 'heading', depth: 1 });
    expect(summary).toMatchObject({ type: 'blockquote' });
    const sections = rest.slice(rest.findIndex(({ type }) => type === 'heading'));
    expect(sections.length).toBeGreaterThan(20);
    for (const [position, section] of sections.entries()) {
      expect(section).toMatchObject(position % 2 === 0 ? { type: 'heading', depth: 2 } : { type: 'list' });
    }
  });

  it('links to the page of every operation', () => {
    const linked = new Set(linksIn(overview));
    expect(operations.filter(({ id }) => !linked.has(`reference/operations/${id}.md`))).toEqual([]);
  });

  it('has a topic for each section of the description of the API', () => {
    const sections = fromMarkdown(contract.info.description)
      .children.filter((node) => node.type === 'heading' && node.depth === 2)
      .map((heading) => textOf(heading));
    const titles = [...pages].filter(([path]) => path.startsWith('reference/topics/')).map(([, page]) => titleOf(page));
    expect(titles).toEqual(sections);
    const text = [...pages.values()].join('\n');
    expect(
      contract.info.description.split('\n').filter((line) => !line.startsWith('## ') && !text.includes(line)),
    ).toEqual([]);
  });
});

describe('guides, workflows and changes', () => {
  it('have a page each, with a line of llms.txt', () => {
    const groups = Map.groupBy(chapters, ({ group }) => group);
    expect([...groups].map(([group, { length }]) => [group, length > 1])).toEqual([
      ['Guides', true],
      ['Workflows', true],
      ['Changes', true],
    ]);
    for (const chapter of chapters) {
      expect(titleOf(pages.get(chapterPath(chapter)) ?? '')).toBe(chapter.title);
      expect(overview).toContain(`- [${chapter.title}](${chapterPath(chapter)}): ${chapter.summary}\n`);
      expect(chapter.text.length).toBeGreaterThan(300);
    }
  });

  it('link the operations that they call', () => {
    const path = 'reference/workflows/w1-quote-to-cash.md';
    expect(pages.get(path)).toContain('1. [`createToken`](../operations/createToken.md): Token.\n');
    expect(pages.get('reference/changes/changelog.md')).toContain('## v9.8.0');
    expect(pages.get('reference/changes/breaking.md')).toContain('`#/components/schemas/');
  });

  const page =
    '# Do it\n\nTwice\nor more.\n\nCall `getClient`, then `getClient` and `other`. See [Limits](../topics/limits.md).\n';

  it('link the first mention of each operation, and other pages', () => {
    const links = {
      operation: (id: string) => `#/${id}`,
      guide: () => '',
      topic: (name: string) => `#section/${name}`,
    };
    expect(withLinks(guideOf('do-it', page), (name) => name === 'getClient', links)).toBe(
      'Twice\nor more.\n\nCall [`getClient`](#/getClient), then `getClient` and `other`. See [Limits](#section/limits).',
    );
  });

  it('cannot have a block that no test runs', () => {
    expect(guideOf('do-it', `${page}\n\`\`\`ts\nf();\n\`\`\`\n`).samples).toEqual([{ code: 'f();' }]);
    for (const block of ['```sh\nrm x\n```', '```json\n{}\n```', '```\nx\n```'])
      expect(() => guideOf('do-it', `${page}\n${block}\n`)).toThrow(
        'do-it.md has a block that no test runs, in line 8.',
      );
  });
});

describe('the Markdown pages', () => {
  it('have only links that resolve', () => {
    const broken = [...pages].flatMap(([path, page]) =>
      linksIn(page)
        .filter((url) => !/^https?:/.test(url))
        .map((url) => posix.join(posix.dirname(path), url))
        .filter((target) => !pages.has(target) && !(target in files))
        .map((target) => `${path}: ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it.each(operations)('describe $id with roles, parameters, bodies, errors and samples', (operation) => {
    const page = pages.get(`reference/operations/${operation.id}.md`) ?? '';
    expect(titleOf(page)).toBe(operation.summary);
    expect(page).toContain(`Operation \`${operation.id}\`: \`${operation.method} ${operation.path}\``);
    expect(page).toContain('- **Rate limit**: ');
    for (const role of index[operation.id].roles) {
      if (role !== 'ANY' && role !== 'PUBLIC') expect(page).toContain(`\`${role}\``);
    }
    for (const { name, in: place } of operation.parameters) expect(page).toContain(`| \`${name}\` | ${place} |`);
    for (const part of [operation.body, operation.responses[0]]) {
      const [example] = part?.examples ?? [];
      if (example !== undefined) expect(page).toContain(JSON.stringify(example.value, null, 2));
    }
    for (const { status, examples } of operation.responses.filter((response) => response.status >= 400)) {
      const row = page.split('\n').find((line) => line.startsWith(`| ${status} |`));
      for (const { value } of examples) expect(row).toContain(Object(value).code);
    }
    expect(page).toContain(curlSample(operation).trim());
    expect(page).toContain(clientSample(operation).trim());
  });

  it('describe each property of each schema', () => {
    for (const [name, schema] of Object.entries(contract.components.schemas ?? {})) {
      const page = pages.get(`reference/schemas/${name}.md`) ?? '';
      for (const property of Object.keys(Object(schema).properties ?? {})) {
        expect(page, name).toContain(`- \`${property}\`: `);
      }
    }
  });
});

describe('the page to print', () => {
  const page = printPage(contract.info.title, printedPages(contract, pages));

  it('has every operation, topic, guide, workflow and schema', () => {
    const missing = [...pages].filter(
      ([path]) =>
        /^reference\/(?!changes\/)/.test(path) &&
        !page.includes(`<section id="${path.slice(10).replaceAll(/[/.]/g, '-')}">`),
    );
    expect(missing.map(([path]) => path)).toEqual([]);
    for (const { id, method, path, summary } of operations) {
      expect(page).toContain(
        `<section id="operations-${id}-md">\n<h1>${summary}</h1>\n<p>Operation <code>${id}</code>: <code>${method} ${path}</code></p>`,
      );
    }
  });

  it('has only links that resolve, and no HTML of descriptions', () => {
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const targets = [...page.matchAll(/ href="([^"]+)"/g)].map(([, target = '']) => target);
    const isKnown = (target: string) =>
      target.startsWith('#') ? ids.includes(target.slice(1)) : /^(https?:|\.\.\/)/.test(target);
    expect(targets.filter((target) => !isKnown(target))).toEqual([]);
    const harmful = printPage(
      'x',
      new Map([['reference/x.md', '# A\n\n<script>alert(1)</script>\n\n<b>x</b> [y](y.md)\n']]),
    );
    expect(harmful).toContain('&lt;script>alert(1)&lt;/script>');
    expect(harmful).toContain('&lt;b>x&lt;/b>');
  });
});

describe('a shape', () => {
  const link = (name: string) => `${name}.md`;

  it('describes types in words', () => {
    expect(typeInWords({ $ref: '#/components/schemas/Client' }, link)).toBe('[Client](Client.md)');
    expect(typeInWords({ type: ['array', 'null'], items: { type: 'string', format: 'date' } }, link)).toBe(
      'array of string (date), or null',
    );
    expect(typeInWords({ anyOf: [{ enum: [1] }, { enum: ['A', 'B'] }, { type: 'null' }] }, link)).toBe(
      '`1` or `A`, `B` or null',
    );
  });

  it('describes limits in words', () => {
    expect(limitsInWords({ minLength: 1, maxLength: 200 })).toEqual(['1 to 200 characters']);
    expect(limitsInWords({ maxItems: 1, uniqueItems: true })).toEqual(['at most 1 item', 'unique items']);
    expect(limitsInWords({ minProperties: 1 })).toEqual(['at least 1 property']);
    expect(limitsInWords({ minimum: 0, maximum: 100_000, default: 50 })).toEqual(['0 to 100,000', 'default `50`']);
  });

  it('keeps lists in descriptions and objects within objects below their property', () => {
    const inner = { type: 'object', properties: { b: { type: 'string', description: 'One.\n\n- two\n' } } };
    const shape = { properties: { a: { type: 'array', items: inner } }, required: ['a'] };
    expect(shapeOf(shape, link)).toBe('- `a`: array of object; required.\n  - `b`: string. One.\n\n    - two');
  });
});

function titleOf(page: string): string {
  return /^# (.*)$/m.exec(page)?.[1] ?? '';
}

const marked = new Marked();

function linksIn(page: string): string[] {
  const links: string[] = [];
  marked.walkTokens(marked.lexer(page), (token) => {
    if (token.type === 'link') links.push(token.href);
  });
  return links;
}
