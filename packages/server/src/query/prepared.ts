import type { RawBuilder } from 'kysely';
import { compiler, type Query } from '../platform/store/session.ts';

/** Placeholder for an argument while a query is compiled. */
class Placeholder {
  readonly index: number;

  constructor(index: number) {
    this.index = index;
  }
}

/**
 * Compiles a query once, to run it with different arguments. Compiling a statement of fifty columns costs more than
 * everything else that a read of one row does in this process.
 *
 * @param build creates the query; called once with a placeholder for each argument, which it may only bind.
 */
export function prepared<Row, Arguments extends readonly unknown[]>(
  build: (...placeholders: Arguments) => RawBuilder<Row>,
): (...values: Arguments) => Query<Row> {
  const placeholders = Array.from({ length: build.length }, (_, index) => new Placeholder(index));
  const compiled = build(...(placeholders as unknown as Arguments)).compile(compiler);
  return (...values) => ({
    compile: () => ({
      ...compiled,
      parameters: compiled.parameters.map((parameter) =>
        parameter instanceof Placeholder ? values[parameter.index] : parameter,
      ),
    }),
  });
}
