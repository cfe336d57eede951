import type { RawBuilder } from 'kysely';

/** An invariant of the books. */
export interface BookRule {
  readonly rule: string;
  /** Query of the rows that violate it: their `id` and a `detail`, both text. */
  readonly broken: (tenantId: number) => RawBuilder<{ id: string; detail: string }>;
}

/** A row that violates an invariant of the books. */
export interface Breach {
  /** The invariant, in words. */
  readonly rule: string;
  readonly id: string;
  readonly detail: string;
}
