import { extensionOf, groupOf, type Operation, type Parameter, pathParameter } from '../../../document/operation.ts';
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
import { type BehaviorCheck, type Differences, differ, need, needs, text } from '../../observe.ts';
import { declaredKind, declares } from './resource-types.ts';
import { type Subject, selection } from './selection.ts';

const isReader = ({ method }: Operation) => method === 'GET' || method === 'HEAD';

/** Whether the contract says what happens with an ID that does not exist. */
function isDecided({ operation, context: { session } }: Subject, name: string | undefined): boolean {
  const isDeclared = declares(operation, 404) || operation.responses.some(({ status }) => status === '4XX');
  const isUnchecked = declaredKind(operation, 'updates') === false || declaredKind(operation, 'deletes') === false;
  if (!isReader(operation) && (isUnchecked || !isDeclared || isPutCreation(operation, session.operations)))
    return false;
  const isReference = name !== undefined && (isOwnId(name) || kindOfReference(name) !== undefined);
  return isDeclared || (isReference && rowsOf(session.document, operation) !== undefined);
}

/** An unknown ID returns nothing, and cannot be updated or deleted. */
async function* unknown(subject: Subject, label: string): Differences {
  const { context, operation, known } = subject;
  const { session } = context;
  const name = lastParameter(operation.path);
  if (!isDecided(subject, name)) return;
  const call = need(withUnknownId(session, known, session.seedFor(`nobody ${label}`)));
  needs(await isHarmless(session, call));
  const exchange = await session.send(call);
  // Codes of a few letters are often generated twice, also for a resource that was created a moment ago.
  needs(!session.pool.isCreated(operation, name ?? '', call.path));
  const rows = rowsOf(session.document, operation);
  const shown = rows === undefined ? exchange.response.json?.value : (rowsIn(exchange, rows) ?? []);
  // An empty list is a valid response for an unknown parent.
  if (!isSuccess(exchange) || (Array.isArray(shown) && shown.length === 0)) return;
  const node = pathParameter(operation, name)?.node;
  const facts = { actual: responseText(exchange), node, exchanges: [exchange] };
  yield differ(isReader(operation) ? 'read-unknown' : 'change-unknown', operation, '', facts);
}

/** A read without a parameter equals a read with its default. */
async function* omitted({ context, operation, known }: Subject, parameter: Parameter): Differences {
  const { session } = context;
  const { in: place, name, required, schema, node } = parameter;
  const value = schema.default ?? undefined;
  // The list checks cover query parameters of lists.
  const isCovered = place === 'query' && hasRows(session.document, operation);
  needs(operation.method === 'GET' || isReadingPost(operation));
  needs(place !== 'path' && !required && value !== undefined && !isCovered && extensionOf(node).default !== false);
  const { [name]: _before, ...others } = known[groupOf(parameter)];
  const send = async (values: Readonly<Record<string, unknown>>) => {
    const exchange = await session.send({ ...known, [groupOf(parameter)]: values });
    needs(isSuccess(exchange));
    return exchange;
  };
  const [without, withIt, again] = [await send(others), await send({ ...others, [name]: value }), await send(others)];
  const [absent = '', present = '', repeated] = [without, withIt, again].map(({ response }) => response.text);
  if (absent === present || absent !== repeated) return;
  const start = Math.max(0, [...absent].findIndex((letter, index) => letter !== present[index]) - 40);
  const expected = `as with ${text(value)}: ${present.slice(start, start + 120)}`;
  const facts = { expected, actual: absent.slice(start, start + 120), node, exchanges: [withIt, without] };
  yield differ('default-ignored', operation, name, facts);
}

/** Checks that do not require a create operation. */
export function operationChecks({ parameters }: Operation): BehaviorCheck<Subject>[] {
  const ofParameter = (parameter: Parameter): BehaviorCheck<Subject>[] => [
    (subject) => omitted(subject, parameter),
    (subject) => selection(subject, parameter),
  ];
  return [unknown, ...parameters.flatMap(ofParameter)];
}
