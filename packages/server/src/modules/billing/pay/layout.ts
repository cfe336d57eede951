import { type Content, type Html, html } from './html.ts';
import { styleElement } from './style.ts';

export interface PageShape {
  readonly title: string;
  /** The firm that requests the payment; undefined if it must not be disclosed. */
  readonly orgName?: string | undefined;
  readonly isTest?: boolean;
  /** Reloads a page automatically after this many seconds. */
  readonly refresh?: { readonly seconds: number; readonly url: string };
  readonly body: Content;
}

/** Renders a complete page. */
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

/** Renders a page with one message. */
export function messagePage(
  shape: Omit<PageShape, 'body'> & { readonly heading: string; readonly text: Content },
): string {
  const { heading, text, ...rest } = shape;
  return layout({ ...rest, body: html`<div class="card"><h1>${heading}</h1>${text}</div>` });
}
