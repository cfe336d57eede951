import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createHistogram } from './histogram.ts';

test('a scrape has every value, by labels', async () => {
  const registry = new Registry();
  const seriesOf = createHistogram({
    name: 'duration',
    help: 'Durations.',
    labelNames: ['operation'],
    buckets: [1, 2],
    registers: [registry],
  });
  const [read, write] = [seriesOf('read'), seriesOf('write')];
  for (let index = 0; index < 250; index++) read(index % 2 === 0 ? 1 : 3);
  write(2);
  const lines = (await registry.metrics()).split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      'duration_bucket{le="1",operation="read"} 125',
      'duration_bucket{le="2",operation="read"} 125',
      'duration_bucket{le="+Inf",operation="read"} 250',
      'duration_sum{operation="read"} 500',
      'duration_count{operation="write"} 1',
    ]),
  );
  read(1);
  expect(await registry.metrics()).toContain('duration_count{operation="read"} 251\n');
});
