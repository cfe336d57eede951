import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { OpenApiDocument, Place } from '../document/document.ts';
import { isObject, type JsonObject } from '../json.ts';

/** A value that breaks a schema, at one keyword. */
export interface Breach {
  /** A JSON Pointer into the value. */
  readonly pointer: string;
  readonly keyword: string;
  readonly message: string;
  /** Where the contract says so. */
  readonly place: Place | undefined;
}

/** Which of the two directions a value travels in: `readOnly` has no business in the one, `writeOnly` in the other. */
export type Direction = 'request' | 'answer';

/**
 * Validates values against the schemas of a document, each in its own file, so that a breach is told with file and line. The
 * one referee of the whole check: what it accepts is right, what it refuses is wrong.
 */
export class Validators {
  readonly #document: OpenApiDocument;
  readonly #ajvs: Readonly<Record<Direction, Ajv2020>>;
  readonly #compiled: Readonly<Record<Direction, WeakMap<object, ValidateFunction>>> = {
    request: new WeakMap(),
    answer: new WeakMap(),
  };

  constructor(document: OpenApiDocument) {
    this.#document = document;
    this.#ajvs = { request: createAjv(document), answer: createAjv(document) };
  }

  /** Every way in which the value breaks the schema; none where it is right. */
  breaches(schema: JsonObject, value: unknown, direction: Direction): Breach[] {
    const validate = this.#validatorOf(schema, direction);
    if (validate(value)) return [];
    return (validate.errors ?? []).map((error) => this.#breachOf(error));
  }

  accepts(schema: JsonObject, value: unknown, direction: Direction): boolean {
    return this.#validatorOf(schema, direction)(value) === true;
  }

  #validatorOf(given: JsonObject, direction: Direction): ValidateFunction {
    // Ajv loses its way from a file where a mere reference is all that stands at the address.
    const schema = Object.keys(given).length === 1 ? this.#document.object(given) : given;
    let validate = this.#compiled[direction].get(schema);
    if (validate === undefined) {
      validate = this.#ajvs[direction].compile({ $ref: this.#document.addressOf(schema) });
      this.#compiled[direction].set(schema, validate);
    }
    return validate;
  }

  #breachOf(error: ErrorObject): Breach {
    const { keyword, instancePath, params, parentSchema, message = 'is wrong' } = error;
    const member: unknown = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty;
    const pointer = typeof member === 'string' ? `${instancePath}/${member}` : instancePath;
    const place = isObject(parentSchema) ? this.#document.placeOf(parentSchema, keyword) : undefined;
    return { pointer, keyword, message, place };
  }
}

function createAjv(document: OpenApiDocument): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    validateSchema: false,
    inlineRefs: false,
    allErrors: true,
    verbose: true,
    validateFormats: true,
    logger: false,
  });
  addFormats.default(ajv);
  // Whole files, which are no schemas themselves: what refers into them finds its way.
  for (const [address, file] of document.files) ajv.addSchema(asSchema(file), address);
  return ajv;
}

/**
 * A file as Ajv can take it: it compiles the whole file that a reference leads into, and the `required` of a parameter or a
 * header is no list. Its members are the very objects of the document.
 */
function asSchema(file: JsonObject): JsonObject {
  if (typeof file.required !== 'boolean') return file;
  const { required: _required, ...rest } = file;
  return rest;
}
