import { type HtmlContent, html } from '../../../wire/html.ts';
import { privatePage } from '../../../wire/page-style.ts';
import { style } from './style.ts';
import { watchElement } from './watch.ts';

export interface PayPageShape {
  readonly title: string;
  /** The firm that requests the payment; undefined if it must not be disclosed. */
  readonly orgName?: string | undefined;
  readonly isTest?: boolean;
  /** Where the page forwards to at once. */
  readonly forwardTo?: string;
  /** Whether the page looks for its next state. */
  readonly isWatched?: boolean;
  readonly body: HtmlContent;
}

/** Renders a complete page. */
export function layout({ title, orgName, isTest = false, forwardTo, isWatched = false, body }: PayPageShape): string {
  const forward = forwardTo !== undefined && html`<meta http-equiv="refresh" content="0; url=${forwardTo}">`;
  const content = html`<header><p class="org">${orgName ?? 'Online payment'}</p></header>
<main id="main">
${body}
</main>
<footer>${isTest && html`<p>Test mode: no money moves.</p>`}</footer>`;
  return privatePage(style, title, content, [forward, isWatched && watchElement]);
}

/** Renders a page with one message. */
export function messagePage(
  shape: Omit<PayPageShape, 'body'> & { readonly heading: string; readonly text: HtmlContent },
): string {
  const { heading, text, ...rest } = shape;
  return layout({ ...rest, body: html`<div class="card"><h1>${heading}</h1>${text}</div>` });
}
