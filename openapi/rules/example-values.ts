/**
 * An example that its schema refuses teaches integrators something wrong. Redocly's own
 * `no-invalid-media-type-examples` does the work; but it takes the body of a webhook for a request of a caller, where
 * read-only fields must not stand. It is we who send it, so here it is checked as what we answer.
 */
import { createConfig, type Oas3Rule } from '@redocly/openapi-core';

const name = 'no-invalid-media-type-examples';
const builtIn = (await createConfig({})).plugins.flatMap((plugin) => plugin.rules?.oas3?.[name] ?? [])[0];
if (builtIn === undefined)
  throw new Error(`Redocly has no rule ${name} any more: write contract/example-values without it.`);
const check: Oas3Rule = builtIn;

export const exampleValues: Oas3Rule = (options) =>
  [check(options)].flat().map(({ Parameter = {}, RequestBody = {}, Response = {} }) => ({
    Paths: { Parameter, RequestBody, Response },
    WebhooksMap: { Parameter, RequestBody: Response },
  }));
