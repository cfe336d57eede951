/** The states that a row of an entity can have and how it moves between them. */
export interface StateMachine {
  /** The states that a new row can start in; the first one is the default. */
  readonly initial: readonly string[];
  /** The operations that cause transitions, for those that do not name their own. */
  readonly operations: readonly string[];
  /** The states in which an import creates a row, and to which it brings one, without transitions. */
  readonly imported?: readonly string[];
  readonly transitions: readonly StateTransition[];
  /** The conditions that transitions name, in words. */
  readonly conditions?: Readonly<Record<string, string>>;
}

export interface StateTransition {
  readonly from: readonly string[];
  readonly to: string;
  readonly operations?: readonly string[];
  /** Names of internal events that move a row without a request. */
  readonly events?: readonly string[];
  /** Roles of which a caller requires one, in addition to those of the operation. */
  readonly roles?: readonly string[];
  /** Fields that must have a value after the request, which usually sets them together with the status. */
  readonly requires?: readonly string[];
  /** Names of the conditions that must be met. */
  readonly conditions?: readonly string[];
}
