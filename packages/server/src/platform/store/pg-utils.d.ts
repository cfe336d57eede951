/** The conversion of values that all statements of `pg` use, which its types do not include. */
declare module 'pg/lib/utils.js' {
  export function prepareValue(value: unknown): string | Buffer | null;
}
