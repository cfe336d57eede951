/** The values of an enum for which something holds. All are named, so that a value that the contract gets does not compile until it is decided. */
export function valuesWith<Value extends string>(decided: Readonly<Record<Value, boolean>>): readonly string[] {
  return Object.entries(decided).flatMap(([value, holds]) => (holds ? [value] : []));
}
