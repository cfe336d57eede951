import type { IForbiddenRuleType } from 'dependency-cruiser';

/** What only tests import is not among the sources. */
const tests = String.raw`\.test\.ts$`;

/** A layer of the table: files and directories. */
interface Layer {
  readonly name: string;
  readonly paths: readonly string[];
}

/** Rules for the layers of a directory. */
export interface LayerRules {
  /** Pattern of the modules that the rules do not apply to. */
  readonly tests: string;
  readonly forbidden: readonly IForbiddenRuleType[];
  /** Whether a module is in the directory but in none of the layers. */
  isMissing(source: string): boolean;
}

/**
 * Reads the layers of a directory from the table that follows its name, and returns a rule for each layer: it does not import
 * from those above it.
 *
 * @throws Error if there is no such table.
 */
export function rulesOfLayers(directory: string, markdown: string): LayerRules {
  const layers = layersOf(directory, markdown);
  const all = layers.flatMap(({ paths }) => paths);
  const patterns = layers.map(({ paths }) => ({
    path: paths.map((path) => patternOf(directory, path)).join('|'),
    // Some files of a directory have a layer of their own.
    others: all.filter((other) => !paths.includes(other) && paths.some((path) => other.startsWith(path))),
  }));
  const forbidden = patterns.flatMap(({ path, others }, index): IForbiddenRuleType[] => {
    const above = patterns.slice(0, index);
    return above.map((layer, position) => ({
      name: `${layers[index]?.name} is below ${layers[position]?.name}`,
      severity: 'error',
      from: { path, pathNot: [tests, ...others.map((other) => patternOf(directory, other))] },
      to: { path: layer.path, pathNot: layer.others.map((other) => patternOf(directory, other)) },
    }));
  });
  return {
    tests,
    forbidden,
    isMissing: (source) =>
      source.startsWith(directory) &&
      !new RegExp(tests).test(source) &&
      !all.some((path) => new RegExp(patternOf(directory, path)).test(source)),
  };
}

/** Rules for rooms, which are directories with an `index.ts`: what is outside of one imports it through that file. */
export function rulesOfFaces(sources: string, rooms: readonly string[]): readonly IForbiddenRuleType[] {
  return rooms.map((room) => ({
    name: `${room} is imported through its index.ts`,
    severity: 'error',
    from: { path: `^${sources}`, pathNot: [`^${room}`, tests] },
    to: { path: String.raw`^${room}(?!index\.ts$)` },
  }));
}

/** A package is imported by its name. The `exports` of the client are of what a release builds, which others here do not wait for. */
export const ruleOfPackages: IForbiddenRuleType = {
  name: 'a package is imported by its name',
  severity: 'error',
  from: { path: '^packages/([^/]+)/' },
  to: {
    path: '^packages/',
    pathNot: ['^packages/$1/', '^packages/client/src/index\\.ts$'],
    dependencyTypes: ['local'],
  },
};

function layersOf(directory: string, markdown: string): Layer[] {
  const [, after = ''] = markdown.split(`\`${directory.replace(/\/$/, '')}\``);
  const table = /(?:^\|.*\n)+/m.exec(after)?.[0] ?? '';
  const layers = table.split('\n').flatMap((row): Layer[] => {
    const [, cell = ''] = row.split('|');
    const paths = [...cell.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path);
    return paths.length === 0 ? [] : [{ name: paths[0] ?? '', paths }];
  });
  if (layers.length < 2) throw new Error(`No table of layers follows \`${directory}\`.`);
  return layers;
}

function patternOf(directory: string, path: string): string {
  const literal = `${directory}${path}`.replaceAll('.', String.raw`\.`);
  return `^${literal}${path.endsWith('/') ? '' : '$'}`;
}
