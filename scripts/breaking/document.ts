/** A contract as a bundle: the parts that the gate reads, and JSON pointers to its elements. */
import type { Contract } from '../operation-index.ts';

export interface Bundle extends Contract {
  openapi: string;
  webhooks?: Record<string, Record<string, unknown>>;
  'x-search-limits'?: Record<string, number | Record<string, number>>;
}

export function pointerTo(...keys: readonly string[]): string {
  return ['#', ...keys.map((key) => key.replaceAll('~', '~0').replaceAll('/', '~1'))].join('/');
}

export function keysOf(pointer: string): string[] {
  const [, ...keys] = pointer.split('/');
  return keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}
