import { withOpenItems } from '@financial-automation/spec/open-items';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { addClosedObjects } from './closed-objects.ts';
import { contract, type Schema } from './contract.ts';
import { quickFormats } from './quick-formats.ts';
import { addTextLengths } from './text-lengths.ts';
import { membersKeyword, withMembers } from './unions.ts';
import { addUniqueItems } from './unique-items.ts';

interface AjvOptions {
  /** Whether all errors of a value are reported, or only the first one. */
  readonly allErrors: boolean;
  /** Whether defaults are filled in. */
  readonly useDefaults: boolean;
  /** Whether errors include the schema and the value. */
  readonly verbose: boolean;
}

const known = new Map<string, Ajv2020>();

/** Returns the Ajv with these options and the schemas of the contract, which takes long to create. They compile when they are first used. */
export function contractAjv({ allErrors, useDefaults, verbose }: AjvOptions): Ajv2020 {
  const options = { allErrors, useDefaults, verbose };
  return known.getOrInsertComputed(JSON.stringify(options), () => createAjv(options));
}

function createAjv(options: AjvOptions): Ajv2020 {
  // The contract is linted before it is bundled.
  // Ajv's own optimization of the code takes a third of the time of compiling, and V8 does the same.
  const ajv = new Ajv2020({ ...options, strict: false, validateSchema: false, code: { optimize: false } });
  addFormats.default(ajv);
  addTextLengths(ajv);
  addClosedObjects(ajv);
  addUniqueItems(ajv);
  // Patterns and bounds, which are stricter, validate these formats. Testing a UUID twice was a quarter of the cost of a row.
  for (const format of ['decimal', 'uuid', 'int32', 'int64']) ajv.addFormat(format, true);
  for (const [name, format] of Object.entries(quickFormats)) ajv.addFormat(name, format);
  ajv.addKeyword(membersKeyword(ajv));
  schemas ??= withMembers(withOpenItems(contract.components.schemas));
  for (const [name, schema] of Object.entries(schemas)) ajv.addSchema(schema, `#/components/schemas/${name}`);
  return ajv;
}

let schemas: Readonly<Record<string, Schema>> | undefined;
