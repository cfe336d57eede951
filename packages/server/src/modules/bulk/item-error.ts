import type { components } from '@financial-automation/spec';
import { numberOf } from '../../contract/contract.ts';
import type { ItemRejection } from '../../contract/rejection.ts';

/** The reason why an item of a bulk call failed, with all errors of the item. */
export type ItemErrors = components['schemas']['RecordItemError'];

const most = numberOf('RecordItemError', 'errors', 'maxItems');
const maxDetailLength = numberOf('ItemError', 'detail', 'maxLength');
const maxPointerLength = numberOf('ItemError', 'pointer', 'maxLength');

/** Describes the rejection of an item to the caller: its first error, and all of them. */
export function itemErrorOf(rejection: ItemRejection): ItemErrors {
  const errors = [rejection, ...rejection.others].slice(0, most).map(({ code, errorCode, message, pointer }) => ({
    code,
    errorCode,
    detail: message.length > maxDetailLength ? `${message.slice(0, maxDetailLength - 1).toWellFormed()}…` : message,
    pointer: pointer === undefined ? null : shortened(pointer),
  }));
  const [{ code, detail, pointer } = errorless] = errors;
  return {
    code,
    detail,
    pointer,
    errors: errors.map(({ errorCode, ...location }) => ({ ...location, code: errorCode })),
  };
}

const errorless = { code: 'VALIDATION_ERROR', detail: 'The item is invalid.', pointer: null } as const;

/** Shortens a pointer that is too long to the object that contains the value. */
function shortened(pointer: string): string {
  return pointer.length <= maxPointerLength ? pointer : shortened(pointer.slice(0, pointer.lastIndexOf('/')));
}
