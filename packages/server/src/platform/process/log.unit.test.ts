import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { batchedLines, logOptions } from './log.ts';

const written: string[] = [];
const log = pino(logOptions('info'), batchedLines({ write: (text) => void written.push(text) }));
const messages = () => written.map((text) => text.match(/(?<="msg":")[^"]*/g));

test('lines of one turn are written together, in order, and an error at once with those before it', async () => {
  log.info('one');
  log.info('two');
  expect(messages()).toEqual([]);
  await nextTurn();
  expect(messages()).toEqual([['one', 'two']]);
  log.warn('three');
  log.error('four');
  expect(messages()).toEqual([
    ['one', 'two'],
    ['three', 'four'],
  ]);
  await nextTurn();
  expect(written).toHaveLength(2);
});

test('lines that are left when the process exits are written', () => {
  written.length = 0;
  log.info('last');
  process.emit('exit', 0);
  expect(messages()).toEqual([['last']]);
});
