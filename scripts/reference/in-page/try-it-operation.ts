/** What the page needs of an operation to send its example. */
export interface TryItOperation {
  readonly id: string;
  readonly title: string;
  readonly method: string;
  readonly path: string;
  /** Whether it needs an access token. */
  readonly secured: boolean;
  readonly parameters: readonly TryItParameter[];
  readonly bodies: readonly { readonly name: string; readonly value: unknown }[];
}

export interface TryItParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly example: unknown;
}

/** Operations by the address of their section, without the number sign. */
export type TryItOperations = Readonly<Record<string, TryItOperation>>;
