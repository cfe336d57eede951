import { type Html, type HtmlContent, html } from '../../wire/html.ts';
import { styleElement } from './style.ts';

/** Who is signed in, and where the console is. */
export interface Frame {
  /** Path of the console in the browser. */
  readonly base: string;
  readonly tenant: string;
  readonly user: string;
  readonly isSandbox: boolean;
  readonly formKey: string;
  /** The end of the session, RFC 3339. */
  readonly until: string;
}

export interface ConsolePageShape {
  readonly title: string;
  /** The part of the console that the page belongs to, which is the start of its path. */
  readonly part: string;
  readonly lead?: HtmlContent;
  readonly notice?: HtmlContent;
  readonly body: HtmlContent;
}

const parts: readonly (readonly [path: string, title: string])[] = [
  ['', 'Overview'],
  ['/requests', 'Requests'],
  ['/subscriptions', 'Subscriptions'],
  ['/data', 'Data'],
  ['/keys', 'API keys'],
  ['/limits', 'Limits'],
  ['/settings', 'Settings'],
  ['/clock', 'Clock'],
];

/** A page for someone who is signed in. */
export function framed(frame: Frame, { title, part, lead, notice, body }: ConsolePageShape): string {
  const { base, tenant, user, isSandbox } = frame;
  const shown = parts.filter(([path]) => path !== '/clock' || isSandbox);
  return document(
    title,
    html`<header class="top"><p class="brand">Console</p>
<p class="tenant"><code>${tenant}</code>${isSandbox && ' (sandbox)'}, signed in as ${user}</p>
<form method="post" action="${base}/sign-out">${keyField(frame)}<button class="plain">Sign out</button></form></header>
<div class="shell"><nav aria-label="Console"><ul>${shown.map(
      ([path, name]) =>
        html`<li><a href="${base}${path}"${path === part && html` aria-current="page"`}>${name}</a></li>`,
    )}<li><a href="${base.replace(/\/console$/, '')}/reference">Reference</a></li></ul></nav>
<main id="main"><h1>${title}</h1>${lead !== undefined && html`<p class="lead">${lead}</p>`}${notice}
${body}</main></div>`,
  );
}

/** A page for someone who is not signed in. */
export function plainPage(title: string, body: HtmlContent): string {
  return document(title, html`<main id="main" class="narrow"><div class="card"><h1>${title}</h1>${body}</div></main>`);
}

function document(title: string, body: HtmlContent): string {
  const page: Html = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="color-scheme" content="light dark">
<title>${title} · Console</title>
${styleElement}
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
${body}
</body>
</html>
`;
  return page.text;
}

export function keyField({ formKey }: Pick<Frame, 'formKey'>): Html {
  return html`<input type="hidden" name="formKey" value="${formKey}">`;
}

/** A table that scrolls where it is too wide, also by keyboard. */
export function table(name: string, heads: readonly HtmlContent[], rows: readonly (readonly HtmlContent[])[]): Html {
  return html`<div class="scroll" role="region" aria-label="${name}" tabindex="0"><table>
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${rows.map(([first, ...others]) => html`<tr><th scope="row">${first}</th>${others.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
</table></div>`;
}

export function alert(kind: 'good' | 'bad' | '', content: HtmlContent): Html {
  return html`<div class="alert ${kind}" role="${kind === 'bad' ? 'alert' : 'status'}">${content}</div>`;
}

/** An instant without the parts that nobody reads. */
export function when(instant: unknown): HtmlContent {
  if (typeof instant !== 'string') return html`<span class="soft">never</span>`;
  const text = instant.replace('T', ' ').replace(/\.\d+Z$|Z$/, ' UTC');
  return html`<time class="when" datetime="${instant}">${text}</time>`;
}

export function badge(text: string, kind: 'good' | 'bad' | '' = ''): Html {
  return html`<span class="badge ${kind}">${text}</span>`;
}
