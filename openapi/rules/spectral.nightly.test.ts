/** Many teams check contracts with Spectral. Its recommended rules for OpenAPI find nothing in the published bundle. */
import { readFile } from 'node:fs/promises';
import { Document, Ruleset, Spectral } from '@stoplight/spectral-core';
import parsers from '@stoplight/spectral-parsers';
import { oas } from '@stoplight/spectral-rulesets';
import { expect, test } from 'vitest';

const bundle = new URL('../../packages/spec/generated/openapi.json', import.meta.url);

test('the bundle keeps the ruleset spectral:oas', async () => {
  const spectral = new Spectral();
  spectral.setRuleset(new Ruleset({ extends: [[oas, 'recommended']] }));
  const findings = await spectral.run(new Document(await readFile(bundle, 'utf8'), parsers.Json));
  expect(findings.map(({ code, path, message }) => `${code} ${path.join('/')}: ${message}`)).toEqual([]);
});
