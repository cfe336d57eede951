import { impliedRoles } from '@financial-automation/spec';
import { hasRole, mayCall } from '@financial-automation/spec/roles';
import { operationOf } from '../../contract/contract.ts';
import type { OperationId } from '../../contract/handler.ts';
import { Rejection } from '../../contract/rejection.ts';
import { type Html, type HtmlContent, html } from '../../wire/html.ts';
import { privatePage } from '../../wire/page-style.ts';
import { style } from './style.ts';
import type { ConsoleVisit } from './visit.ts';
import { fieldAt, sentenceInWords } from './words.ts';

export interface ConsolePage {
  readonly title: string;
  readonly lead?: HtmlContent;
  readonly notice?: HtmlContent;
  /** What was searched. */
  readonly search?: string;
  readonly body: HtmlContent;
  /** The status of the response; 200 by default. */
  readonly status?: number;
  /** Whether it shows a document of the service beside its own content. */
  readonly hasDocument?: boolean;
}

type Roles = ReadonlySet<string>;

/** What is open to administrators alone has no operation that would check roles. */
export function isAdministrator(roles: Roles): boolean {
  return hasRole(roles, [impliedRoles.administrator]);
}

const callersOf = (id: OperationId) => (roles: Roles) => mayCall(operationOf(id), roles);
const parts: readonly (readonly [path: string, title: string, isOpenTo?: (roles: Roles) => boolean])[] = [
  ['', 'Overview'],
  ['/data', 'Data'],
  ['/close', 'Close a month'],
  ['/requests', 'Requests', isAdministrator],
  ['/data/EventSubscription', 'Subscriptions', callersOf('listEventSubscriptions')],
  ['/secret', 'Secret of deliveries', callersOf('getWebhookSecret')],
  ['/keys', 'API keys', isAdministrator],
  ['/settings', 'Settings', isAdministrator],
  ['/clock', 'Clock'],
];

/** The part of the console that has a page. */
function partAt(at: string) {
  return parts.findLast(([path]) => at === path || (path !== '' && at.startsWith(`${path}/`)));
}

/** @throws Rejection `FORBIDDEN` if a part of the console is open to others only */
export function checkPart(at: string, roles: Roles): void {
  const [, , isOpenTo] = partAt(at) ?? [];
  if (isOpenTo?.(roles) === false)
    throw new Rejection('FORBIDDEN', 'Your API user does not have the role that this page requires.');
}

/** A page for someone who is signed in, at its path below the console. */
export function framed(
  visit: ConsoleVisit,
  at: string,
  { title, lead, notice, search = '', body }: ConsolePage,
): string {
  const { base, caller, tenant } = visit;
  const { name: firm, isSandbox } = tenant;
  const shown = parts.filter(
    ([path, , isOpenTo]) => isOpenTo?.(caller.roles) !== false && (path !== '/clock' || isSandbox),
  );
  const [part] = partAt(at) ?? [];
  return privatePage(
    style,
    `${title} · Console`,
    html`<header class="top"><p class="brand">Console</p>
<p class="tenant"><code>${firm}</code>${isSandbox && ' (sandbox)'}, signed in as ${caller.apiUserName}</p>
<form class="search" role="search" method="get" action="${base}/search"><input type="search" name="q" value="${search}" aria-label="Search names and numbers" placeholder="Name, number or reference" autocomplete="off"><button class="plain">Search</button></form>
<form method="post" action="${base}/sign-out">${keyField(visit)}<button class="plain">Sign out</button></form></header>
<div class="shell"><nav aria-label="Console"><ul>${shown.map(
      ([path, name]) =>
        html`<li><a href="${base}${path}"${path === part && html` aria-current="page"`}>${name}</a></li>`,
    )}<li><a href="${base.replace(/\/console$/, '')}/reference">Reference</a></li></ul></nav>
<main id="main"><h1>${title}</h1>${lead !== undefined && lead !== false && html`<p class="lead">${lead}</p>`}${notice}
${body}</main></div>`,
  );
}

/** A page for someone who is not signed in. */
export function plainPage(title: string, body: HtmlContent): string {
  const main = html`<main id="main" class="narrow"><div class="card"><h1>${title}</h1>${body}</div></main>`;
  return privatePage(style, `${title} · Console`, main);
}

export function keyField({ formKey }: ConsoleVisit): Html {
  return html`<input type="hidden" name="formKey" value="${formKey}">`;
}

/** What was rejected, and each of its errors that says more. */
export function rejected({ message, errors = [] }: Rejection): Html {
  const details = errors.flatMap(({ pointer, detail }) =>
    detail === message ? [] : [`${fieldAt(pointer, detail)}${sentenceInWords(detail)}`],
  );
  return alert('bad', sentenceInWords(message), [...new Set(details)]);
}

export function card(title: HtmlContent, content: HtmlContent): Html {
  return html`<section class="card"><h2>${title}</h2>${content}</section>`;
}

export function linkList(items: readonly HtmlContent[]): Html {
  return html`<ul class="links">${items.map((item) => html`<li>${item}</li>`)}</ul>`;
}

/** A value that can be chosen, and its words if they differ. */
export type SelectOption = string | readonly [value: string, text: string];

/** @param chosen the value or the words of one */
export function options(choices: readonly SelectOption[], chosen: string | null | undefined): HtmlContent {
  return choices.map((choice) => {
    const [value, text] = typeof choice === 'string' ? [choice, choice] : choice;
    return html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`;
  });
}

/** An address with those of its parameters that have a value. */
export function urlWith(url: string, values: Readonly<Record<string, unknown>>): string {
  const filled = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const query = new URLSearchParams(filled.map(([name, value]) => [name, String(value)]));
  return query.size === 0 ? url : `${url}?${query}`;
}

/** Links to the pages before and after one of a list. */
export function pageLinks(first: string | undefined, next: string | undefined): HtmlContent {
  const link = (url: string | undefined, text: string) =>
    url !== undefined && html`<a class="button plain" href="${url}">${text}</a>`;
  return (
    (first !== undefined || next !== undefined) &&
    html`<div class="row">${link(first, 'First page')}${link(next, 'Next page')}</div>`
  );
}

/** The head of a column. */
export interface Head {
  readonly text: string;
  readonly isNumber?: boolean;
  /** The address that sorts the table by the column. */
  readonly sortUrl?: string | undefined;
  readonly sorted?: 'ascending' | 'descending' | undefined;
}

/** A table whose rows are blocks on a phone, and that scrolls where it is too wide, also by keyboard. */
export function table(
  name: string,
  columns: readonly (Head | string)[],
  rows: readonly (readonly HtmlContent[])[],
): Html {
  const heads = columns.map((column): Head => (typeof column === 'string' ? { text: column } : column));
  const kind = (index: number) => heads[index]?.isNumber === true && html` class="number"`;
  const label = (index: number) => html` data-label="${heads[index]?.text ?? ''}"`;
  const cell = (content: HtmlContent, index: number) => html`<td${kind(index + 1)}${label(index + 1)}>${content}</td>`;
  return html`<div class="scroll" role="region" aria-label="${name}" tabindex="0"><table>
<thead><tr>${heads.map((head, index) => html`<th scope="col"${kind(index)}${head.sorted !== undefined && html` aria-sort="${head.sorted}"`}>${headContent(head)}</th>`)}</tr></thead>
<tbody>${rows.map(([first, ...others]) => html`<tr><th scope="row"${kind(0)}>${first}</th>${others.map(cell)}</tr>`)}</tbody>
</table></div>`;
}

function headContent({ text, sortUrl, sorted }: Head): HtmlContent {
  const arrow = sorted === undefined ? '' : sorted === 'ascending' ? ' ↑' : ' ↓';
  return sortUrl === undefined ? text : html`<a href="${sortUrl}">${text}${arrow}</a>`;
}

/** @param errors what is wrong, one by one */
export function alert(kind: 'good' | 'bad' | '', content: HtmlContent, errors: readonly HtmlContent[] = []): Html {
  const list = errors.length > 0 && html`<ul>${errors.map((error) => html`<li>${error}</li>`)}</ul>`;
  return html`<div class="alert ${kind}" role="${kind === 'bad' ? 'alert' : 'status'}"><p>${content}</p>${list}</div>`;
}
