import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { numberOf } from '../contract/contract.ts';
import { codeOfKeyword } from '../contract/findings.ts';
import { hasManyValues } from '../contract/many-values.ts';
import { escapePointer } from '../contract/pointer.ts';
import { type ItemRejection, isItemRejection, Rejection } from '../contract/rejection.ts';
import { distinct } from '../contract/wording.ts';

/** Validates one item of a request, or a part of it. @returns all that is wrong, with pointers relative to the value */
export type ItemCheck = (value: unknown) => readonly ItemRejection[];

/** The most errors of an item in a response. */
const maxErrors = numberOf('RecordItemError', 'errors', 'maxItems');

/** A value with several forms has several errors in Ajv. */
const maxFindings = 3 * maxErrors;

/**
 * Creates a check from two validations with the option `verbose`, which are compiled when they are first used.
 *
 * @param first stops at the first error. Most items are valid, and it takes less time.
 * @param all finds all errors
 */
export function itemCheck(first: () => ValidateFunction, all: () => ValidateFunction): ItemCheck {
  let isValid: ValidateFunction | undefined;
  return (value) => {
    isValid ??= first();
    if (isValid(value)) return [];
    const validate = hasManyValues(value) ? isValid : all();
    const found = validate(value) ? [] : (validate.errors ?? []);
    // One error of each value is enough to correct it.
    const byPlace = new Map<string, ItemRejection>();
    for (const { error, detail } of distinct(found.slice(0, maxFindings))) {
      const pointer = pointerOf(error);
      const errorCode = codeOfKeyword(error.keyword);
      if (!byPlace.has(pointer) && byPlace.size < maxErrors)
        byPlace.set(pointer, new Rejection('VALIDATION_ERROR', detail, { pointer, errorCode }));
    }
    return byPlace.size > 0 ? [...byPlace.values()] : [new Rejection('VALIDATION_ERROR', 'The item is invalid.', '')];
  };
}

/** Collects what is wrong with one item, so that a caller can correct all of it at once. */
export class Faults {
  readonly #found: ItemRejection[] = [];

  /** Runs a step that may reject the item. @returns its result, or undefined */
  attempt<Result>(step: () => Result): Result | undefined {
    try {
      return step();
    } catch (error) {
      if (!isItemRejection(error)) throw error;
      this.add([error, ...error.others]);
      return undefined;
    }
  }

  /** Adds rejections of values that have none yet. */
  add(rejections: readonly ItemRejection[]): void {
    const known = new Set(this.#found.map(({ pointer }) => pointer));
    const isKnown = (pointer: string) => known.has(pointer) || known.has(pointer.slice(0, pointer.indexOf('/', 1)));
    this.#found.push(...rejections.filter(({ pointer }) => pointer === undefined || !isKnown(pointer)));
  }

  /** @throws Rejection with everything that was found, if anything was */
  reject(): void {
    const [first, ...others] = this.#found;
    if (first !== undefined) throw first.with(others);
  }
}

function pointerOf({ params, instancePath }: ErrorObject): string {
  const member: unknown = params.additionalProperty ?? params.unevaluatedProperty ?? params.missingProperty;
  return typeof member === 'string' ? `${instancePath}/${escapePointer(member)}` : instancePath;
}
