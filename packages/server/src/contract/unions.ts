import type { Ajv2020, FuncKeywordDefinition, ValidateFunction } from 'ajv/dist/2020.js';
import type { Schema } from './contract.ts';

type Schemas = Readonly<Record<string, Schema>>;

/** The members of a union by the value of the discriminator, and the member for all other values, if there is one. */
interface Members {
  readonly propertyName: string;
  readonly mapping: Readonly<Record<string, string>>;
  readonly otherwise?: string;
}

const keyword = 'x-members';
const prefix = '#/components/schemas/';

/**
 * Replaces discriminated unions in schemas by a keyword. With a `oneOf` of thirty members, every row would be validated
 * against each of them, all thirty would be compiled for each operation, and an invalid row reported thirty times.
 */
export function withMembers(schemas: Schemas): Schemas {
  const entries = Object.entries(schemas).map(([name, schema]): [string, object] => {
    const members = membersOf(schema, schemas);
    return [name, members === undefined ? schema : { type: 'object', [keyword]: members }];
  });
  return Object.fromEntries(entries);
}

function membersOf({ oneOf = [], discriminator }: Schema, schemas: Schemas): Members | undefined {
  if (discriminator !== undefined) return discriminator;
  // The members of a union that is nested in it, and one member for everything else.
  const discriminators = oneOf.map(({ $ref = '' }) => schemas[$ref.slice(prefix.length)]?.discriminator);
  const nested = discriminators.findIndex((one) => one !== undefined);
  const [otherwise, ...more] = oneOf.filter((_, index) => index !== nested);
  const found = discriminators[nested];
  if (found === undefined || otherwise?.$ref === undefined || more.length > 0) return undefined;
  return { ...found, otherwise: otherwise.$ref };
}

/** Defines the keyword. A member is compiled when its first value is validated, once for all operations. */
export function membersKeyword(ajv: Ajv2020): FuncKeywordDefinition {
  return {
    keyword,
    type: 'object',
    schemaType: 'object',
    errors: 'full',
    compile({ propertyName, mapping, otherwise }: Members) {
      const validate: ReturnType<NonNullable<FuncKeywordDefinition['compile']>> = (data, context) => {
        const value: unknown = data[propertyName];
        const $ref =
          (typeof value === 'string' && Object.hasOwn(mapping, value) ? mapping[value] : undefined) ?? otherwise;
        const instancePath = context?.instancePath ?? '';
        if ($ref === undefined) {
          const params = { allowedValues: Object.keys(mapping), sent: value };
          const message = 'must be equal to one of the allowed values';
          validate.errors = [{ keyword: 'enum', instancePath: `${instancePath}/${propertyName}`, message, params }];
          return false;
        }
        const member: ValidateFunction | undefined = ajv.getSchema($ref);
        if (member === undefined) throw new Error(`The contract has no ${$ref}.`);
        if (member(data)) return true;
        validate.errors = (member.errors ?? []).map((error) => ({
          ...error,
          instancePath: `${instancePath}${error.instancePath}`,
        }));
        return false;
      };
      return validate;
    },
  };
}
