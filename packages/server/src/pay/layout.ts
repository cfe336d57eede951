import { type Content, type Html, html } from './html.ts';
import { styleElement } from './style.ts';

export interface PageShape {
  readonly title: string;
  /** Who asks for the payment; undefined where that is not to be told. */
  readonly orgName?: string | undefined;
  readonly isTest?: boolean;
  /** Loads a page by itself, after so many seconds. */
  readonly refresh?: { readonly seconds: number; readonly url: string };
  readonly body: Content;
}

/** A whole page. */
export function layout({ title, orgName, isTest = false, refresh, body }: PageShape): string {
  const document: Html = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="color-scheme" content="light dark">
${refresh === undefined ? '' : html`<meta http-equiv="refresh" content="${refresh.seconds}; url=${refresh.url}">`}
<title>${title}</title>
${styleElement}
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header><p class="org">${orgName ?? 'Online payment'}</p></header>
<main id="main">
${body}
</main>
<footer>${isTest ? html`<p>Test mode: no money moves.</p>` : ''}</footer>
</body>
</html>
`;
  return document.text;
}

/** A page that says one thing. */
export function messagePage(
  shape: Omit<PageShape, 'body'> & { readonly heading: string; readonly text: Content },
): string {
  const { heading, text, ...rest } = shape;
  return layout({ ...rest, body: html`<div class="card"><h1>${heading}</h1>${text}</div>` });
}
