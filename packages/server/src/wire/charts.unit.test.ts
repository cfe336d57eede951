import { expect, test } from 'vitest';
import { columnChart, rowChart } from './charts.ts';
import { html } from './html.ts';

const names = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  ']]><!-- & -->',
  '\u0001\u0008 control',
  '\u202E right to left',
  '👩‍👩‍👧 family',
  'x'.repeat(200),
  '',
  '',
];

test('charts show any name as text, without styles or scripts', async () => {
  const bars = names.map((name, index) => ({ name, value: index - 2, text: `${index - 2}.00` }));
  for (const chart of [await rowChart('Any <b>', bars), await columnChart('Any <b>', bars)]) {
    const { text } = html`${chart}`;
    expect(text).toMatch(/^<div class="chart" role="img" aria-label="Chart: Any &lt;b&gt;\. [^"]+"><svg /);
    expect(text).not.toMatch(/<script|<img|<!--|<style| style=|="NaN|Infinity/);
    expect(text).toContain('&lt;script&gt;');
  }
});

test.each([[[0, 0]], [[-5, -7]], [[1e12]], [[0.004, 0]]])('charts of %j have a finite size', async (values) => {
  const bars = values.map((value, index) => ({ name: `n${index}`, value, text: String(value) }));
  for (const chart of [await rowChart('Any', bars), await columnChart('Any', bars)]) {
    const { text } = html`${chart}`;
    expect(text.match(/<rect /g)?.length).toBe(values.length);
    expect(text).not.toMatch(/NaN|Infinity|(width|height)="-/);
  }
});

test('a row chart has room for the largest figure beside its bar', async () => {
  const figure = '9,999,999,999,999.99';
  const { text } = html`${await rowChart('Any', [{ name: 'a', value: 9_999_999_999_999.99, text: figure }])}`;
  const [, left] = new RegExp(`translate\\(([\\d.]+),[\\d.]+\\)"[^>]*>${figure}<`).exec(text) ?? [];
  // Digits of the font have 6 of the 400 units.
  expect(Number(left) + 6 + 6 * figure.length).toBeLessThanOrEqual(400);
});
