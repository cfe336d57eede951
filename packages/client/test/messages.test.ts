/** What the compiler and an editor say: a wrong input is one error, at its property, and an operation shows its summary. */
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const file = fileURLToPath(new URL('program.ts', import.meta.url));
const prefix = `import { createClient } from '../src/index.ts';
import { verifyWebhook } from '../src/webhooks.ts';
const api = createClient({ baseUrl: '', tenant: 'hartwell', apiKey: 'key' });
`;
/** Programs with one mistake each, the words that it is marked at, and the beginning of the message. */
const mistakes: [program: string, place: string, message: string][] = [
  [
    "api.getClint({ path: { id: '1' } });",
    'getClint',
    "Property 'getClint' does not exist on type 'Client'. Did you mean 'getClient'?",
  ],
  ['api.getClient();', 'getClient', 'Expected 1 arguments, but got 0.'],
  ['api.getClient({});', '{}', "Property 'path' is missing in type '{}'"],
  ['api.getClient({ path: {} });', 'path', "Property 'id' is missing in type '{}'"],
  ['api.getClient({ path: { id: 1 } });', 'id', "Type 'number' is not assignable to type 'string'."],
  [
    "api.getClient({ path: { id: '1' }, timeOut: 3 });",
    'timeOut',
    "Object literal may only specify known properties, but 'timeOut' does not exist in type",
  ],
  [
    "api.onboardClient({ body: { name: 'a', address: {}, status: 'ACTIV' } });",
    'status',
    `Type '"ACTIV"' is not assignable to type`,
  ],
  [
    "api.onboardClient({ body: { name: 'a', address: {}, colour: 'blue' } });",
    'colour',
    "Object literal may only specify known properties, and 'colour' does not exist in type",
  ],
  [
    "api.createQuickPaymentLink({ body: { clientRef: 'a', amount: 1250 } });",
    'amount',
    "Type 'number' is not assignable to type 'DecimalString'.",
  ],
  [
    "api.searchClients({ body: { where: { nam: { _eq: 'a' } } } });",
    'nam',
    "Object literal may only specify known properties, but 'nam' does not exist in type",
  ],
  [
    "api.searchClients.rows({ body: { where: { name: { _equals: 'a' } } } });",
    '_equals',
    "Object literal may only specify known properties, and '_equals' does not exist in type",
  ],
  ["api.searchClients.rows({ body: { fields: ['nam'] } });", "'nam'", `Type '"nam"' is not assignable to type`],
  ['api.getClient.rows();', 'rows', "Property 'rows' does not exist on type"],
];
const programs = [
  ...mistakes.map(([program]) => program),
  "const event = verifyWebhook({ headers: {}, body: '' }, 'whsec_'); if (event.entityType === 'Client') event.data.outstandingBalance satisfies string;",
];
const text = prefix + programs.join('\n');
const many = fileURLToPath(new URL('many.ts', import.meta.url));
const calls = Array.from({ length: 25 }, (_, index) => [
  `api.searchInvoices.rows({ body: { where: { amountDue: { _gt: '${index}.00' } }, fields: ['total'] } });`,
  `api.searchClients({ body: { where: { name: { _ilike: '%${index}%' } } } });`,
]);
const texts = new Map([
  [file, text],
  [many, `${prefix}verifyWebhook satisfies object;\n${calls.flat().join('\n')}`],
]);

const options: ts.CompilerOptions = {
  ...ts.parseJsonConfigFileContent(
    { extends: './tsconfig.json', compilerOptions: {}, files: [] },
    ts.sys,
    fileURLToPath(new URL('.', import.meta.url)),
  ).options,
  noEmit: true,
};
const service = ts.createLanguageService({
  getCompilationSettings: () => options,
  getScriptFileNames: () => [...texts.keys()],
  getScriptVersion: () => '1',
  getScriptSnapshot: (name) => {
    const content = texts.get(name) ?? ts.sys.readFile(name);
    return content === undefined ? undefined : ts.ScriptSnapshot.fromString(content);
  },
  getCurrentDirectory: () => fileURLToPath(new URL('.', import.meta.url)),
  getDefaultLibFileName: ts.getDefaultLibFilePath,
  fileExists: ts.sys.fileExists,
  readFile: ts.sys.readFile,
});
const errors = [...service.getSyntacticDiagnostics(file), ...service.getSemanticDiagnostics(file)];

describe('the compiler', () => {
  it.each(mistakes)('reports one error at the property: %s', (program, place, message) => {
    const start = text.indexOf(program);
    const found = errors.filter((error) => (error.start ?? 0) >= start && (error.start ?? 0) < start + program.length);
    expect(found.map((error) => text.slice(error.start, (error.start ?? 0) + (error.length ?? 0)))).toEqual([place]);
    expect(found.map((error) => ts.flattenDiagnosticMessageText(error.messageText, '\n'))).toEqual([
      expect.stringContaining(message),
    ]);
  });

  it('reports nothing else', () => {
    expect(errors.map((error) => ts.flattenDiagnosticMessageText(error.messageText, '\n'))).toHaveLength(
      mistakes.length,
    );
  });
});

it('checks 50 calls with few types created for them, so within 2 seconds', () => {
  const created = () => service.getProgram()?.getInstantiationCount() ?? Number.NaN;
  const before = created();
  expect(service.getSemanticDiagnostics(many)).toEqual([]);
  expect(created() - before).toBeGreaterThan(100);
  expect(created() - before).toBeLessThan(10_000);
});

describe('an editor', () => {
  it('shows the summary of an operation', () => {
    const info = service.getQuickInfoAtPosition(file, text.indexOf('createQuickPaymentLink'));
    expect(ts.displayPartsToString(info?.documentation)).toContain('Create a quick payment link');
  });

  it('completes operations, each with its summary', () => {
    const position = text.indexOf('getClint');
    const details = service.getCompletionEntryDetails(
      file,
      position,
      'listUnpaidInvoices',
      {},
      undefined,
      {},
      undefined,
    );
    expect(ts.displayPartsToString(details?.documentation)).toContain('List the unpaid invoices of a client');
  });
});
