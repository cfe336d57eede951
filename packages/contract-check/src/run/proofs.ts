import { extensionOf, type Operation, readAt } from '../document/operation.ts';
import { type Exchange, isSuccess } from '../http/call.ts';
import { decoded } from '../http/deserialize.ts';
import { NotSent } from '../http/gate.ts';
import { type Footprint, hasUnknownEffect } from './footprint.ts';
import { itemOf } from './names.ts';
import type { CheckOptions } from './options.ts';
import type { Plan } from './plan.ts';
import { idOf, type Pool } from './pool.ts';

const isDeclared = ({ node }: Operation) => extensionOf(node).effect === 'create';

interface Run {
  readonly plan: Plan;
  readonly options: CheckOptions;
  readonly transport: { readonly notices: Set<string> };
  readonly footprint: Footprint;
  readonly operations: readonly Operation[];
  readonly pool: Pool;
  read(target: string, operation: Operation): Promise<Exchange>;
}

/**
 * Without `disposable`, the first result of an operation that creates must be read back before the operation is called
 * again: what is not found is no new resource, and the call did something else.
 */
export class Proofs {
  readonly #run: Run;
  readonly #proven = new Set<Operation>();
  readonly #refuted = new Map<Operation, string>();
  /** The call under way of each operation that is not proven yet. */
  readonly #calls = new Map<Operation, Promise<unknown>>();

  constructor(run: Run) {
    this.#run = run;
  }

  /** @throws NotSent if the operation was called before, and its result was not found. */
  async send(operation: Operation | undefined, send: () => Promise<Exchange>): Promise<Exchange> {
    const { plan, options, transport, footprint } = this.#run;
    const isCreation = operation !== undefined && plan.effectOf(operation) === 'create' && !isDeclared(operation);
    if (!isCreation || options.disposable === true || this.#proven.has(operation)) return send();
    const before = this.#calls.get(operation);
    const call = async () => {
      await before?.catch(() => undefined);
      const reason = this.#refuted.get(operation);
      if (reason !== undefined) throw new NotSent(reason);
      const exchange = await send();
      if (this.#proven.has(operation) || (!isSuccess(exchange) && !hasUnknownEffect(exchange.response)))
        return exchange;
      const target = footprint.lastOf(operation);
      if (target !== undefined && (await this.#isFound(operation, target))) this.#proven.add(operation);
      else {
        const why = `${operation.id} is not called again, because what it created could not be read back`;
        this.#refuted.set(operation, why);
        transport.notices.add(`${why}. --disposable allows it.`);
      }
      return exchange;
    };
    const result = call();
    this.#calls.set(operation, result);
    return result;
  }

  async #isFound(operation: Operation, target: string): Promise<boolean> {
    const { operations } = this.#run;
    const collection = itemOf(operation.path)?.collection ?? operation.path;
    const reader = operations.find((one) => one.method === 'GET' && itemOf(one.path)?.collection === collection);
    if (reader !== undefined) return isSuccess(await this.#run.read(target, reader));
    const list = readAt(operations, operation.path);
    if (list === undefined) return false;
    const end = target.lastIndexOf('/');
    const exchange = await this.#run.read(target.slice(0, end), list);
    const id = decoded(target.slice(end + 1));
    return this.#run.pool.resourcesIn(exchange).some((row) => String(idOf(row)) === id);
  }
}
