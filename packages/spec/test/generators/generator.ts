import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

export const contract = fileURLToPath(import.meta.resolve('@financial-automation/spec/openapi.json'));
const modules = fileURLToPath(new URL('../../node_modules/', import.meta.url));

interface Documented {
  readonly version: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

const guide = new URL('../../../../openapi/guides/generate-a-client.md', import.meta.url);
/** The rows of the guide by generator: `` | `orval` 8.38.0 | `{"client":"fetch"}` | ``. */
export const generatorsOfGuide: ReadonlyMap<string, Documented> = new Map(
  [...readFileSync(guide, 'utf8').matchAll(/^\| `(\S+)` ([\d.]+) \| `(\{.*?\})` \|/gm)].map(
    ([, name = '', version = '', settings = '']) => [name, { version, settings: JSON.parse(settings) }],
  ),
);

/** What every integrator writes sooner or later; a line with `@ts-expect-error` must not compile. */
const program = (types: string) => `
import type {
  Client, ClientCreatedEvent, ClientOnboardRequest, ClientUpsert, Event, Invoice, RecordRow, RecordUpsertRequest, StandardEvent,
  StandardRecordUpsert,
} from '${types}';

export function read(client: Client, invoice: Invoice, created: ClientCreatedEvent, event: Event): string[] {
  const name: string = client.name;
  const dueDate: string = invoice.dueDate;
  const id: string = created.data.id;
  // @ts-expect-error it is never returned
  client.taxId;
  return [name, dueDate, id, event.entityId];
}

export const request: ClientOnboardRequest = { name: 'Harbor & Pine LLC', address: {}, taxId: '12-3456789' };
// @ts-expect-error only the service sets it
export const rejected: ClientOnboardRequest = { name: 'Harbor & Pine LLC', address: {}, outstandingBalance: '0.00' };
// @ts-expect-error a name is required
export const nameless: ClientOnboardRequest = { address: {} };

export const record: ClientUpsert = { type: 'Client', attributes: { name: 'Harbor & Pine LLC', managerId: { pmsRef: 'S-014' } } };
export const records: RecordUpsertRequest = {
  records: [record, { type: 'Opportunity', systemRef: 'OPP-501', attributes: { stage: 'LEAD' } }],
};
// @ts-expect-error a client has no such attribute
export const misspelt: ClientUpsert = { type: 'Client', attributes: { nmae: 'Harbor & Pine LLC' } };
// @ts-expect-error nor has it in the union of all types
export const misspeltOfMany: StandardRecordUpsert = { type: 'Client', attributes: { nmae: 'Harbor & Pine LLC' } };
// @ts-expect-error no type is called so
export const unknownType: StandardRecordUpsert = { type: 'Clint', attributes: {} };

export function tellApart(event: StandardEvent, row: RecordRow): string {
  if (event.entityType === 'Invoice' && event.operation === 'UPDATE') return event.data.dueDate;
  return row.type === 'Client' && 'clientRef' in row.attributes ? \`\${row.attributes.clientRef}\` : row.id;
}
`;

/**
 * Adds a test of a generator with the settings that the guide shows.
 *
 * @param types the file with the types
 * @param generate writes a client into the folder
 */
export function testGenerator(
  name: string,
  types: string,
  generate: (folder: string, settings: Documented['settings']) => Promise<unknown>,
): void {
  describe(name, () => {
    let folder = '';

    beforeAll(async () => {
      // In the node_modules of this package, where the compiler finds the imports of a client.
      folder = await mkdtemp(join(modules, '.generated-client-'));
      vi.stubGlobal('fetch', () => Promise.reject(new Error('A generator tries to access another host.')));
      vi.spyOn(console, 'log').mockReturnValue();
      const documented = generatorsOfGuide.get(name);
      if (documented === undefined) throw new Error(`The guide has no settings of ${name}.`);
      await generate(folder, documented.settings);
      await writeFile(join(folder, 'program.ts'), program(types));
    });

    afterAll(async () => {
      vi.unstubAllGlobals();
      vi.restoreAllMocks();
      await rm(folder, { recursive: true });
    });

    test('generates a client that a program compiles with', () => {
      expect(errorsIn(join(folder, 'program.ts'))).toEqual([]);
    });
  });
}

/** Returns the compiler errors of a program and all its imports. */
function errorsIn(file: string): string[] {
  const compiled = ts.createProgram([file], {
    strict: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2024,
    lib: ['lib.es2024.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    types: [],
  });
  return ts.getPreEmitDiagnostics(compiled).map(({ file: source, start = 0, messageText }) => {
    const line =
      source === undefined ? '' : `${source.fileName}:${source.getLineAndCharacterOfPosition(start).line + 1} `;
    return `${line}${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
  });
}
