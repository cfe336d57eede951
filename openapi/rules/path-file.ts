/**
 * The file of a path is found without a search, because its name follows from the path: the segments after the version
 * with `_` between them. A parameter adds no word; the word before it becomes singular, because it is one row.
 * If two paths have the same name, the one under `/gql/v1` keeps it and the one under `/api/v1` is prefixed with
 * `api_`; and the one without a parameter keeps it and the other gets the parameter's last word (`staff_id`).
 */
import { basename } from 'node:path';
import { folderOf, isReference, wholeContract } from './contract.ts';

interface Parsed {
  path: string;
  prefix: string;
  words: string;
  parameter: string | undefined;
}

export function fileNames(paths: string[]): Map<string, string> {
  const all = paths.map(parse);
  return new Map(
    all.map((one) => {
      const same = all.filter((other) => other !== one && other.words === one.words);
      const yieldsToReads = one.prefix === 'api' && same.some((other) => other.prefix !== 'api');
      const yieldsToPlain =
        one.parameter !== undefined &&
        same.some((other) => other.prefix === one.prefix && other.parameter === undefined);
      return [one.path, `${yieldsToReads ? 'api_' : ''}${one.words}${yieldsToPlain ? `_${one.parameter}` : ''}`];
    }),
  );
}

function parse(path: string): Parsed {
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== 'v1');
  const prefix = segments[0] === 'api' || segments[0] === 'gql' ? segments[0] : '';
  const words: string[] = [];
  let parameter: string | undefined;
  for (const segment of prefix === '' ? segments : segments.slice(1)) {
    if (segment.startsWith('{')) {
      words.push(singular(words.pop() ?? ''));
      parameter = /([A-Z]?[a-z0-9]+)\}$/.exec(segment)?.[1]?.toLowerCase();
    } else {
      words.push(segment.replaceAll('-', '_'));
    }
  }
  return { path, prefix, words: words.join('_'), parameter };
}

function singular(word: string): string {
  return word
    .replace(/ies$/, 'y')
    .replace(/ches$/, 'ch')
    .replace(/([^s])s$/, '$1');
}

export const pathFile = wholeContract((root, report) => {
  const paths = root.map('paths');
  // The bundle has no files.
  const isBundle = paths.length > 0 && paths.every(([, item]) => !isReference(item.raw));
  const names = fileNames(paths.map(([path]) => path));
  for (const [path, item] of paths) {
    if (!/^(\/([a-z0-9]+([-_][a-z0-9]+)*|\{[a-z][A-Za-z0-9]*\}))+$/.test(path)) {
      report(item, 'Write the segments of a path in lower case with `-` or `_`, and its parameters in camelCase.');
    }
    if (isBundle) continue;
    const wanted = `paths/${tagOf(item.home.source.absoluteRef)}/${names.get(path)}.yaml`;
    if (!isReference(item.raw)) {
      report(item, `Put the path into a file of its own, ${names.get(path)}.yaml, and refer to it.`);
    } else if (item.raw.$ref !== wanted || folderOf(item.home) === 'paths') {
      report(item, `Put the path into the file paths/<tag>/${names.get(path)}.yaml: the name follows from the path.`);
    }
  }
});

function tagOf(file: string): string {
  return basename(file.slice(0, file.lastIndexOf('/')));
}
