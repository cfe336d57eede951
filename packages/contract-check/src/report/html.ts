/** A report as a self-contained HTML page. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { categories } from '../finding/finding.ts';
import { type CoverageRow, coverageRows, partOf, percentText, shareText } from './coverage-table.ts';
import { html, type Markup, raw } from './markup.ts';
import { cellOf, type TableRow, tableRows } from './operation-table.ts';
import {
  type Field,
  fileOf,
  type Presentation,
  type PresentedExchange,
  type PresentedFinding,
  type PresentedReport,
  present,
  type Section,
} from './presented.ts';
import type { Report } from './report.ts';
import { counted, durationText } from './words.ts';

const style = readFileSync(new URL('page.css', import.meta.url), 'utf8');
const script = readFileSync(new URL('page.js', import.meta.url), 'utf8');
/** Reports contain text from the server. If any passed the escaping, this policy would still block its scripts. */
const policy = `default-src 'none'; img-src data:; style-src ${hashOf(style)}; script-src ${hashOf(script)}; base-uri 'none'; form-action 'none'`;
const longestBody = 20_000;
const itemLimit = 200;
/** Findings that are expanded initially. */
const openFindings = 5;
const idOf = (title: string) => title.toLowerCase().replaceAll(' ', '-');

export function renderHtml(report: Report, options: Presentation = {}): string {
  const shown = present(report, options);
  const title = shown.title === '' ? 'Contract check' : shown.title;
  const links = ['Findings', 'Operations', 'Coverage', ...shown.sections.map((section) => section.title)];
  const color = report.findings.length === 0 ? '%23198754' : '%23c62f3b';
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${shown.verdict} · ${title}</title>
<link rel="icon" href="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><circle cx='8' cy='8' r='7' fill='${color}'/></svg>">
<style>${raw(style)}</style>
</head>
<body>
<header>
<p class="kicker">Contract check</p>
<h1>${title}</h1>
<p class="against"><code>${shown.url}</code> against <code>${fileOf(shown.spec, options.directory)}</code></p>
<p class="verdict ${shown.state}">${shown.verdict}</p>
${tiles(shown)}
<nav>${links.map((name) => html`<a href="#${idOf(name)}">${name}</a>`)}</nav>
</header>
<main>
${findingsSection(shown)}
${operationsSection(shown)}
<section id="coverage"><h2>Coverage</h2><div class="bars">${coverageRows(shown.coverage).map(barRow)}</div></section>
${shown.sections.map(listSection)}
</main>
<script>${raw(script)}</script>
</body>
</html>
`.text;
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
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
  if (findings.length === 0)
    return html`<section id="findings"><h2>Findings</h2><p class="empty">No differences were found.</p></section>`;
  const chips = categories.map((category) => {
    const count = findings.filter((finding) => finding.category === category).length;
    return (
      count > 0 &&
      html`<button type="button" class="chip" data-category="${category}" aria-pressed="false">${category} ${count}</button>`
    );
  });
  return html`<section id="findings">
<h2>Findings <span class="count">${findings.length}</span></h2>
<div class="tools" hidden>
<input type="search" aria-label="Filter findings" placeholder="Filter by text, operation or check">
${chips}
<button type="button" class="plain" data-toggle>Close all</button>
</div>
<p class="empty" data-none hidden>No finding matches.</p>
${findings.map(card)}
</section>`;
}

function card(finding: PresentedFinding): Markup {
  const { number, title, operation, address, check, category, severity, fields, exchanges } = finding;
  const words = [title, check, operation, address, ...finding.also].join(' ').toLowerCase();
  return html`<details class="card" id="finding-${number}" data-category="${category}" data-words="${words}"${
    number <= openFindings && raw(' open')
  }>
<summary><span class="number">${number}</span><span class="title">${prose(title)}</span>
<span class="meta"><strong>${operation}</strong> ${address && html`<code>${address}</code>`}<span class="badge">${severity}</span><span class="badge">${category}</span><span class="badge quiet">${check}</span></span></summary>
${fields.map(fieldBlock)}
${exchanges.map(wholeResponse)}
</details>`;
}

function fieldBlock({ label, text, isCommand, lines = [] }: Field): Markup {
  if (isCommand)
    return html`<p class="line"><span class="label">${label}</span></p>
<div class="copied"><pre><code>${text}</code></pre><button type="button" data-copy hidden>Copy</button></div>`;
  const excerpt = lines.map((line) => (line.marked ? html`<mark>${line.text}</mark>\n` : `${line.text}\n`));
  return html`<p class="line ${label}"><span class="label">${label}</span><span>${
    label === 'contract' ? html`<code>${text}</code>` : prose(text)
  }</span></p>${excerpt.length > 0 && html`<pre class="excerpt">${excerpt}</pre>`}`;
}

/** A sentence with text in backticks as code. */
function prose(text: string): Markup {
  const parts = text.split('`');
  // An odd number of backticks cannot be paired.
  if (parts.length % 2 === 0) return html`${text}`;
  return html`${parts.map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`))}`;
}

function wholeResponse({ response }: PresentedExchange, index: number, all: readonly unknown[]): Markup {
  const { headers, text, milliseconds } = response;
  const title = `Full response${all.length > 1 ? ` ${index + 1}` : ''}`;
  const sizes = [counted(Object.keys(headers).length, 'header'), counted(text.length, 'character')];
  const names = Object.entries(headers).map(([name, value]) => html`<span class="quiet">${name}:</span> ${value}\n`);
  return html`<details class="whole"><summary>${title}: ${sizes.join(', ')}, ${durationText(milliseconds)}</summary>
<pre>${names}
${text.slice(0, longestBody)}${text.length > longestBody && '\n…'}</pre></details>`;
}

function operationsSection(report: PresentedReport): Markup {
  return html`<section id="operations">
<h2>Operations <span class="count">${report.operations.length}</span></h2>
<p class="legend"><span class="good">✓</span> checks without a finding, <span class="bad">✗</span> findings, – nothing to check, or not reached</p>
<div class="scroll"><table>
<thead><tr><th scope="col">Operation</th>${categories.map((category) => html`<th scope="col"><span>${category}</span></th>`)}</tr></thead>
<tbody>${tableRows(report).map((row) => operationRow(row, report.findings))}</tbody>
</table></div>
</section>`;
}

const cellClasses = { found: 'bad', clean: 'good', unreached: 'quiet' } as const;

function operationRow(
  { label, detail, state, reason, checks }: TableRow,
  findings: readonly PresentedFinding[],
): Markup {
  const cells = categories.map((category) => {
    const cell = cellOf(checks[category]);
    const first = findings.find(
      (one) => one.category === category && (one.operation === label || one.also.includes(label)),
    );
    const text =
      first && cell.state === 'found' ? html`<a href="#finding-${first.number}">${cell.text}</a>` : cell.text;
    return html`<td class="${cellClasses[cell.state]}">${text}</td>`;
  });
  return html`<tr class="${state}"><th scope="row">${label} ${detail !== '' && html`<code>${detail}</code>`}${
    state === 'unreached' && html`<small>not reached: ${reason ?? 'no request succeeded'}</small>`
  }</th>${cells}</tr>`;
}

function barRow({ name, share, part, state }: CoverageRow): Markup {
  return html`<div class="${state}"><span>${name}</span><svg aria-hidden="true"><rect width="100%" height="100%"/><rect class="part" width="${(part * 100).toFixed(2)}%" height="100%"/></svg><span>${shareText(share)}</span><b>${percentText(part)}</b></div>`;
}

function listSection({ title, entries }: Section): Markup {
  const listed = entries.map(({ text, items }) => {
    if (items.length === 0) return html`<li>${text}</li>`;
    const left = items.length - itemLimit;
    const shown = items
      .slice(0, itemLimit)
      .map(({ name, place }) => html`<li>${name} ${place && html`<code class="quiet">${place}</code>`}</li>`);
    return html`<li><details><summary>${text}</summary>
<ul>${shown}${left > 0 && html`<li>… ${left} more</li>`}</ul></details></li>`;
  });
  return html`<section id="${idOf(title)}" class="list"><h2>${title}</h2><ul>${listed}</ul></section>`;
}
