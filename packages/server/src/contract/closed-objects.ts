import { _, type Ajv2020, type CodeKeywordDefinition, type KeywordCxt } from 'ajv/dist/2020.js';

const keyword = 'additionalProperties';

/**
 * Has `additionalProperties: false` of an Ajv look first whether an object has only known properties. Its own code, which then only
 * runs to report others, looks for each in the schema: that takes four times as long, a fifth of the validation of a row.
 */
export function addClosedObjects(ajv: Ajv2020): void {
  const own = ajv.getKeyword(keyword);
  if (!isCodeKeyword(own)) throw new Error(`The keyword ${keyword} has no code.`);
  ajv.removeKeyword(keyword);
  ajv.addKeyword({
    ...own,
    // Errors remain in the order in which Ajv has them.
    before: 'properties',
    code(cxt: KeywordCxt) {
      const { gen, schema, parentSchema, data, it } = cxt;
      // Until the first error, Ajv nests the code of the keywords that follow.
      if (schema !== false || !it.allErrors) return own.code(cxt);
      const known = new Set(Object.keys(parentSchema.properties ?? {}));
      const isClosed = gen.scopeValue('func', { ref: (object: object) => hasOnly(known, object) });
      gen.if(_`!${isClosed}(${data})`, () => own.code(cxt));
    },
  });
}

function hasOnly(known: ReadonlySet<string>, object: object): boolean {
  for (const name in object) if (!known.has(name)) return false;
  return true;
}

function isCodeKeyword(definition: object | boolean): definition is CodeKeywordDefinition {
  return typeof definition === 'object' && 'code' in definition;
}
