import type { components } from '@financial-automation/spec';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import { schemaOf } from '../contract/contract.ts';
import { contractAjv } from '../contract/contract-ajv.ts';
import type { Rejection } from '../contract/rejection.ts';
import { rejectionOf } from '../entity/attributes.ts';

/** A schema of the contract with `x-items-open`: an item of a request that is validated by itself. */
export type ItemSchema = keyof components['schemas'] &
  `${string}${'Upsert' | 'Update' | 'Delete' | 'Record' | 'Entry'}`;

/** An item that matches its schema, with its defaults filled in, or the reason why it does not. */
export type ReadItem<Item> = { readonly item: Item } | { readonly rejection: Rejection };

/**
 * Validates the items of a request one by one, so that an invalid one fails alone.
 *
 * @param items typed by the contract; in fact they can be any JSON.
 */
export function readItems<Item>(schema: ItemSchema, items: readonly Item[]): ReadItem<Item>[] {
  const validate = validatorOf(schema);
  return items.map((item) => (validate(item) ? { item } : { rejection: rejectionOf(validate.errors?.[0]) }));
}

const ajv = contractAjv({ allErrors: false, useDefaults: true, verbose: true });
const validators = new Map<ItemSchema, ValidateFunction>();

function validatorOf(name: ItemSchema): ValidateFunction {
  let validate = validators.get(name);
  if (validate === undefined) {
    const open = schemaOf(name)['x-items-open'];
    if (open === undefined) throw new Error(`The contract validates ${name} with the whole request.`);
    // Within the validator of requests, this schema itself is open.
    validate = ajv.compile(open === true ? schemaOf(name) : open);
    validators.set(name, validate);
  }
  return validate;
}
