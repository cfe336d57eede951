import type { components } from '@financial-automation/spec';
import { schemaOf } from '../../contract/contract.ts';
import { contractAjv } from '../../contract/contract-ajv.ts';
import type { ItemRejection } from '../../contract/rejection.ts';
import { type ItemCheck, itemCheck } from '../../entity/item-check.ts';

/** A schema of the contract with `x-items-open`: an item of a request that is validated by itself. */
export type ItemSchema = keyof components['schemas'] &
  `${string}${'Upsert' | 'Update' | 'Delete' | 'Record' | 'Entry'}`;

/** An item that matches its schema, with its defaults filled in, or the reason why it does not. */
export type ReadItem<Item> = { readonly item: Item } | { readonly rejection: ItemRejection };

/**
 * Validates the items of a request one by one, so that an invalid one fails alone.
 *
 * @param items typed by the contract; in fact they can be any JSON.
 */
export function readItems<Item>(schema: ItemSchema, items: readonly Item[]): ReadItem<Item>[] {
  const check = checkOf(schema);
  return items.map((item) => {
    const [first, ...others] = check(item);
    return first === undefined ? { item } : { rejection: first.with(others) };
  });
}

const checks = new Map<ItemSchema, ItemCheck>();

function checkOf(name: ItemSchema): ItemCheck {
  return checks.getOrInsertComputed(name, () => {
    const open = schemaOf(name)['x-items-open'];
    if (open === undefined) throw new Error(`The contract validates ${name} with the whole request.`);
    // Within the validator of requests, this schema itself is open.
    const schema = open === true ? schemaOf(name) : open;
    return itemCheck(
      () => contractAjv({ allErrors: false, useDefaults: true, verbose: true }).compile(schema),
      () => contractAjv({ allErrors: true, useDefaults: true, verbose: true }).compile(schema),
    );
  });
}
