import type { Call } from './call.mjs';

export declare const drifts: readonly {
  readonly name: string;
  readonly kind: string;
  readonly operation: string;
  readonly describe: string;
  readonly probe: (call: Call) => Promise<unknown>;
}[];
