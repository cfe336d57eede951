import type { components } from '@financial-automation/spec';
import { contract, schemaOf } from './contract.ts';
import { propertiesOf } from './fields.ts';

export type ProblemCode = components['schemas']['ProblemCode'];
export type ProblemDetail = components['schemas']['ProblemError'];
export type ItemErrorCode = components['schemas']['ItemErrorCode'];
/** The kind of an invalid value, in `errors` of a problem and of an item. */
export type ErrorCode = components['schemas']['ProblemErrorCode'];

type RejectionCode = ProblemCode | ItemErrorCode;

/** Limits that the contract declares: a hostile body can have very many errors, at very long paths. */
const problem = propertiesOf(schemaOf('Problem'));
const problemError = propertiesOf(schemaOf('ProblemError'));
const maximum = {
  errors: problem.errors?.maxItems,
  pointer: problemError.pointer?.maxLength,
  detail: problemError.detail?.maxLength,
  problemDetail: problem.detail?.maxLength,
};

interface More {
  /** The invalid value in the body. */
  readonly pointer?: string | undefined;
  /** What is wrong with this value; by default as for the item. */
  readonly errorCode?: ErrorCode;
  /** Several locations, or locations outside the body. */
  readonly errors?: readonly ProblemDetail[];
  /** Further rejections of the same item. */
  readonly others?: readonly Rejection<ItemErrorCode>[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/**
 * Why a request or an item is rejected: a code, a location and a sentence. Where it is thrown decides what it rejects:
 * within an item of a bulk operation this item, if items have such a code; elsewhere the whole request.
 */
export class Rejection<Code extends RejectionCode = RejectionCode> extends Error {
  override readonly name = 'Rejection';
  readonly code: Code;
  /** A JSON Pointer to the invalid value in the body, relative to the `Plan.at` call. */
  readonly pointer: string | undefined;
  /** What is wrong with this value. */
  readonly errorCode: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;
  /** What else is wrong with the same item, which is rejected with the first error. */
  readonly others: readonly Rejection<ItemErrorCode>[];
  readonly #errors: readonly ProblemDetail[] | undefined;

  /** @param location the pointer to the invalid value, unless there are several */
  constructor(code: Code, detail: string, location: string | More = {}) {
    const {
      pointer,
      errorCode = errorCodeOf(code),
      errors,
      others = [],
      headers = {},
      cause,
    }: More = typeof location === 'string' ? { pointer: location } : location;
    super(cut(detail, maximum.problemDetail), { cause });
    this.code = code;
    this.pointer = pointer;
    this.errorCode = errorCode;
    this.others = others;
    // Each temporary problem says when to try again: in a second, if nothing else is known.
    this.headers = this.#isTemporary ? { 'Retry-After': '1', ...headers } : headers;
    this.#errors = errors;
  }

  /** The invalid values; undefined if the rejection concerns none. */
  get errors(): readonly ProblemDetail[] | undefined {
    const { pointer, errorCode: code, message } = this;
    const own = pointer === undefined ? this.#errors : [{ in: 'body' as const, pointer, code, detail: message }];
    const others = this.others.flatMap((other) => other.errors ?? []);
    const errors = own === undefined && others.length === 0 ? undefined : [...(own ?? []), ...others];
    return errors?.slice(0, maximum.errors).map((error) => ({
      ...error,
      pointer: cut(error.pointer, maximum.pointer),
      detail: cut(error.detail, maximum.detail),
    }));
  }

  /** The code of a request that is rejected as a whole. */
  get problemCode(): ProblemCode {
    const code: RejectionCode = this.code;
    if (code === 'RECORD_NOT_FOUND') return 'NOT_FOUND';
    return code === 'STALE_VERSION' ? 'PRECONDITION_FAILED' : code;
  }

  /** Whether the same request can succeed later without a change of anything else. */
  get #isTemporary(): boolean {
    return this.status === 429 || this.status === 503 || this.code === 'REQUEST_IN_PROGRESS';
  }

  get status(): number {
    return statusOf(this.problemCode);
  }

  /** The same rejection with a prefixed pointer. */
  under(prefix: string): Rejection<Code> {
    const { code, message, pointer, errorCode } = this;
    const own =
      pointer === undefined ? this : new Rejection(code, message, { pointer: `${prefix}${pointer}`, errorCode });
    return this.others.length === 0 ? own : own.with(this.others.map((other) => other.under(prefix)));
  }

  /** The same rejection, with everything else that is wrong with the item. */
  with(others: readonly Rejection<ItemErrorCode>[]): Rejection<Code> {
    const { code, message, pointer, errorCode } = this;
    const alone = others.map((one) => {
      return new Rejection(one.code, one.message, { pointer: one.pointer, errorCode: one.errorCode });
    });
    return new Rejection(code, message, { pointer, errorCode, others: alone });
  }
}

/** A rejection that an item of a bulk operation can have. */
export type ItemRejection = Rejection<ItemErrorCode>;

const itemErrorCodes: ReadonlySet<string> = new Set(schemaOf('ItemErrorCode').enum);

export function isItemRejection(error: unknown): error is ItemRejection {
  return error instanceof Rejection && itemErrorCodes.has(error.code);
}

/** Combines rejections of several items to one of the whole request. The first one determines its code. */
export function together(rejections: readonly [Rejection, ...Rejection[]]): Rejection {
  const [first] = rejections;
  // Several items may have the same error in a value that they share.
  const others = rejections.filter(
    (one, index) => index > 0 && !rejections.slice(0, index).some((earlier) => isSame(one, earlier)),
  );
  if (others.length === 0) return first;
  const errors = [first, ...others].flatMap((one) => one.errors ?? []);
  const detail = `${first.message} (${others.length} more in errors.)`;
  return new Rejection(first.code, detail, errors.length === 0 ? {} : { errors });
}

function isSame(left: Rejection, right: Rejection): boolean {
  return left.code === right.code && left.pointer === right.pointer && left.message === right.message;
}

const errorCodes: ReadonlySet<string> = new Set(schemaOf('ProblemErrorCode').enum);

/** Returns the code of an invalid value; where it has none of its own, only that a rule rejects it. */
export function errorCodeOf(code: string): ErrorCode {
  return isErrorCode(code) ? code : 'VALIDATION_ERROR';
}

function isErrorCode(code: string): code is ErrorCode {
  return errorCodes.has(code);
}

/** Without a limit in the contract, the text remains as it is. */
function cut(text: string, length = text.length): string {
  return text.length <= length ? text : text.slice(0, length).toWellFormed();
}

const statuses = readStatuses();

function statusOf(code: ProblemCode): number {
  const status = statuses.get(code);
  if (status === undefined) throw new Error(`No response of the contract has the code ${code}.`);
  return status;
}

/** Maps codes to statuses: each problem schema of the contract declares one status and its codes. */
function readStatuses(): Map<string, number> {
  const found = new Map<string, number>();
  for (const schema of Object.values(contract.components.schemas)) {
    const status = Number(schema.properties?.status?.enum?.[0]);
    if (Number.isNaN(status)) continue;
    for (const code of schema.properties?.code?.enum ?? []) found.set(code, status);
  }
  const outside = schemaOf('ProblemCode') as { 'x-codes-outside-operations'?: Record<string, number> };
  for (const [code, status] of Object.entries(outside['x-codes-outside-operations'] ?? {})) found.set(code, status);
  return found;
}
