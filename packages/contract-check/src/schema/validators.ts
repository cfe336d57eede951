import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { DataValidateFunction } from 'ajv/dist/types/index.js';
import addFormats from 'ajv-formats';
import { isParent, schemaNamed } from '../document/discriminators.ts';
import type { OpenApiDocument, Place } from '../document/document.ts';
import { envelopeOf, wrapped } from '../document/envelopes.ts';
import { regularExpression } from '../document/patterns.ts';
import {
  asNumbers,
  at,
  cut,
  escapeSegment,
  isObject,
  isWithin,
  type JsonObject,
  jsonText,
  parentOf,
  remembered,
} from '../json.ts';
import { View } from './view.ts';

export interface Breach {
  readonly pointer: string;
  readonly keyword: string;
  readonly message: string;
  readonly place: Place | undefined;
}

export type Direction = 'request' | 'response';

const ofDocuments = new WeakMap<OpenApiDocument, Validators>();

/**
 * Validates values against the schemas of a document in their own files, so that violations have file and line. All
 * checks use the same validators.
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
    this.#ajvs = { request: this.#createAjv('request'), response: this.#createAjv('response') };
  }

  /** The validators of a document. Compiled schemas are shared by all runs. */
  static of(document: OpenApiDocument): Validators {
    return remembered(ofDocuments, document, () => new Validators(document));
  }

  breaches(schema: JsonObject, value: unknown, direction: Direction): Breach[] {
    return this.#errorsOf(schema, value, direction).map((error) => this.#breachOf(error));
  }

  /** The violations without those of branches that the value is not meant for: only the nearest branch counts. */
  tellingBreaches(schema: JsonObject, value: unknown, direction: Direction, depth = 0): Breach[] {
    const all = this.#errorsOf(schema, value, direction);
    let open = all.map((error) => ({ error, breach: this.#breachOf(error) }));
    const telling = new Map<string, Breach>();
    let isNamed = false;
    // Ajv reports a choice after what is within its branches.
    for (let last = open.pop(); last !== undefined; last = open.pop()) {
      const { keyword, instancePath, parentSchema = {} } = last.error;
      const branches: unknown = choices.has(keyword) && depth <= deepestChoice ? parentSchema[keyword] : undefined;
      if (!Array.isArray(branches)) {
        if (!composites.has(keyword)) telling.set(keyOf(last.breach), last.breach);
        continue;
      }
      const part = at(value, instancePath);
      const named = isObject(parentSchema) ? schemaNamed(this.#document, parentSchema, part) : undefined;
      const schemas = branches.filter(isObject);
      const within = ({ pointer, ...breach }: Breach) => ({ ...breach, pointer: instancePath + pointer });
      const inBranches = schemas
        .flatMap((branch) => this.breaches(branch, part, direction))
        .map(within)
        .map(keyOf);
      open = open.filter(({ breach }) => !inBranches.includes(keyOf(breach)));
      const results = (named === undefined ? schemas : [named]).map((branch) =>
        this.tellingBreaches(branch, part, direction, depth + 1),
      );
      const [nearest = []] = results.toSorted((one, other) => distanceOf(one) - distanceOf(other));
      // A value that several branches accept violates only oneOf itself, unless a discriminator names one of them.
      if (named !== undefined && nearest.length === 0) isNamed = true;
      else
        for (const breach of nearest.length === 0 ? [last.breach] : nearest.map(within).reverse())
          telling.set(keyOf(breach), breach);
    }
    const found = [...telling.values()].reverse();
    const others = found.filter(({ keyword }) => !keyword.startsWith('unevaluated'));
    // The properties of an invalid part count as unevaluated.
    const isCertain = (breach: Breach) =>
      others.includes(breach) || !others.some(({ pointer }) => isWithin(pointer, parentOf(breach.pointer)));
    const certain = found.filter(isCertain);
    return certain.length > 0 || isNamed ? certain : all.map((error) => this.#breachOf(error));
  }

  /** Whether a request may have a value. */
  accepts(schema: JsonObject, value: unknown): boolean {
    const envelope = envelopeOf(schema);
    const whole = envelope === undefined ? value : wrapped(envelope, value, '1');
    return this.#validatorOf(envelope?.schema ?? schema, 'request')(asNumbers(whole)) === true;
  }

  #errorsOf(schema: JsonObject, value: unknown, direction: Direction): ErrorObject[] {
    const validate = this.#validatorOf(schema, direction);
    return validate(asNumbers(value)) ? [] : [...(validate.errors ?? [])];
  }

  #createAjv(direction: Direction): Ajv2020 {
    const ajv = createAjv(this.#document, direction);
    validateChildren(ajv, this.#document, (child) => this.#validatorOf(child, direction));
    return ajv;
  }

  #validatorOf(declared: JsonObject, direction: Direction): ValidateFunction {
    // Ajv fails to resolve a file that contains only a reference and annotations.
    let schema = declared;
    while (typeof schema.$ref === 'string' && Object.keys(schema).every(isAnnotation))
      [schema = {}] = this.#document.referred(schema);
    return remembered(this.#compiled[direction], schema, () => {
      // Placeholders for omitted schemas are not part of the document.
      const $ref = this.#document.uriOf(schema);
      return this.#ajvs[direction].compile($ref === undefined ? schema : { $ref });
    });
  }

  #breachOf(error: ErrorObject): Breach {
    const { keyword, instancePath, params, parentSchema } = error;
    const message = wordsFor(error) ?? error.message ?? 'is wrong';
    // Ajv reports a property that is too many at the object.
    const member: unknown = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty;
    const pointer = typeof member === 'string' ? `${instancePath}/${escapeSegment(member)}` : instancePath;
    const place = isObject(parentSchema) ? this.#document.placeOf(parentSchema, keyword) : undefined;
    return { pointer, keyword, message, place };
  }
}

/** A message that says more than that of Ajv: which values are allowed, and which branches match. */
function wordsFor({ keyword, params, parentSchema }: ErrorObject): string | undefined {
  if (/^(?:additional|unevaluated)Properties$/.test(keyword)) return `must not be present, because ${keyword} is false`;
  const allowed: unknown = keyword === 'const' ? [params.allowedValue] : params.allowedValues;
  if (Array.isArray(allowed)) {
    const one = allowed.length === 1 ? '' : 'one of ';
    return `must be ${one}${cut(allowed.map((value) => jsonText(value)).join(', '), 200)}`;
  }
  const matched: unknown = params.passingSchemas;
  if (!Array.isArray(matched)) return undefined;
  const nameOf = (index: unknown) => {
    const branch: unknown = at(parentSchema, `/oneOf/${index}`);
    return isObject(branch) && typeof branch.$ref === 'string' ? branch.$ref.replace(/^.*[/]/, '') : `branch ${index}`;
  };
  return `must match only one schema of oneOf, but matches ${matched.map(nameOf).join(' and ')}`;
}

const choices = new Set(['oneOf', 'anyOf']);
const composites = new Set([...choices, 'if', 'allOf', '$ref']);
const deepestChoice = 4;

function keyOf({ pointer, keyword, place }: Breach): string {
  return `${pointer} ${keyword} ${place?.file} ${place?.pointer}`;
}

/** How far a value is from a branch. A wrong type or constant near the top means that it is another branch. */
function distanceOf(breaches: readonly Breach[]): number {
  const weightOf = ({ pointer, keyword }: Breach) => {
    const depth = pointer.split('/').length;
    if (keyword === 'type' && depth === 1) return 20;
    if (keyword === 'const' && depth <= 2) return 10;
    return keyword === 'enum' && depth <= 2 ? 3 : 1;
  };
  return breaches.reduce((sum, breach) => sum + weightOf(breach), 0);
}

/** Whether a keyword is a reference or an annotation, which does not constrain values itself. */
export function isAnnotation(keyword: string): boolean {
  return keyword === '$ref' || keyword.startsWith('x-') || words.has(keyword);
}

const words = new Set(
  'title summary description example examples default deprecated readOnly writeOnly $comment externalDocs xml'.split(
    ' ',
  ),
);

function createAjv(document: OpenApiDocument, direction: Direction): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    validateSchema: false,
    inlineRefs: false,
    allErrors: true,
    verbose: true,
    validateFormats: true,
    // With binary fractions, 129.95 would not be a multiple of 0.01.
    multipleOfPrecision: 9,
    logger: false,
    code: {
      // Each validator sees few values: optimizing its code costs more than it gains.
      optimize: false,
      regExp: Object.assign((pattern: string) => regularExpression(pattern), { code: 'regularExpression' }),
    },
  });
  addFormats.default(ajv);
  requireByDirection(ajv, document, direction);
  // Registers whole files, so that references into them can be resolved.
  for (const [uri, file] of document.files) ajv.addSchema(asSchema(file), uri);
  return ajv;
}

/**
 * Implements `required` for OpenAPI: `readOnly` properties are required only in responses, `writeOnly` properties only
 * in requests (OpenAPI 3.0.4, Schema Object, `readOnly`).
 */
function requireByDirection(ajv: Ajv2020, document: OpenApiDocument, direction: Direction): void {
  const flag = direction === 'request' ? 'readOnly' : 'writeOnly';
  ajv.removeKeyword('required');
  ajv.addKeyword({
    keyword: 'required',
    type: 'object',
    schemaType: 'array',
    compile(names: readonly string[], parentSchema) {
      const view = View.of(document, parentSchema);
      const needed = names.filter((name) => !view.member(name).has(flag));
      const validate: DataValidateFunction = (data: JsonObject) => {
        validate.errors = needed
          .filter((name) => !Object.hasOwn(data, name))
          .map((name) => ({
            keyword: 'required',
            parentSchema,
            params: { missingProperty: name },
            message: 'must be present',
          }));
        return validate.errors.length === 0;
      };
      return validate;
    },
  });
}

/** Validates a value of a parent by the child that its discriminator names. The child refers to the parent again. */
function validateChildren(
  ajv: Ajv2020,
  document: OpenApiDocument,
  validatorOf: (child: JsonObject) => ValidateFunction,
): void {
  ajv.addKeyword({
    keyword: 'discriminator',
    type: 'object',
    schemaType: 'object',
    compile(_discriminator, parentSchema) {
      const parent: JsonObject = parentSchema;
      const open = new Set<unknown>();
      const validate: DataValidateFunction = (data: unknown, context) => {
        const child = isParent(parent) && !open.has(data) ? schemaNamed(document, parent, data) : undefined;
        if (child === undefined) return true;
        open.add(data);
        const validator = validatorOf(child);
        const isValid = validator(data, context) === true;
        open.delete(data);
        validate.errors = [...(validator.errors ?? [])];
        return isValid;
      };
      return validate;
    },
  });
}

/**
 * A file in a form that Ajv accepts. Ajv compiles the whole file of a reference, where the `required` of a parameter or
 * header is not a list. The nested objects are those of the document.
 */
function asSchema(file: JsonObject): JsonObject {
  if (typeof file.required !== 'boolean') return file;
  const { required: _required, ...rest } = file;
  return rest;
}
