import { semantics } from './behavior.ts';
import type { ServiceDrift } from './combinators.ts';
import { rejections } from './invalid-input.ts';
import { responses } from './responses.ts';
import { robustness } from './robustness.ts';
import { surface } from './undeclared-endpoints.ts';
import { acceptance } from './valid-input.ts';

/** Every drift of the suite of the service. */
export const serviceDrifts: readonly ServiceDrift[] = [
  ...responses,
  ...rejections,
  ...acceptance,
  ...surface,
  ...robustness,
  ...semantics,
];
