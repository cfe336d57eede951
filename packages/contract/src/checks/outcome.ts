import type { Exchange } from '../http/call.ts';
import { isObject } from '../json.ts';

/** How a server tells that a request breaks the contract, learnt from its refusals: a status, and a code where it has one. */
export interface Refusal {
  readonly statuses: ReadonlySet<number>;
  readonly codes: ReadonlySet<string>;
}

export function isRefused({ answer }: Exchange): boolean {
  return answer.status >= 400 && answer.status < 500;
}

/** The word by which an error says what it is: a problem's `type` or `code`, or `error.code`. */
export function codeOf({ answer }: Exchange): string | undefined {
  const body = answer.json?.value;
  if (!isObject(body)) return undefined;
  const inner = isObject(body.error) ? body.error : {};
  const code =
    body.code ?? body.type ?? inner.code ?? inner.type ?? (typeof body.error === 'string' ? body.error : undefined);
  return typeof code === 'string' ? code : undefined;
}

/** Whether an answer refuses the form of a request, and not what it would do: only that can contradict the contract. */
export function refusesForm(exchange: Exchange, { statuses, codes }: Refusal): boolean {
  const { status } = exchange.answer;
  if (![400, 413, 414, 415, 422, 431].includes(status)) return hasItemErrors(exchange);
  if (statuses.size > 0 && !statuses.has(status)) return false;
  const code = codeOf(exchange);
  return code === undefined || codes.size === 0 || codes.has(code);
}

/** Whether a call that succeeded as a whole says of one of its items that it did not. */
export function hasItemErrors({ answer }: Exchange): boolean {
  if (answer.status < 200 || answer.status > 299) return false;
  const visit = (value: unknown, depth: number): boolean => {
    if (depth > 4) return false;
    if (Array.isArray(value)) return value.some((item) => visit(item, depth + 1));
    if (!isObject(value)) return false;
    if (value.success === false || (Array.isArray(value.errors) && value.errors.length > 0)) return true;
    if (isObject(value.error)) return true;
    return Object.values(value).some((member) => visit(member, depth + 1));
  };
  return visit(answer.json?.value, 0);
}

export function isAccepted(exchange: Exchange): boolean {
  const { status } = exchange.answer;
  return status >= 200 && status < 400 && !hasItemErrors(exchange);
}
