import { readFile } from 'node:fs/promises';
import { Document, Ruleset, Spectral } from '@stoplight/spectral-core';
import parsers from '@stoplight/spectral-parsers';
import { oas } from '@stoplight/spectral-rulesets';

const bundle = new URL('../../packages/spec/generated/openapi.json', import.meta.url);

/** What Spectral's recommended rules for OpenAPI find in the published bundle, without the rules that are switched off. */
export async function findingsOfSpectral(off: readonly string[] = []): Promise<string[]> {
  const spectral = new Spectral();
  const rules = Object.fromEntries(off.map((rule) => [rule, 'off'] as const));
  spectral.setRuleset(new Ruleset({ extends: [[oas, 'recommended']], rules }));
  const findings = await spectral.run(new Document(await readFile(bundle, 'utf8'), parsers.Json));
  return findings.map(({ code, path, message }) => `${code} ${path.join('/')}: ${message}`);
}
