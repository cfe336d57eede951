import { extensionOf, groupOf, type Operation, type Parameter } from '../../../document/operation.ts';
import { responseText } from '../../../finding/finding.ts';
import { isSuccess } from '../../../http/call.ts';
import { isHarmless, withUnknownId } from '../../../run/ids.ts';
import {
  hasRows,
  isOwnId,
  isPutCreation,
  isReadingPost,
  kindOfReference,
  lastParameter,
  rowsIn,
  rowsOf,
} from '../../../run/names.ts';
import { type Difference, differ, need, needs, text } from '../observe.ts';
import { declaredKind, declares } from './resource-types.ts';
import { type OperationCheck, type Subject, selection } from './selection.ts';

const isReader = ({ method }: Operation) => method === 'GET' || method === 'HEAD';

const unknown: OperationCheck = {
  name: 'unknown',
  describe: 'An unknown ID returns nothing, and cannot be updated or deleted.',
  applies: ({ operation, context }) => {
    const name = lastParameter(operation.path);
    const isDeclared = declares(operation, 404) || operation.responses.some(({ status }) => status === '4XX');
    const isUnchecked = declaredKind(operation, 'updates') === false || declaredKind(operation, 'deletes') === false;
    if (!isReader(operation) && (isUnchecked || !isDeclared || isPutCreation(operation, context.session.operations)))
      return false;
    const isReference = name !== undefined && (isOwnId(name) || kindOfReference(name) !== undefined);
    return isDeclared || (isReference && rowsOf(context.session.document, operation) !== undefined);
  },
  async run({ context: { session }, operation, known }, label) {
    const name = lastParameter(operation.path) ?? '';
    const call = need(withUnknownId(session, known, session.seedFor(`nobody ${label}`)));
    if (!(await isHarmless(session, call))) return undefined;
    const exchange = await session.send(call);
    // Codes of a few letters are often generated twice, also for a resource that was created a moment ago.
    if (session.pool.isCreated(operation, name, call.path)) return undefined;
    const rows = rowsOf(session.document, operation);
    const shown = rows === undefined ? exchange.response.json?.value : (rowsIn(exchange, rows) ?? []);
    // An empty list is a valid response for an unknown parent.
    if (!isSuccess(exchange) || (Array.isArray(shown) && shown.length === 0)) return [];
    const node = operation.parameters.find((one) => one.in === 'path' && one.name === name)?.node;
    const facts = { actual: responseText(exchange), node, exchanges: [exchange] };
    return [differ(isReader(operation) ? 'read-unknown' : 'change-unknown', operation, '', facts)];
  },
};

const omitted = (parameter: Parameter): OperationCheck => ({
  name: `omitted ${parameter.in} ${parameter.name}`,
  describe: 'A read without a parameter equals a read with its default.',
  applies: ({ operation }) => operation.method === 'GET' || isReadingPost(operation),
  run: (subject) => withoutParameter(subject, parameter),
});

async function withoutParameter({ context, operation, known }: Subject, parameter: Parameter): Promise<Difference[]> {
  const { session } = context;
  const { in: place, name, required, schema, node } = parameter;
  const value = schema.default ?? undefined;
  // The list checks cover query parameters of lists.
  const isCovered = place === 'query' && hasRows(session.document, operation);
  needs(place !== 'path' && !required && value !== undefined && !isCovered && extensionOf(node).default !== false);
  const { [name]: _before, ...others } = known[groupOf(parameter)];
  const send = async (values: Readonly<Record<string, unknown>>) => {
    const exchange = await session.send({ ...known, [groupOf(parameter)]: values });
    needs(isSuccess(exchange));
    return exchange;
  };
  const [without, withIt, again] = [await send(others), await send({ ...others, [name]: value }), await send(others)];
  const [omitted = '', present = '', repeated] = [without, withIt, again].map(({ response }) => response.text);
  if (omitted === present || omitted !== repeated) return [];
  const start = Math.max(0, [...omitted].findIndex((letter, index) => letter !== present[index]) - 40);
  const expected = `as with ${text(value)}: ${present.slice(start, start + 120)}`;
  const facts = { expected, actual: omitted.slice(start, start + 120), node, exchanges: [withIt, without] };
  return [differ('default-ignored', operation, name, facts)];
}

/** Checks that do not require a create operation. */
export function operationChecks({ parameters }: Operation): OperationCheck[] {
  return [unknown, ...parameters.flatMap((parameter) => [omitted(parameter), selection(parameter)])];
}
