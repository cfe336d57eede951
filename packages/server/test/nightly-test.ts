import { test } from 'vitest';
import { isNightly } from './nightly.ts';

/** Defines a test that only the nightly run has: `nightlyTest?.('…', …)`. By day there is no such test. */
export const nightlyTest = isNightly ? test : undefined;
