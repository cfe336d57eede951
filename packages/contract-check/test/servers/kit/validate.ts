import { Ajv2020 as Ajv, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { type Contract, follow, type Json, type JsonObject, list, object } from './contract.ts';

export type Direction = 'request' | 'response';
/** The errors of a value and their pointers; undefined if it is valid. */
export type Verdict = { readonly pointer: string; readonly message: string } | undefined;
export type Judge = (pointer: string, value: unknown) => Verdict;

/**
 * Validates values against the schemas of a contract, by the pointer of the schema. Requests may contain `readOnly`
 * properties, which are ignored; responses must not contain `writeOnly` ones.
 */
export function judgeOf(contract: Contract, direction: Direction): Judge {
  const ajv = new Ajv({ strict: false, validateSchema: false, logger: false, multipleOfPrecision: 6 });
  formats.default(ajv);
  ajv.addSchema(directed(contract.document, direction), 'contract');
  const compiled = new Map<string, ValidateFunction>();
  return (pointer, value) => {
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `contract${encoded(pointer)}` });
    compiled.set(pointer, validate);
    return validate(value) ? undefined : verdict(validate.errors?.[0]);
  };
}

/** A schema reference is a URI, so its pointer is percent-encoded. */
function encoded(pointer: string): string {
  return pointer
    .split('/')
    .map((token, index) => (index === 0 ? token : encodeURIComponent(token)))
    .join('/');
}

function verdict(error: ErrorObject | undefined): NonNullable<Verdict> {
  const extra = error?.params.additionalProperty ?? error?.params.unevaluatedProperty;
  return {
    pointer: error?.instancePath ?? '',
    message: `${error?.message ?? 'is wrong'}${extra === undefined ? '' : `: ${extra}`}`,
  };
}

function directed(document: JsonObject, direction: Direction): JsonObject {
  const foreign = direction === 'request' ? 'readOnly' : 'writeOnly';
  const isForeign = (schema: Json | undefined) => {
    const plain = object(schema);
    const reference = typeof plain.$ref === 'string' ? follow(document, decodeURIComponent(plain.$ref)).value : {};
    return plain[foreign] === true || reference[foreign] === true;
  };
  const walk = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(walk);
    if (value === null || typeof value !== 'object') return value;
    const copy = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item)]));
    const names = Object.keys(object(value.properties)).filter((name) => isForeign(object(value.properties)[name]));
    if (names.length === 0) return copy;
    copy.properties = {
      ...object(copy.properties),
      ...Object.fromEntries(names.map((name) => [name, direction === 'request'])),
    };
    copy.required = list(value.required).filter((name) => !names.includes(String(name)));
    return copy;
  };
  return walk(document) as JsonObject;
}
