/** The rules of the contract, and the decorators that create the bundle, as a plugin of Redocly. Each is one file, which explains why. */
import type { Oas3Decorator, Oas3Preprocessor, Oas3Rule } from '@redocly/openapi-core';
import { aggregates } from './aggregates.ts';
import { bounds } from './bounds.ts';
import { byType } from './by-type.ts';
import { callable } from './callable.ts';
import { choices } from './choices.ts';
import { closedBodies } from './closed-bodies.ts';
import { completeResponses } from './complete-responses.ts';
import { completed, withOperationDefaults } from './completed.ts';
import { deprecations } from './deprecations.ts';
import { described } from './described.ts';
import { descriptions } from './descriptions.ts';
import { directions } from './directions.ts';
import { durations } from './durations.ts';
import { entities } from './entities.ts';
import { enumValues } from './enum-values.ts';
import { events } from './events.ts';
import { exampleProblems } from './example-problems.ts';
import { exampleReferences } from './example-references.ts';
import { exampled } from './exampled.ts';
import { examples } from './examples.ts';
import { extensions } from './extensions.ts';
import { flat } from './flat.ts';
import { keywords } from './keywords.ts';
import { limits } from './limits.ts';
import { locations } from './locations.ts';
import { namedEnums } from './named-enums.ts';
import { names } from './names.ts';
import { operationId } from './operation-id.ts';
import { operationTag } from './operation-tag.ts';
import { pages } from './pages.ts';
import { parameters } from './parameters.ts';
import { partialUpdateDefaults } from './partial-update-defaults.ts';
import { pathFile } from './path-file.ts';
import { plainWords } from './plain-words.ts';
import { portable } from './portable.ts';
import { propertyTypes } from './property-types.ts';
import { queryText } from './query-text.ts';
import { references } from './references.ts';
import { renamed } from './renamed.ts';
import { repetition } from './repetition.ts';
import { responses } from './responses.ts';
import { restrictedFields } from './restricted-fields.ts';
import { restrictedRates } from './restricted-rates.ts';
import { restrictedSearches } from './restricted-searches.ts';
import { roles } from './roles.ts';
import { rootReferences } from './root-references.ts';
import { searches } from './searches.ts';
import { stateMachines } from './state-machines.ts';
import { statuses } from './statuses.ts';
import { titled } from './titled.ts';
import { uniqueNames } from './unique-names.ts';
import { unusedFiles } from './unused-files.ts';
import { webhooks } from './webhooks.ts';

export const rules: Record<string, Oas3Rule> = {
  'operation-id': operationId,
  'operation-tag': operationTag,
  'path-file': pathFile,
  parameters,
  statuses,
  responses,
  roles,
  limits,
  durations,
  repetition,
  deprecations,
  extensions,
  references,
  examples,
  'example-problems': exampleProblems,
  'example-references': exampleReferences,
  locations,
  descriptions,
  'plain-words': plainWords,
  names,
  'named-enums': namedEnums,
  'property-types': propertyTypes,
  bounds,
  'closed-bodies': closedBodies,
  'complete-responses': completeResponses,
  entities,
  'enum-values': enumValues,
  searches,
  'state-machines': stateMachines,
  'restricted-fields': restrictedFields,
  'restricted-rates': restrictedRates,
  'restricted-searches': restrictedSearches,
  pages,
  'partial-update-defaults': partialUpdateDefaults,
  'root-references': rootReferences,
  'query-text': queryText,
  keywords,
  webhooks,
  'unique-names': uniqueNames,
  'unused-files': unusedFiles,
};

/** What is done to the sources before the rules and the decorators see them. */
export const preprocessors: Record<string, Oas3Preprocessor> = { completed };

/** What is done to the bundle, in this order. `redocly.yaml` switches each on. */
export const decorators: Record<string, Oas3Decorator> = {
  flat,
  'by-type': byType,
  aggregates,
  events,
  choices,
  exampled,
  directions,
  renamed,
  titled,
  portable,
  described,
  callable,
};

/** `extends: [contract/all]` switches every rule on as an error, so that a new one cannot be forgotten. */
const all = { rules: Object.fromEntries(Object.keys(rules).map((rule) => [`contract/${rule}`, 'error' as const])) };

export default function contract() {
  return {
    id: 'contract',
    typeExtension: { oas3: withOperationDefaults },
    rules: { oas3: rules },
    preprocessors: { oas3: preprocessors },
    decorators: { oas3: decorators },
    configs: { all },
  };
}
