/** A report as a self-contained HTML page. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Category, categories } from '../finding/finding.ts';
import { type CoverageRow, coverageRows, partOf, percentText, shareText } from './coverage-table.ts';
import { excerptOf } from './excerpt.ts';
import { html, type Markup, raw } from './markup.ts';
import { stateOf } from './operation-table.ts';
import {
  counted,
  durationText,
  fileOf,
  type Gap,
  type Presentation,
  type PresentedExchange,
  type PresentedFinding,
  type PresentedReport,
  placeText,
  present,
} from './presented.ts';
import type { OperationReport, Report } from './report.ts';
import { visible } from './visible.ts';

const style = readFileSync(new URL('page.css', import.meta.url), 'utf8');
const script = readFileSync(new URL('page.js', import.meta.url), 'utf8');
/** Reports contain text from the server. If any passed the escaping, this policy would still block its scripts. */
const policy = `default-src 'none'; img-src data:; style-src ${hashOf(style)}; script-src ${hashOf(script)}; base-uri 'none'; form-action 'none'`;
const longestBody = 20_000;
const itemLimit = 200;
/** Findings that are expanded initially. */
const openFindings = 5;

export function renderHtml(report: Report, options: Presentation = {}): string {
  const shown = present(report, options);
  const title = shown.title === '' ? 'Contract check' : shown.title;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${shown.verdict} · ${visible(title)}</title>
<link rel="icon" href="${iconOf(report)}">
<style>${raw(style)}</style>
</head>
<body>
<header>
<p class="kicker">Contract check</p>
<h1>${visible(title)}</h1>
<p class="against"><code>${visible(shown.url)}</code> against <code>${visible(fileOf(shown.spec, options.directory))}</code></p>
<p class="verdict ${shown.state}">${shown.verdict}</p>
${tiles(shown)}
<nav><a href="#findings">Findings</a><a href="#operations">Operations</a><a href="#coverage">Coverage</a>${
    shown.notices.length === 0 ? undefined : html`<a href="#notices">Notes</a>`
  }</nav>
</header>
<main>
${findingsSection(shown)}
${operationsSection(shown)}
${coverageSection(shown, options)}
${noticesSection(shown)}
</main>
<script>${raw(script)}</script>
</body>
</html>
`.text;
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

function iconOf({ findings }: Report): string {
  const color = findings.length === 0 ? '%23198754' : '%23c62f3b';
  return `data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><circle cx='8' cy='8' r='7' fill='${color}'/></svg>`;
}

function tiles(report: PresentedReport): Markup {
  const reached = report.operations.filter((operation) => operation.reached).length;
  const all = report.operations.length;
  const { total } = report.coverage;
  const list: [name: string, value: string, state: string][] = [
    ['findings', report.findings.length.toLocaleString('en'), report.findings.length === 0 ? 'good' : 'bad'],
    ['operations reached', `${reached} of ${all}`, reached === all ? 'good' : 'fair'],
    ['exercised', percentText(partOf(total)), partOf(total) === 1 ? 'good' : ''],
    ['requests', report.requests.toLocaleString('en'), ''],
    ['time', durationText(report.milliseconds), ''],
    ['seed', String(report.seed), ''],
  ];
  return html`<dl class="tiles">${list.map(
    ([name, value, state]) => html`<div class="${state}"><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

function findingsSection({ findings }: PresentedReport): Markup {
  if (findings.length === 0) {
    return html`<section id="findings"><h2>Findings</h2><p class="empty">No differences were found.</p></section>`;
  }
  return html`<section id="findings">
<h2>Findings <span class="count">${findings.length}</span></h2>
<div class="tools" hidden>
<input type="search" aria-label="Filter findings" placeholder="Filter by text, operation or check">
${categories.map((category) => chip(category, findings))}
<button type="button" class="plain" data-toggle>Close all</button>
</div>
<p class="empty" data-none hidden>No finding matches.</p>
${findings.map(card)}
</section>`;
}

function chip(category: Category, findings: readonly PresentedFinding[]): Markup | undefined {
  const count = findings.filter((finding) => finding.category === category).length;
  if (count === 0) return undefined;
  return html`<button type="button" class="chip" data-category="${category}" aria-pressed="false">${category} ${count}</button>`;
}

function card(finding: PresentedFinding): Markup {
  const { number, title, operation, address, check, contract, place } = finding;
  const words = [title, check, operation, address, ...finding.also].join(' ').toLowerCase();
  const last = finding.exchanges.at(-1);
  return html`<details class="card" id="finding-${number}" data-category="${finding.category}" data-words="${visible(words)}"${
    number <= openFindings ? raw(' open') : undefined
  }>
<summary><span class="number">${number}</span><span class="title">${prose(title)}</span>
<span class="meta"><strong>${visible(operation)}</strong> ${address && html`<code>${visible(address)}</code>`}<span class="badge">${finding.severity}</span><span class="badge">${finding.category}</span><span class="badge quiet">${visible(check)}</span></span></summary>
<div class="sides"><div><h3>Expected</h3><p>${prose(finding.expected)}</p></div><div class="bad"><h3>Actual</h3><p>${prose(finding.actual)}</p></div></div>
${contract && html`<p class="line"><span class="label">Contract</span><code>${visible(contract)}</code> <code class="quiet">${visible(place?.pointer ?? '')}</code></p>`}
${finding.exchanges.map((exchange, index) => exchangeBlock(finding, exchange, index, exchange === last))}
${finding.details.map(([label, text]) => html`<p class="line"><span class="label">${label}</span><span>${prose(text)}</span></p>`)}
</details>`;
}

/** A sentence with text in backticks as code. */
function prose(text: string): Markup {
  const parts = visible(text).split('`');
  // An odd number of backticks cannot be paired.
  if (parts.length % 2 === 0) return html`${visible(text)}`;
  return html`${parts.map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`))}`;
}

function addressOf({ id, method, path }: OperationReport): Markup | undefined {
  return id === `${method} ${path}` ? undefined : html`<code>${method} ${visible(path)}</code>`;
}

function exchangeBlock(finding: PresentedFinding, exchange: PresentedExchange, index: number, isLast: boolean): Markup {
  const number = finding.exchanges.length > 1 ? ` ${index + 1}` : '';
  const { response } = exchange;
  return html`<h3>Request${number}</h3>
<div class="copied"><pre><code>${exchange.curl}</code></pre><button type="button" data-copy hidden>Copy</button></div>
<h3>Response${number} <span class="status">${exchange.summary}</span></h3>
${isLast ? excerptBlock(finding, exchange) : undefined}
<details class="whole"><summary>Full response: ${counted(Object.keys(response.headers).length, 'header')}, ${counted(response.text.length, 'character')}, ${durationText(response.milliseconds)}</summary>
<pre>${Object.entries(response.headers).map(([name, value]) => html`<span class="quiet">${visible(name)}:</span> ${visible(value)}\n`)}
${visibleLines(response.text.slice(0, longestBody))}${response.text.length > longestBody ? '\n…' : undefined}</pre></details>`;
}

function excerptBlock(finding: PresentedFinding, { response }: PresentedExchange): Markup | undefined {
  const lines = excerptOf(finding, response);
  if (lines.length === 0) return undefined;
  return html`<pre class="excerpt">${lines.map(({ text, marked }) =>
    marked ? html`<mark>${visible(text)}</mark>\n` : html`${visible(text)}\n`,
  )}</pre>`;
}

function visibleLines(text: string): string {
  return text.split(/\r?\n/).map(visible).join('\n');
}

function operationsSection(report: PresentedReport): Markup {
  const order = ['found', 'unreached', 'clean'];
  const operations = report.operations.toSorted(
    (one, other) => order.indexOf(stateOf(one)) - order.indexOf(stateOf(other)),
  );
  return html`<section id="operations">
<h2>Operations <span class="count">${report.operations.length}</span></h2>
<p class="legend"><span class="good">✓</span> checks without a finding, <span class="bad">✗</span> findings, – nothing to check, or not reached</p>
<div class="scroll"><table>
<thead><tr><th scope="col">Operation</th>${categories.map((category) => html`<th scope="col"><span>${category}</span></th>`)}</tr></thead>
<tbody>${operations.map((operation) => operationRow(operation, report.findings))}</tbody>
</table></div>
</section>`;
}

function operationRow(operation: OperationReport, findings: readonly PresentedFinding[]): Markup {
  const { id, reason, checks } = operation;
  const state = stateOf(operation);
  return html`<tr class="${state}"><th scope="row">${visible(id)} ${addressOf(operation)}${
    state === 'unreached' ? html`<small>not reached: ${visible(reason ?? 'no request succeeded')}</small>` : undefined
  }</th>${categories.map((category) => {
    const { observations, findings: found } = checks[category];
    if (found > 0) return html`<td class="bad">${linkToFinding(findings, operation, category, found)}</td>`;
    return observations > 0
      ? html`<td class="good"><span class="mark">✓ </span>${observations}</td>`
      : html`<td class="quiet">–</td>`;
  })}</tr>`;
}

function linkToFinding(
  findings: readonly PresentedFinding[],
  { id }: OperationReport,
  category: Category,
  count: number,
): Markup {
  const text = html`<span class="mark">✗ </span>${count}`;
  const first = findings.find(
    (finding) => finding.category === category && (finding.operation === id || finding.also.includes(id)),
  );
  return first === undefined ? text : html`<a href="#finding-${first.number}">${text}</a>`;
}

function coverageSection({ coverage, gaps }: PresentedReport, options: Presentation): Markup {
  return html`<section id="coverage">
<h2>Coverage</h2>
<div class="bars">${coverageRows(coverage).map(barRow)}</div>
${gaps.length === 0 ? undefined : html`<h3>Not covered</h3>`}
${gaps.map((one) => gapBlock(one, options))}
</section>`;
}

function barRow({ name, share, part }: CoverageRow): Markup {
  const state = part === 1 ? 'good' : part >= 0.8 ? 'fair' : 'bad';
  return html`<div class="${state}"><span>${name}</span><svg aria-hidden="true"><rect width="100%" height="100%"/><rect class="part" width="${(part * 100).toFixed(2)}%" height="100%"/></svg><span>${shareText(share)}</span><b>${percentText(part)}</b></div>`;
}

function gapBlock({ count, reason, items }: Gap, { directory }: Presentation): Markup {
  const left = items.length - itemLimit;
  const shown = items.slice(0, itemLimit).map(({ name, place }) => {
    const where = place && html` <code class="quiet">${visible(placeText(place, directory))}</code>`;
    return html`<li>${visible(name)}${where}</li>`;
  });
  return html`<details class="gap"><summary><strong>${count}</strong> ${visible(reason)}</summary>
<ul>${shown}${left > 0 ? html`<li>… ${left} more</li>` : undefined}</ul></details>`;
}

function noticesSection({ notices }: PresentedReport): Markup | undefined {
  if (notices.length === 0) return undefined;
  return html`<section id="notices"><h2>Notes</h2><ul>${notices.map((text) => html`<li>${visible(text)}</li>`)}</ul></section>`;
}
