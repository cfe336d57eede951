/** HTML in which nothing that is put in can become markup. */

/** What is markup already; only `html` and `raw` make it. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Content = Markup | string | number | undefined | readonly Content[];

/** A template: texts that are put in are escaped, for elements and for attributes between double quotes; lists are joined. */
export function html(parts: TemplateStringsArray, ...contents: readonly Content[]): Markup {
  return new Markup(String.raw({ raw: parts }, ...contents.map(written)));
}

/** What is written by ourselves: the style and the script. */
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
