import type { PageResult } from '../../../wire/result.ts';
import { failurePage } from './result-pages.ts';

export function wrongMethod(allowed: readonly string[]): PageResult {
  return { ...shownPage(405, failurePage(405, undefined, '')), headers: { Allow: allowed.join(', ') } };
}

export function shownPage(status: number, text: string): PageResult {
  return { kind: 'page', status, text };
}

export function redirect(path: string): PageResult {
  return { ...shownPage(303, ''), headers: { Location: path } };
}
