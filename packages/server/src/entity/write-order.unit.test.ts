import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const load = (file: string) => `await import(${JSON.stringify(new URL(file, import.meta.url).href)})`;

/** Returns the order of all entities in a new process, which also requests an order at some point before. */
async function orderAfter(...earlier: readonly string[]): Promise<string> {
  const program = [
    `const { inWriteOrder } = ${load('write-order.ts')};`,
    `const { allEntities } = ${load('registry.ts')};`,
    ...earlier.map((file) => `${load(file)}; inWriteOrder(allEntities());`),
    `${load('../app/handlers.ts')};`,
    'console.log(inWriteOrder(allEntities()).map(({ key }) => key).join());',
  ];
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program.join('\n')]);
  return stdout;
}

test('inWriteOrder › includes entities that are defined after the order was first requested', async () => {
  const order = await orderAfter();
  const places = order.trim().split(',');
  expect(places.indexOf('Client')).toBeLessThan(places.indexOf('Invoice'));
  expect(await orderAfter('../modules/clients/client.ts')).toBe(order);
});
