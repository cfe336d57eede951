import { type Column, heightOf, type Pages, type Style } from './pages.ts';

/** A column of a table to lay out. */
export interface TableColumn {
  readonly name: string;
  readonly align?: 'left' | 'right';
  /** Whether it has the width that the others leave. One column has. */
  readonly isFlexible?: boolean;
}

/** The least width of the flexible column, in points, for which the others are not broken into lines. */
const comfortableWidth = 120;
const gap = 14;

/**
 * Lays out a table across the page: each column is as wide as its widest text, and the flexible one has the rest. If that is
 * little, the others are only as wide as their widest word, and their texts have several lines.
 */
export function columnsOf(
  page: Pages,
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  { head, body, inset = 0 }: { readonly head: Style; readonly body: Style; readonly inset?: number },
): readonly Column[] {
  const layOut = (widthOf: (text: string, style: Style) => number): readonly Column[] => {
    const widths = columns.map(({ name, isFlexible }, index) =>
      isFlexible ? 0 : Math.max(widthOf(name, head), ...rows.map((row) => widthOf(row[index] ?? '', body))),
    );
    const others = widths.reduce((sum, width) => sum + width) + gap * (columns.length - 1);
    let left = page.margin + inset;
    return columns.map(({ align = 'left', isFlexible }, index) => {
      const width = isFlexible ? page.width - 2 * inset - others : (widths[index] ?? 0);
      const column: Column = { left, width, align };
      left += width + gap;
      return column;
    });
  };
  const wide = layOut((text, style) => page.widthOf(text, style));
  const rest = wide[columns.findIndex(({ isFlexible }) => isFlexible)]?.width ?? 0;
  return rest < comfortableWidth ? layOut((text, style) => page.widestWord(text, style)) : wide;
}

/** Sets a row of a table, of as many lines as its longest text has. @param below the height that remains below each line. */
export function setRow(page: Pages, columns: readonly Column[], row: readonly string[], style: Style, below = 0): void {
  const cells = columns.map(({ width }, index) => page.lines(row[index] ?? '', width, style));
  const count = Math.max(...cells.map(({ length }) => length));
  page.reserve(Math.min(count, 2) * heightOf(style) + below);
  for (let number = 0; number < count; number++) {
    page.reserve(heightOf(style) + below);
    for (const [index, column] of columns.entries()) page.line(cells[index]?.[number] ?? '', style, column);
    page.space(heightOf(style));
  }
}

/** How many lines a row has. */
export function countLines(page: Pages, columns: readonly Column[], row: readonly string[], style: Style): number {
  return Math.max(...columns.map(({ width }, index) => page.lines(row[index] ?? '', width, style).length));
}
