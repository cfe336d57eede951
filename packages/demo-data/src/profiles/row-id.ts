/**
 * Derives a UUID of version 7 from the kind of row, so that every run creates the same IDs. IDs of one kind ascend by
 * time and then by number.
 *
 * @param kind a number below 4096 for each table.
 */
export function rowId(kind: number, number: number, milliseconds: number): string {
  const time = milliseconds.toString(16).padStart(12, '0');
  const place = kind.toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${place}-8000-${number.toString(16).padStart(12, '0')}`;
}
