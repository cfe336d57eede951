export declare const drifts: readonly {
  readonly name: string;
  readonly kind: string;
  readonly operation: string;
  readonly describe: string;
}[];
