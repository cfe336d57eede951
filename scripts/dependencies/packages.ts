import type { ICruiseResult } from 'dependency-cruiser';

/** Its `exports` are of what a release builds, which other packages here do not wait for. */
const sourceOfClient = 'packages/client/src/index.ts';

/** Finds imports from other packages by a path: a package is imported by its name, through what it exports. */
export function importsByPath({ modules }: Pick<ICruiseResult, 'modules'>): string[] {
  return modules.flatMap(({ source, dependencies }) => {
    const own = packageOf(source);
    if (own === undefined) return [];
    return dependencies
      .filter(
        ({ module, resolved }) => module.startsWith('.') && isOther(packageOf(resolved)) && resolved !== sourceOfClient,
      )
      .map(({ resolved }) => `${source} imports ${resolved} by a path. Import the package by its name.`);

    function isOther(other: string | undefined): boolean {
      return other !== undefined && other !== own;
    }
  });
}

function packageOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1];
}
