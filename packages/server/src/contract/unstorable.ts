import { escapePointer } from './pointer.ts';

/**
 * Placeholder in a body for a value that cannot be stored exactly as sent. It matches no schema of the contract; where a
 * schema accepts any JSON, `findUnstorable` detects it, so that one record fails and not the whole request.
 */
export class Unstorable {
  readonly detail: string;

  constructor(detail: string) {
    this.detail = detail;
  }

  /** Throws, because storing a different value than the one sent would be worse. */
  toJSON(): never {
    throw new Error(`A value that cannot be stored was not rejected: ${this.detail}`);
  }
}

/** Returns the first value that cannot be stored, with its JSON Pointer. */
export function findUnstorable(value: unknown, pointer = ''): { pointer: string; detail: string } | undefined {
  if (value instanceof Unstorable) return { pointer, detail: value.detail };
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, item] of Object.entries(value)) {
    const found = findUnstorable(item, `${pointer}/${escapePointer(name)}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
