import { contract, schemaOf } from '../contract/contract.ts';
import { problemDocument } from '../contract/problem.ts';
import { type ProblemCode, Rejection } from '../contract/rejection.ts';
import { type Html, html } from './html.ts';
import { pageStyle } from './page-style.ts';
import { documentHeaders } from './pages.ts';
import type { PageResult } from './result.ts';

/** Path of the page that `type` of a problem points into. */
export const errorPath = '/reference/errors';

const style = pageStyle(`body{margin:0 auto;max-width:56rem;padding:1rem}
.card{padding:0 1rem 1rem;overflow-x:auto}
.card:target{border-color:var(--accent)}pre,code{font-family:ui-monospace,monospace;font-size:.875rem}pre{white-space:pre-wrap}`);

/** A row of the table that describes the codes of a schema. */
interface Described {
  readonly code: string;
  readonly when: string;
  readonly todo: string;
  readonly example: string | undefined;
}

let page: PageResult | undefined;

/** The page of all codes of problems and of invalid values: when each is returned, what to do, and an example. */
export function errorPage(): PageResult {
  page ??= {
    kind: 'page',
    status: 200,
    headers: { ...documentHeaders, 'Content-Security-Policy': style.policy, 'Cache-Control': 'public, max-age=0' },
    text: `<!DOCTYPE html>${render().text}`,
  };
  return page;
}

function render(): Html {
  const problems = codesOf('ProblemCode').map((one) => {
    const { code, status } = new Rejection(one.code as ProblemCode, one.when);
    return section(one, code, `${code} (${status})`, JSON.stringify(exampleOf(code, one.when), null, 2));
  });
  const errors = codesOf('ProblemErrorCode').map((one) =>
    section(one, `errors-${one.code}`, one.code, one.example ?? ''),
  );
  return html`<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Errors</title>${style.element}</head><body><main><h1>Errors</h1>
<p>Errors are problem details (RFC 9457). Handle them by <code>code</code>. <a href="/reference">Reference</a></p>
<h2>Codes of problems</h2>${problems}
<h2>Codes of invalid values</h2><p>In <code>errors</code> of a problem, and of an item of a bulk call.</p>${errors}</main></body></html>`;
}

function section({ when, todo }: Described, id: string, title: string, example: string): Html {
  return html`<section id="${id}" class="card"><h3>${title}</h3><p><b>When:</b> ${inline(when)}</p><p><b>What to do:</b> ${inline(todo)}</p><pre>${example}</pre></section>`;
}

/** Text with code between backticks. */
function inline(text: string): readonly (Html | string)[] {
  return text.split('`').map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`));
}

/** Reads the table in the description of a schema. */
export function codesOf(schema: 'ProblemCode' | 'ProblemErrorCode' | 'ItemErrorCode'): Described[] {
  return [...(schemaOf(schema).description ?? '').matchAll(/^\| `(\w+)` \|(.*)\|$/gm)].map(
    ([, code = '', cells = '']) => {
      const [when = '', todo = '', example] = cells.split('|').map((cell) => cell.trim());
      return { code, when, todo, example };
    },
  );
}

/** The first example of the contract with the code: a problem, or the error of an item. */
function exampleOf(code: string, when: string): unknown {
  const found = [...withCode(Object.values(contract.components.examples), code)];
  const outside = problemDocument(new Rejection(code as ProblemCode, when), '0199a3c4-7d10-7b2e-9c41-6f0a8e5d2b17');
  return found.find((one) => 'requestId' in one) ?? found[0] ?? outside;
}

function* withCode(value: unknown, code: string): Generator<object> {
  if (typeof value !== 'object' || value === null) return;
  if ('code' in value && value.code === code && 'detail' in value && !('in' in value)) yield value;
  for (const part of Object.values(value)) yield* withCode(part, code);
}
