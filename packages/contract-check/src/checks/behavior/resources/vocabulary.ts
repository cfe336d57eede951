import { extensionOf, type Operation } from '../../../document/operation.ts';
import type { JsonObject } from '../../../json.ts';

/**
 * The members of `x-contract-check` for operations that create, read, update and delete. They replace inference from
 * paths, names and schemas, or disable a check.
 */
export const vocabulary: readonly { readonly on: string; readonly member: string; readonly meaning: string }[] = [
  {
    on: 'operation',
    member: 'creates',
    meaning: 'the type of the resources that it creates; `false`: it creates none',
  },
  { on: 'operation', member: 'reads', meaning: 'the type of the resource that it reads by ID; `false`: it reads none' },
  {
    on: 'operation',
    member: 'lists',
    meaning: 'the type of the resources that it lists; `false`: created resources need not be listed',
  },
  {
    on: 'operation',
    member: 'updates',
    meaning: 'the type of the resource that it updates; `false`: updates are not checked',
  },
  {
    on: 'operation',
    member: 'deletes',
    meaning: 'the type of the resource that it deletes; `false`: deletions are not checked',
  },
  {
    on: 'operation',
    member: 'merges',
    meaning: '`true`: a PUT keeps omitted properties; `false`: a PATCH replaces the resource',
  },
  {
    on: 'operation',
    member: 'softDelete',
    meaning: '`true`: deleted resources can still be read, marked as deleted; `false`: they cannot',
  },
  { on: 'operation', member: 'acts', meaning: '`false`: its effect on the resource of its path is not checked' },
  { on: 'operation', member: 'echo', meaning: '`false`: values can be returned in another form than sent' },
  { on: 'operation', member: 'idempotent', meaning: '`false`: a repeated key does not replay the response' },
  { on: 'operation', member: 'safe', meaning: '`false`: it changes what other operations return' },
  {
    on: 'operation',
    member: 'effect',
    meaning: '`read`, `create`, `change own`, `change existing` or `irreversible`: what it does to the data',
  },
  { on: 'operation', member: 'private', meaning: '`false`: other tenants can read and change what it creates' },
  {
    on: 'property',
    member: 'unique',
    meaning: '`true`: unique; `false`: not unique, whatever its description says',
  },
  {
    on: 'property',
    member: 'calculated',
    meaning:
      '`{ times: [quantity, price] }`, `{ plus: [subtotal, tax], minus: [discount] }` or `{ sum: amount, of: lines }`: how it is ' +
      'calculated. `of` is a list beside it or below the resource; `missing: 0`: rows without a value count as zero. `false`: it ' +
      'is not the number of rows that its name implies',
  },
  { on: 'property', member: 'echo', meaning: '`false`: the server stores it in another form' },
];

type KindName = 'creates' | 'reads' | 'lists' | 'updates' | 'deletes';
type FlagName = 'unique' | 'acts' | 'merges' | 'softDelete' | 'echo' | 'idempotent' | 'safe' | 'private';

/** The declared resource type of an operation; false if it acts on none. */
export function declaredKind({ node }: Operation, member: KindName): string | false | undefined {
  const value = extensionOf(node)[member];
  return typeof value === 'string' || value === false ? value : undefined;
}

export function declaredFlag({ node }: Pick<Operation, 'node'>, member: FlagName): boolean | undefined {
  const value = extensionOf(node)[member];
  return typeof value === 'boolean' ? value : undefined;
}

/** Whether the extension declares that a property is returned in another form. */
export function isUnechoed(schema: JsonObject): boolean {
  return extensionOf(schema).echo === false;
}
