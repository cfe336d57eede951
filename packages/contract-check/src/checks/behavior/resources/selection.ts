import type { Operation, Parameter } from '../../../document/operation.ts';
import { shapeOf } from '../../../document/shape.ts';
import { type Call, type Exchange, isSuccess } from '../../../http/call.ts';
import type { JsonObject } from '../../../json.ts';
import { isOwnId, lastParameter, rowsIn, rowsOf } from '../../../run/names.ts';
import { View } from '../../../schema/view.ts';
import type { CheckContext } from '../../check.ts';
import { type BehaviorCheck, type Difference, differ, ifSeen, needs } from '../observe.ts';
import { resourceIn } from './compare.ts';

/** A single operation with a successful call. */
export interface Subject {
  readonly context: CheckContext;
  readonly operation: Operation;
  readonly known: Call;
}

export type OperationCheck = BehaviorCheck<Subject>;

/** Parameters that name the properties to return, instead of all or in addition. */
const projecting = /^(?:fields?|select|columns|attributes|properties)$/i;
const including = /^(?:includes?|expand|embed|populate|with)$/i;

export const selection = (parameter: Parameter): OperationCheck => ({
  name: `selection ${parameter.name}`,
  describe: 'A parameter that names properties decides which are returned: every one that it names.',
  applies: ({ operation: { isReading } }) =>
    isReading && parameter.in === 'query' && (projecting.test(parameter.name) || including.test(parameter.name)),
  async run(subject) {
    const selecting = new Selecting(subject, parameter);
    return projecting.test(parameter.name) ? selecting.projected() : selecting.included();
  },
});

/** What a response has with some words in the parameter. */
interface Look {
  readonly exchange: Exchange;
  readonly rows: readonly JsonObject[];
  has(word: string): boolean;
}

class Selecting {
  readonly #subject: Subject;
  readonly #parameter: Parameter;
  readonly #view: View;
  /** The words of the parameter, if they are listed. */
  readonly #words: readonly string[] | undefined;
  readonly #isList: boolean;
  #path: Call['path'];

  constructor(subject: Subject, parameter: Parameter) {
    const { document } = subject.context.session;
    const shape = shapeOf(document, parameter.schema);
    const rows = rowsOf(document, subject.operation);
    this.#subject = subject;
    this.#parameter = parameter;
    this.#isList = shape.types.has('array');
    this.#words = (this.#isList ? shapeOf(document, ...(shape.items ?? [])) : shape).enum?.map(String);
    this.#view = rows === undefined ? View.ofResponse(document, subject.operation) : View.of(document, rows.schema);
    this.#path = subject.known.path;
  }

  /** The properties that may be left out. */
  get #optional(): string[] {
    return this.#view.names.filter((one) => !isOwnId(one) && !this.#view.requires(one));
  }

  async projected(): Promise<Difference[]> {
    const plain = await this.#look([]);
    const possible = (this.#words ?? this.#optional).filter((one) => this.#view.names.includes(one) && !isOwnId(one));
    const words = possible.filter(plain.has).slice(-2);
    needs(words.length === 2);
    const narrow = await this.#look(words);
    const lost = words.filter((word) => !narrow.has(word));
    const kept = this.#optional.filter((one) => plain.has(one) && !words.includes(one));
    if (lost.length > 0) return [this.#differs(words, `without ${lost.join(', ')}`, plain, narrow)];
    const isIgnored = kept.length > 0 && kept.every(narrow.has);
    return isIgnored ? [this.#differs(words, `with ${kept.join(', ')}`, plain, narrow)] : [];
  }

  async included(): Promise<Difference[]> {
    const words = this.#optional.filter((one) => this.#words?.includes(one)).slice(0, 4);
    needs(words.length > 0);
    const plain = await this.#referring(words);
    const found: Difference[] = [];
    const shown: string[] = [];
    for (const word of words) {
      const wide = await this.#look([word]);
      const isPossible = wide.rows.length > 0 && this.#view.member(word).isList;
      if (wide.has(word)) shown.push(word);
      else if (isPossible || refersTo(wide, word)) found.push(this.#differs([word], `no ${word}`, plain, wide));
      if (wide.has(word) && plain.has(word) && this.#parameter.schema.default === undefined)
        found.push(this.#differs([word], `${word} without it, too`, plain, wide));
    }
    if (shown.length < 2) return found;
    const all = await this.#look(shown);
    const lost = shown.filter((word) => !all.has(word));
    return lost.length === 0 ? found : [...found, this.#differs(shown, `without ${lost.join(', ')}`, plain, all)];
  }

  /** A response about something that refers to what words name: of what refers to nothing, nothing can be included. */
  async #referring(words: readonly string[]): Promise<Look> {
    const { context, operation } = this.#subject;
    const { session } = context;
    const name = lastParameter(operation.path) ?? '';
    const isList = rowsOf(session.document, operation) !== undefined;
    const others = isList ? [] : session.pool.forParameter(operation, name, false).likely.slice(0, 6);
    let plain = await this.#look([]);
    for (const id of others) {
      if (words.some((word) => refersTo(plain, word))) break;
      this.#path = { ...this.#path, [name]: id };
      plain = (await ifSeen(() => this.#look([]))) ?? plain;
    }
    return plain;
  }

  async #look(words: readonly string[]): Promise<Look> {
    const { context, operation, known } = this.#subject;
    const { session } = context;
    const { name, schema } = this.#parameter;
    const { [name]: _before, ...others } = known.query;
    const value = this.#isList ? words : words.join(',');
    needs(words.length === 0 || session.validators.accepts(schema, value, 'request'));
    const query = words.length === 0 ? others : { ...others, [name]: value };
    const exchange = await session.send({ ...known, path: this.#path, query });
    needs(isSuccess(exchange));
    const list = rowsOf(session.document, operation);
    const rows = (list === undefined ? [resourceIn(exchange)] : rowsIn(exchange, list)) ?? [];
    return { exchange, rows, has: (word) => rows.some((row) => (row[word] ?? undefined) !== undefined) };
  }

  #differs(words: readonly string[], actual: string, plain: Look, { exchange }: Look): Difference {
    const { name, node } = this.#parameter;
    const expected = `${name}=${words.join(',')} decides`;
    const facts = { expected, actual, node, exchanges: [plain.exchange, exchange] };
    return differ('selection-ignored', this.#subject.operation, name, facts);
  }
}

const refersTo = ({ rows }: Look, word: string) =>
  rows.some((row) => (row[`${word}_id`] ?? row[`${word}Id`] ?? undefined) !== undefined);
