import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import '../app/handlers.ts';
import { allEntities } from './registry.ts';
import { inWriteOrder } from './write-order.ts';

const load = (file: string) => `await import(${JSON.stringify(new URL(file, import.meta.url).href)})`;

/** Returns the order of all entities in a new process, which also requests an order once it has loaded a file. */
async function orderAfter(file: string): Promise<string> {
  const program = [
    `const { inWriteOrder } = ${load('write-order.ts')};`,
    `const { allEntities } = ${load('registry.ts')};`,
    `${load(file)}; inWriteOrder(allEntities());`,
    `${load('../app/handlers.ts')};`,
    'console.log(inWriteOrder(allEntities()).map(({ key }) => key).join());',
  ];
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program.join('\n')]);
  return stdout.trim();
}

test('inWriteOrder › includes entities that are defined after the order was first requested', async () => {
  const order = inWriteOrder(allEntities()).map(({ key }) => key);
  expect(order.indexOf('Client')).toBeLessThan(order.indexOf('Invoice'));
  expect(await orderAfter('../modules/clients/client.ts')).toBe(order.join());
});
