import { type Operation, saidOf } from '../../../document/operation.ts';
import type { JsonObject } from '../../../json.ts';

/**
 * What `x-contract-check` may say of operations that create, read, change and delete. It makes explicit what is otherwise
 * inferred from paths, names and schemas, or switches a check off.
 */
export const vocabulary: readonly { readonly on: string; readonly member: string; readonly says: string }[] = [
  { on: 'operation', member: 'creates', says: 'the kind of thing that it makes; `false`: it makes none' },
  { on: 'operation', member: 'reads', says: 'the kind of thing that it reads by its id; `false`: it reads none' },
  {
    on: 'operation',
    member: 'lists',
    says: 'the kind of thing that it lists; `false`: what is made need not be in it',
  },
  { on: 'operation', member: 'updates', says: 'the kind of thing that it changes; `false`: nothing of it is checked' },
  { on: 'operation', member: 'deletes', says: 'the kind of thing that it deletes; `false`: nothing of it is checked' },
  {
    on: 'operation',
    member: 'merges',
    says: '`true`: what a PUT leaves out stays as it is; `false`: a PATCH replaces',
  },
  {
    on: 'operation',
    member: 'softDelete',
    says: '`true`: what is deleted can still be read, as deleted; `false`: it cannot',
  },
  { on: 'operation', member: 'acts', says: '`false`: what it does to the thing of its path is not checked' },
  { on: 'operation', member: 'echo', says: '`false`: what is sent need not come back as it was sent' },
  { on: 'operation', member: 'idempotent', says: '`false`: a repeated key is no replay' },
  { on: 'operation', member: 'safe', says: '`false`: reading changes what other reads show' },
  { on: 'operation', member: 'private', says: '`false`: another tenant may see and change what this one made' },
  {
    on: 'property',
    member: 'unique',
    says: '`true`: no two things may have the same; `false`: they may, whatever words say',
  },
  { on: 'property', member: 'reckoned', says: '`false`: it is not the sum or the product that its words tell of' },
  { on: 'property', member: 'echo', says: '`false`: the server stores it in another form' },
];

type KindName = 'creates' | 'reads' | 'lists' | 'updates' | 'deletes';
type FlagName = 'unique' | 'acts' | 'merges' | 'softDelete' | 'echo' | 'idempotent' | 'safe' | 'private';

/** The kind that an operation is said to work on; false where it is said to work on none. */
export function saidKind({ node }: Operation, member: KindName): string | false | undefined {
  const value = saidOf(node)[member];
  return typeof value === 'string' || value === false ? value : undefined;
}

export function saidFlag({ node }: Pick<Operation, 'node'>, member: FlagName): boolean | undefined {
  const value = saidOf(node)[member];
  return typeof value === 'boolean' ? value : undefined;
}

/** Whether a property says that it comes back in another form. */
export function isUnechoed(schema: JsonObject): boolean {
  return saidOf(schema).echo === false;
}
