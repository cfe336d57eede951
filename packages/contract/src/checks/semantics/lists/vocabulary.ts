import { type Operation, saidOf } from '../../../document/operation.ts';
import { isObject, type JsonObject } from '../../../json.ts';

/**
 * What `x-contract-check` may say of a list, on the operation or on one of its parameters. It makes explicit what is otherwise
 * inferred from names, or switches a check off.
 */
export const vocabulary: readonly { readonly on: string; readonly member: string; readonly says: string }[] = [
  {
    on: 'operation',
    member: 'paging',
    says: '`offset`, `page` or `cursor`: how its position is meant; `false`: unchecked',
  },
  {
    on: 'operation',
    member: 'order',
    says: 'the values that its order takes, such as `[name, -name]`; `false`: unchecked',
  },
  {
    on: 'operation',
    member: 'filters',
    says: 'the property that each parameter filters by, or `false`; `false`: none is checked',
  },
  { on: 'operation', member: 'default', says: '`false`: what happens without a parameter is not its default' },
  { on: 'operation', member: 'total', says: '`false`: what is named like a total is none' },
  {
    on: 'operation',
    member: 'stable',
    says: '`false`: the same request may be answered otherwise at any time; nothing of it is checked',
  },
  { on: 'parameter', member: 'filter', says: 'the property that it filters by; `false`: it is no filter' },
  { on: 'parameter', member: 'default', says: '`false`: its omission does not mean its default' },
  { on: 'parameter', member: 'order', says: 'the values that it takes as an order; `false`: it is none' },
];

export type Paging = 'offset' | 'page' | 'cursor';

export interface ListVocabulary {
  readonly paging: Paging | false | undefined;
  readonly order: readonly string[] | false | undefined;
  /** By the name of the parameter; false where no filter is checked. */
  readonly filters: Readonly<Record<string, string | false>> | false;
  readonly checksDefaults: boolean;
  readonly checksTotals: boolean;
  readonly isStable: boolean;
}

export function vocabularyOf(operation: Operation): ListVocabulary {
  const said = saidOf(operation.node);
  const filters: Record<string, string | false> = {};
  for (const [name, property] of Object.entries(isObject(said.filters) ? said.filters : {}))
    if (typeof property === 'string' || property === false) filters[name] = property;
  return {
    paging: said.paging === false ? false : (['offset', 'page', 'cursor'] as const).find((one) => one === said.paging),
    order: orderOf(said),
    filters: said.filters === false ? false : filters,
    checksDefaults: said.default !== false,
    checksTotals: said.total !== false,
    isStable: said.stable !== false,
  };
}

export interface ParameterVocabulary {
  readonly filter: string | false | undefined;
  readonly checksDefault: boolean;
  readonly order: readonly string[] | false | undefined;
}

/** @param node a parameter, or the schema of a member of a body. */
export function parameterVocabulary(node: JsonObject): ParameterVocabulary {
  const said = saidOf(node);
  return {
    filter: typeof said.filter === 'string' || said.filter === false ? said.filter : undefined,
    checksDefault: said.default !== false,
    order: orderOf(said),
  };
}

function orderOf({ order }: JsonObject): readonly string[] | false | undefined {
  if (order === false) return false;
  return Array.isArray(order) ? order.filter((one) => typeof one === 'string') : undefined;
}
