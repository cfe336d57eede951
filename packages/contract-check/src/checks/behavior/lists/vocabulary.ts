import { extensionOf, type Operation } from '../../../document/operation.ts';
import { isObject, type JsonObject } from '../../../json.ts';

/**
 * The members of `x-contract-check` for lists, on an operation or on a parameter. They replace inference from names, or
 * disable a check.
 */
export const vocabulary: readonly { readonly on: string; readonly member: string; readonly meaning: string }[] = [
  {
    on: 'operation',
    member: 'paging',
    meaning: '`offset`, `page` or `cursor`: what its position means; `false`: not checked',
  },
  {
    on: 'operation',
    member: 'order',
    meaning: 'the values of its order, such as `[name, -name]`; `false`: not checked',
  },
  {
    on: 'operation',
    member: 'filters',
    meaning: 'the property that each parameter filters by, or `false` if none; `false`: filters are not checked',
  },
  { on: 'operation', member: 'default', meaning: '`false`: omitting a parameter does not mean its default' },
  { on: 'operation', member: 'total', meaning: '`false`: a property with the name of a total is not a total' },
  {
    on: 'operation',
    member: 'stable',
    meaning: '`false`: the response to the same request can change at any time; its behavior is not checked',
  },
  { on: 'parameter', member: 'filter', meaning: 'the property that it filters by; `false`: it is not a filter' },
  { on: 'parameter', member: 'default', meaning: '`false`: omitting it does not mean its default' },
  { on: 'parameter', member: 'order', meaning: 'its values, if it is an order; `false`: it is not an order' },
];

export type Paging = 'offset' | 'page' | 'cursor';

export interface ListVocabulary {
  readonly paging: Paging | false | undefined;
  readonly order: readonly string[] | false | undefined;
  /** By parameter name; false disables the checks of filters. */
  readonly filters: Readonly<Record<string, string | false>> | false;
  readonly checksDefaults: boolean;
  readonly checksTotals: boolean;
  readonly isStable: boolean;
}

export function vocabularyOf(operation: Operation): ListVocabulary {
  const extension = extensionOf(operation.node);
  const filters: Record<string, string | false> = {};
  for (const [name, property] of Object.entries(isObject(extension.filters) ? extension.filters : {}))
    if (typeof property === 'string' || property === false) filters[name] = property;
  return {
    paging:
      extension.paging === false
        ? false
        : (['offset', 'page', 'cursor'] as const).find((one) => one === extension.paging),
    order: orderOf(extension),
    filters: extension.filters === false ? false : filters,
    checksDefaults: extension.default !== false,
    checksTotals: extension.total !== false,
    isStable: extension.stable !== false,
  };
}

export interface ParameterVocabulary {
  readonly filter: string | false | undefined;
  readonly checksDefault: boolean;
  readonly order: readonly string[] | false | undefined;
}

/** @param node a parameter, or the schema of a body property. */
export function parameterVocabulary(node: JsonObject): ParameterVocabulary {
  const extension = extensionOf(node);
  return {
    filter: typeof extension.filter === 'string' || extension.filter === false ? extension.filter : undefined,
    checksDefault: extension.default !== false,
    order: orderOf(extension),
  };
}

function orderOf({ order }: JsonObject): readonly string[] | false | undefined {
  if (order === false) return false;
  return Array.isArray(order) ? order.filter((one) => typeof one === 'string') : undefined;
}
