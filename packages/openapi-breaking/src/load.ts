/** Reads documents as they are: of one or several files, YAML or JSON, OpenAPI 3.0 to 3.2 or Swagger 2.0. */
/// <reference path="./swagger2openapi.d.ts" />
import { bundle, createConfig } from '@redocly/openapi-core';
import { isObject, type JsonObject } from '../../../openapi/rules/contract.ts';
import type { Bundle } from './document.ts';

/** A document of which nothing can be said: it cannot be read, or has a form that is not compared. */
export class NotComparable extends Error {}

/**
 * Reads a document, with all files that it refers to, as one that refers only to itself.
 *
 * @param place a path or a URL
 * @throws NotComparable with a sentence that names the place of the fault
 */
export async function loadDocument(place: string): Promise<Bundle> {
  const { document, problems } = await bundled(place);
  const [problem] = problems;
  if (problem !== undefined) throw new NotComparable(`${place}: ${problem}`);
  if (!isObject(document)) throw new NotComparable(`${place} is not an OpenAPI document.`);
  if (document.swagger === '2.0') return await converted(place, document);
  if (/^3\.[012]\.\d+$/.test(String(document.openapi))) return document;
  throw new NotComparable(
    `${place} is not an OpenAPI document of a version that can be compared (2.0, 3.0, 3.1 or 3.2): ` +
      `\`openapi\` is ${JSON.stringify(document.openapi) ?? 'missing'}.`,
  );
}

async function bundled(place: string): Promise<{ document: unknown; problems: string[] }> {
  try {
    const { bundle: result, problems } = await bundle({ ref: place, config: await createConfig({}) });
    const errors = problems.filter(({ severity }) => severity === 'error');
    return {
      document: result.parsed,
      problems: errors.map(({ message, location: [at] }) => `${message} (at ${at?.pointer ?? 'the root'})`),
    };
  } catch (error) {
    throw new NotComparable(`${place} cannot be read: ${error instanceof Error ? error.message : error}`);
  }
}

async function converted(place: string, document: JsonObject): Promise<Bundle> {
  const { default: converter } = await import('swagger2openapi');
  try {
    const { openapi } = await converter.convertObj(document, { patch: true, warnOnly: true, resolve: false });
    return JSON.parse(JSON.stringify(openapi));
  } catch (error) {
    throw new NotComparable(
      `${place} cannot be converted from Swagger 2.0: ${error instanceof Error ? error.message : error}`,
    );
  }
}
