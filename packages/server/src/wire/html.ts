/** Text that is already HTML. Only `html` creates it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlContent = Html | string | number | false | null | undefined | readonly HtmlContent[];

/** Creates HTML from a template. Values are escaped for text and quoted attributes, unless this function created them. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlContent[]): Html {
  return new Html(parts.map((part, index) => (index === 0 ? part : `${textOf(values[index - 1])}${part}`)).join(''));
}

function textOf(content: HtmlContent): string {
  if (content instanceof Html) return content.text;
  if (content === false || content === null || content === undefined) return '';
  if (typeof content === 'string' || typeof content === 'number') return escapeText(String(content));
  return content.map(textOf).join('');
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => escapes[character] ?? '');
}
