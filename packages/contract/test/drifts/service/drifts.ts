import { acceptance } from './acceptance.ts';
import { answers } from './answers.ts';
import type { ServiceDrift } from './combinators.ts';
import { refusals } from './refusals.ts';
import { robustness } from './robustness.ts';
import { semantics } from './semantics.ts';
import { surface } from './surface.ts';

/** Every drift of the suite on the service itself. */
export const serviceDrifts: readonly ServiceDrift[] = [
  ...answers,
  ...refusals,
  ...acceptance,
  ...surface,
  ...robustness,
  ...semantics,
];
