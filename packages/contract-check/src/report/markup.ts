/** HTML templates that escape all inserted values. */

/** Escaped HTML, created only by `html` and `raw`. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Content = Markup | string | number | undefined | readonly Content[];

/** A template tag. Escapes inserted texts for elements and double-quoted attributes, and joins lists. */
export function html(parts: TemplateStringsArray, ...contents: readonly Content[]): Markup {
  return new Markup(String.raw({ raw: parts }, ...contents.map(written)));
}

/** Trusted content of this package: the style and the script. */
export function raw(text: string): Markup {
  return new Markup(text);
}

function written(content: Content): string {
  if (content === undefined) return '';
  if (content instanceof Markup) return content.text;
  return typeof content === 'string' || typeof content === 'number'
    ? escaped(String(content))
    : content.map(written).join('');
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
