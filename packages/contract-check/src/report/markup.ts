/** HTML templates that escape all inserted values. */
import { visible } from './words.ts';

/** Escaped HTML, created only by `html` and `raw`. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Content = Markup | string | number | undefined | false | readonly Content[];

/**
 * A template tag. Escapes inserted texts for elements and double-quoted attributes, shows their invisible characters,
 * and joins lists.
 */
export function html(parts: TemplateStringsArray, ...contents: readonly Content[]): Markup {
  return new Markup(String.raw({ raw: parts }, ...contents.map(written)));
}

/** Trusted content of this package: the style and the script. */
export function raw(text: string): Markup {
  return new Markup(text);
}

function written(content: Content): string {
  if (content === undefined || content === false) return '';
  if (content instanceof Markup) return content.text;
  if (typeof content === 'object') return content.map(written).join('');
  const lines = String(content).split(/\r?\n/).map(visible).join('\n');
  return lines.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
