import type { Data, PlotOptions } from '@observablehq/plot';
import { LRUCache } from 'lru-cache';
import { Html, type HtmlContent, html } from './html.ts';

/** A bar: exact figures are in the table behind the chart, so a floating-point number is enough to draw it. */
export interface Bar {
  readonly name: string;
  readonly value: number;
  /** The figure in words, shown where the pointer rests. */
  readonly text: string;
  /** Of two bars with one name, the one that is compared with. */
  readonly isSecond?: boolean;
}

type Options = (plot: typeof import('@observablehq/plot')) => PlotOptions;

const width = 400;
const maxNameLength = 24;
const digitWidth = 6;
const fillOf = ({ isSecond }: Bar) => (isSecond === true ? 'var(--field)' : 'var(--accent)');

/** From zero to what is farthest from it, on both sides; something if all bars are zero. */
function domainOf(bars: readonly Bar[]): [number, number] {
  const values = bars.map(({ value }) => value);
  const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)];
  return least === most ? [0, 1] : [least, most];
}

/** Vertical bars in their order; two bars with one name are drawn beside each other. */
export function columnChart(title: string, bars: readonly Bar[]): Promise<HtmlContent> {
  return chart(title, bars, ({ barY, ruleY, axisFx }) => ({
    height: 220,
    marginLeft: 48,
    marginRight: 4,
    x: { axis: null, padding: 0.1, reverse: true },
    fx: { domain: [...new Set(bars.map(({ name }) => name))], padding: 0.2 },
    y: { domain: domainOf(bars), nice: true, label: null, grid: true, ticks: 5, tickFormat: '~s' },
    marks: [
      axisFx({ label: null, anchor: 'bottom' }),
      barY(bars as Data, {
        fx: 'name',
        x: ({ isSecond = false }: Bar) => isSecond,
        y: 'value',
        fill: fillOf,
        title: ({ name, text }: Bar) => `${name}: ${text}`,
      }),
      ruleY([0]),
    ],
  }));
}

/** Horizontal bars, for names that need room. */
export function rowChart(title: string, bars: readonly Bar[]): Promise<HtmlContent> {
  // Two clients can have one name.
  const positions = bars.map((_bar, index) => index);
  const nameAt = (index: number) => {
    const name = [...(bars[index]?.name ?? '')];
    return name.length > maxNameLength ? `${name.slice(0, maxNameLength - 1).join('')}…` : name.join('');
  };
  return chart(title, bars, ({ barX, ruleX, text }) => ({
    height: 28 * bars.length + 8,
    marginTop: 4,
    marginBottom: 4,
    marginLeft: 156,
    marginRight: Math.max(84, ...bars.map(({ text: words }) => digitWidth * words.length + 12)),
    x: { axis: null, domain: domainOf(bars) },
    y: { domain: positions, label: null, tickFormat: nameAt, tickSize: 0, padding: 0.3 },
    marks: [
      barX(bars as Data, {
        x: 'value',
        y: positions,
        fill: fillOf,
        title: ({ name, text: words }: Bar) => `${name}: ${words}`,
      }),
      text(bars as Data, { x: 'value', y: positions, text: 'text', textAnchor: 'start', dx: 6 }),
      ruleX([0]),
    ],
  }));
}

/** Charts by what they show: drawing one takes longer than reading its figures. Each is about 8 kB. */
const drawn = new LRUCache<string, Html>({ max: 200 });

/** Draws a chart, or returns it as it was drawn before. */
async function chart(title: string, bars: readonly Bar[], optionsFor: Options): Promise<HtmlContent> {
  const key = JSON.stringify([title, bars]);
  const svg = drawn.get(key) ?? (await draw(optionsFor));
  drawn.set(key, svg);
  return html`<div class="chart" role="img" aria-label="Chart: ${title}. The table below has its figures.">${svg}</div>`;
}

/** Its libraries are loaded with the first chart: together they need 47 MB. */
async function draw(optionsFor: Options): Promise<Html> {
  const [plot, { DOMImplementation, XMLSerializer }] = await Promise.all([
    import('@observablehq/plot'),
    import('@xmldom/xmldom'),
  ]);
  const document = new DOMImplementation().createDocument('http://www.w3.org/1999/xhtml', 'html');
  // The types of the document are not those of a browser; Plot uses only what it has.
  const svg = plot.plot({ ...optionsFor(plot), document: Object(document), width });
  // The page allows no styles but its own, and the whole chart has one label.
  for (const style of [...svg.getElementsByTagName('style')]) style.parentNode?.removeChild(style);
  for (const group of [...svg.getElementsByTagName('g')]) group.removeAttribute('aria-label');
  return new Html(new XMLSerializer().serializeToString(Object(svg)));
}
