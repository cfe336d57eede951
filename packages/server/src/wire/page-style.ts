import { createHash } from 'node:crypto';
import { Html, type HtmlContent, html } from './html.ts';

/** The colors of all pages. Both schemes have a contrast of at least 4.5 for text, and of 3 for the borders of fields. */
const colors = `
:root{color-scheme:light dark;--page:#f3f5f8;--card:#fff;--text:#1a2230;--soft:#4a5568;--line:#d8dee8;--field:#6b7688;
--accent:#1f5fae;--on-accent:#fff;--accent-dark:#174a8a;--error:#b3261e;--error-bg:#fdeceb;--good:#146c43;--good-bg:#e8f5ee;--info-bg:#eaf1fb}
@media (prefers-color-scheme:dark){:root{--page:#12161d;--card:#1b212b;--text:#e8ecf3;--soft:#b3bccb;--line:#353e4d;--field:#8591a5;
--accent:#8ab8f5;--on-accent:#0d1a2b;--accent-dark:#b1d0fa;--error:#ffb4ab;--error-bg:#3a1d1c;--good:#7fd6a6;--good-bg:#16301f;--info-bg:#1c2a3d}}
@media (prefers-contrast:more){:root{--line:var(--field)}}`;

/** What text, tables, forms and notices have in common on all pages; sizes are those of each page. */
const elements = `*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
a{color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.skip{position:absolute;left:-999em}
.skip:focus{left:1rem;top:1rem;background:var(--card);padding:.5rem 1rem;z-index:1}
.card{background:var(--card);border:1px solid var(--line);border-radius:.75rem;margin-bottom:1rem}
h1{line-height:1.25;margin:0 0 .5rem}
h1,p,dd{overflow-wrap:anywhere}
p{margin:.5rem 0}
.lead,.hint,dt,thead th{color:var(--soft)}
table{width:100%;border-collapse:collapse}
table,dl{font-variant-numeric:tabular-nums}
th,td{text-align:left;border-bottom:1px solid var(--line);vertical-align:top}
thead th{font-weight:500}
.when{white-space:nowrap}
dl{display:grid}
dd{margin:0}
label{display:block;font-weight:500}
.hint{font-weight:400}
input,select,textarea{display:block;width:100%;font:inherit;color:inherit;background:var(--card);border:1px solid var(--field);border-radius:.5rem;padding:.5rem .75rem;margin-top:.25rem;min-height:2.75rem}
input:is([type=checkbox],[type=radio]){width:1.25rem;height:1.25rem;min-height:0;margin:0;accent-color:var(--accent)}
button,.button{font:inherit;font-weight:600;text-decoration:none;cursor:pointer;border:1px solid var(--accent);border-radius:.5rem;background:var(--accent);color:var(--on-accent)}
button:hover,.button:hover{background:var(--accent-dark)}
:is(button,.button).plain{background:transparent;color:var(--accent)}
:is(button,.button).plain:hover{background:var(--info-bg)}
summary{cursor:pointer;color:var(--accent)}
.alert{border-radius:.5rem;padding:.75rem 1rem;margin:0 0 1rem;background:var(--info-bg);border-left:.25rem solid var(--accent)}
.alert.bad{background:var(--error-bg);border-color:var(--error)}
.alert.good{background:var(--good-bg);border-color:var(--good)}
.alert :is(h2,p){margin:0}
.alert ul{margin:.25rem 0 0;padding-left:1.25rem}`;

export interface PageStyle {
  readonly element: Html;
  /** The content security policy: the page runs no script and loads nothing, and only this style is allowed. */
  readonly policy: string;
}

/** @param css the rules of the page beside those that all have */
export function pageStyle(css: string): PageStyle {
  const text = `${colors}\n${elements}\n${css}`;
  const hash = createHash('sha256').update(text).digest('base64');
  const policy = [
    `default-src 'none'`,
    `style-src 'sha256-${hash}'`,
    `form-action 'self'`,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
  ];
  return { element: new Html(`<style>${text}</style>`), policy: policy.join('; ') };
}

/** A whole page with a style, of which search engines keep nothing. */
export function privatePage(
  { element }: PageStyle,
  title: string,
  body: HtmlContent,
  head: HtmlContent = false,
): string {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="color-scheme" content="light dark">
${head}
<title>${title}</title>
${element}
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
${body}
</body>
</html>
`;
  return page.text;
}

/** Headers of pages with data of a tenant: no search engine, other page or device may use them. */
export function privatePageHeaders(policy: string) {
  return {
    'Content-Security-Policy': policy,
    'Referrer-Policy': 'no-referrer',
    'X-Frame-Options': 'DENY',
    'X-Robots-Tag': 'noindex, nofollow',
    'Permissions-Policy': 'geolocation=(), camera=(), microphone=()',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
  } as const;
}
