import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { DataValidateFunction } from 'ajv/dist/types/index.js';
import addFormats from 'ajv-formats';
import { type OpenApiDocument, type Place, uriOf } from '../document/document.ts';
import { isObject, type JsonObject } from '../json.ts';

import { regularExpression } from './shape.ts';

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
export type Direction = 'request' | 'response';

const ofDocuments = new WeakMap<OpenApiDocument, Validators>();

/**
 * Validates values against the schemas of a document, each in its own file, so that a breach is told with file and line. The
 * one referee of the whole check: what it accepts is right, what it rejects is wrong.
 */
export class Validators {
  readonly #document: OpenApiDocument;
  readonly #ajvs: Readonly<Record<Direction, Ajv2020>>;
  readonly #compiled: Readonly<Record<Direction, WeakMap<object, ValidateFunction>>> = {
    request: new WeakMap(),
    response: new WeakMap(),
  };

  private constructor(document: OpenApiDocument) {
    this.#document = document;
    this.#ajvs = { request: createAjv(document, 'request'), response: createAjv(document, 'response') };
  }

  /** Those of a document: what they have compiled serves every run of it. */
  static of(document: OpenApiDocument): Validators {
    let known = ofDocuments.get(document);
    if (known === undefined) {
      known = new Validators(document);
      ofDocuments.set(document, known);
    }
    return known;
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
    // Ajv loses its way from a file where a reference with nothing but words next to it is all that is at the address.
    let schema = given;
    while (typeof schema.$ref === 'string' && Object.keys(schema).every(isWords))
      [schema = {}] = this.#document.referred(schema);
    let validate = this.#compiled[direction].get(schema);
    if (validate === undefined) {
      // What stands for a schema that the document leaves out is not of the document.
      const isOwn = this.#document.placeOf(schema) !== undefined;
      validate = this.#ajvs[direction].compile(isOwn ? { $ref: uriOf(this.#document.addressOf(schema)) } : schema);
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

/** Whether a keyword only speaks to people, and is passed by where a value is judged. */
function isWords(keyword: string): boolean {
  return keyword === '$ref' || keyword.startsWith('x-') || words.has(keyword);
}

const words = new Set([
  'title',
  'summary',
  'description',
  'example',
  'examples',
  'default',
  'deprecated',
  'readOnly',
  'writeOnly',
  '$comment',
  'externalDocs',
  'xml',
]);

function createAjv(document: OpenApiDocument, direction: Direction): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    validateSchema: false,
    inlineRefs: false,
    allErrors: true,
    verbose: true,
    validateFormats: true,
    // 129.95 is a multiple of 0.01, whatever binary fractions say.
    multipleOfPrecision: 9,
    logger: false,
    // A pattern that Unicode mode rejects, such as `\\@`, is read as its author meant it; one that is invalid matches anything.
    code: {
      regExp: Object.assign((pattern: string) => regularExpression(pattern) ?? /(?:)/, { code: 'regularExpression' }),
    },
  });
  addFormats.default(ajv);
  requireByDirection(ajv, document, direction);
  // Whole files, which are no schemas themselves: what refers into them finds its way.
  for (const [address, file] of document.files) ajv.addSchema(asSchema(file), uriOf(address));
  return ajv;
}

/**
 * `required` as OpenAPI means it: a `readOnly` property is required of responses only, a `writeOnly` one of requests only
 * (OpenAPI 3.0.4, Schema Object, `readOnly`).
 */
function requireByDirection(ajv: Ajv2020, document: OpenApiDocument, direction: Direction): void {
  const flag = direction === 'request' ? 'readOnly' : 'writeOnly';
  ajv.removeKeyword('required');
  ajv.addKeyword({
    keyword: 'required',
    type: 'object',
    schemaType: 'array',
    compile(names: readonly string[], parentSchema) {
      const isHidden = (name: string) =>
        membersNamed(document, parentSchema, name).some((member) => member[flag] === true);
      const needed = names.filter((name) => !isHidden(name));
      const validate: DataValidateFunction = (data: JsonObject) => {
        validate.errors = needed
          .filter((name) => !Object.hasOwn(data, name))
          .map((name) => ({
            keyword: 'required',
            parentSchema,
            params: { missingProperty: name },
            message: `must have required property '${name}'`,
          }));
        return validate.errors.length === 0;
      };
      return validate;
    },
  });
}

/** What the parts of a schema say of one property. */
function membersNamed(document: OpenApiDocument, schema: JsonObject, name: string, depth = 0): JsonObject[] {
  if (depth > 10) return [];
  const own = isObject(schema.properties) ? schema.properties[name] : undefined;
  const parts = [...document.referred(schema), ...(Array.isArray(schema.allOf) ? schema.allOf : [])];
  return [
    ...(isObject(own) ? [own, document.object(own)] : []),
    ...parts.filter(isObject).flatMap((part) => membersNamed(document, part, name, depth + 1)),
  ];
}

/**
 * A file as Ajv can take it: it compiles the whole file that a reference leads into, and the `required` of a parameter or a
 * header is no list. Its properties are the very objects of the document.
 */
function asSchema(file: JsonObject): JsonObject {
  if (typeof file.required !== 'boolean') return file;
  const { required: _required, ...rest } = file;
  return rest;
}
