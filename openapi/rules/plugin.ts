/** Our own rules of the contract, as a plugin of Redocly. Each rule is one file that says why it exists. */
import type { Oas3Rule } from '@redocly/openapi-core';
import { answers } from './answers.ts';
import { bounds } from './bounds.ts';
import { closedBodies } from './closed-bodies.ts';
import { descriptions } from './descriptions.ts';
import { entities } from './entities.ts';
import { exampleValues } from './example-values.ts';
import { examples } from './examples.ts';
import { extensions } from './extensions.ts';
import { keywords } from './keywords.ts';
import { limits } from './limits.ts';
import { names } from './names.ts';
import { operationId } from './operation-id.ts';
import { operationTag } from './operation-tag.ts';
import { parameters } from './parameters.ts';
import { partialUpdateDefaults } from './partial-update-defaults.ts';
import { pathFile } from './path-file.ts';
import { propertyTypes } from './property-types.ts';
import { queryText } from './query-text.ts';
import { references } from './references.ts';
import { repetition } from './repetition.ts';
import { roles } from './roles.ts';
import { rootReferences } from './root-references.ts';
import { searches } from './searches.ts';
import { statuses } from './statuses.ts';
import { uniqueNames } from './unique-names.ts';
import { unusedFiles } from './unused-files.ts';
import { webhooks } from './webhooks.ts';
import { wholeAnswers } from './whole-answers.ts';

export const rules: Record<string, Oas3Rule> = {
  'operation-id': operationId,
  'operation-tag': operationTag,
  'path-file': pathFile,
  parameters,
  statuses,
  answers,
  roles,
  limits,
  repetition,
  extensions,
  references,
  examples,
  'example-values': exampleValues,
  descriptions,
  names,
  'property-types': propertyTypes,
  bounds,
  'closed-bodies': closedBodies,
  'whole-answers': wholeAnswers,
  entities,
  searches,
  'partial-update-defaults': partialUpdateDefaults,
  'root-references': rootReferences,
  'query-text': queryText,
  keywords,
  webhooks,
  'unique-names': uniqueNames,
  'unused-files': unusedFiles,
};

/** `extends: [contract/all]` switches every rule on as an error, so that a new one cannot be forgotten. */
const all = { rules: Object.fromEntries(Object.keys(rules).map((rule) => [`contract/${rule}`, 'error' as const])) };

export default function contract() {
  return { id: 'contract', rules: { oas3: rules }, configs: { all } };
}
