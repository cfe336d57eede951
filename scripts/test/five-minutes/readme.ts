export interface Line {
  readonly line: string;
  /** Whether it is the first line of a block: each block is typed into a terminal of its own. */
  readonly isNewTerminal: boolean;
}

/** The lines that the chapter "Five minutes" has the reader type, in their order. */
export function linesToType(readme: string): Line[] {
  const [, chapter = ''] = /^## Five minutes\n(.*?)^## /ms.exec(readme) ?? [];
  return [...chapter.matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, block = '']) =>
    block
      .trim()
      .split('\n')
      .map((line, index) => ({ line: line.replace(/\s+#.*$/, ''), isNewTerminal: index === 0 })),
  );
}
