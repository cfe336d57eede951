/** Diagrams of state machines, laid out by Graphviz when the reference is generated. The page needs no script to show them. */
import { Graphviz } from '@hpcc-js/wasm-graphviz';
import { inWords, operationsOf } from '../../openapi/rules/described.ts';
import type { StateMachine } from '../../packages/spec/src/index.ts';

const graphviz = await Graphviz.load();

const style = `
  graph [bgcolor=transparent, nodesep=0.5, ranksep=0.5, margin=0]
  node [shape=box, style=rounded, fontname=Helvetica, fontsize=13, width=1.2, height=0.42, margin="0.14,0.06"]
  edge [fontname=Helvetica, fontsize=12, arrowsize=0.7]`;

/** All transitions from one state to another are one arrow. */
interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly labels: readonly string[];
  /** Whether only the service causes the transition. */
  readonly byService: boolean;
}

/**
 * Renders a state machine as an SVG element on one line, in the color of the surrounding text. A dot leads to the initial
 * states, a double border marks final ones, and arrows of the service alone are dashed. The name makes its IDs unique in
 * a page.
 */
export function diagramOf(name: string, machine: StateMachine): string {
  const arrows = arrowsOf(machine);
  const omitted = new Set(omittedLabels(machine));
  const states = [...new Set([...machine.initial, ...arrows.flatMap(({ from, to }) => [from, to])])];
  const isFinal = (state: string) => !arrows.some((arrow) => arrow.from === state);
  const lines = [
    ...machine.initial.map((state) => `start_${state} [shape=point, width=0.12] start_${state} -> ${state}`),
    ...states.map((state) => `${state} [peripheries=${isFinal(state) ? 2 : 1}]`),
    ...arrows.map(
      ({ from, to, labels, byService }) =>
        `${from} -> ${to} [label="${labels
          .filter((label) => !omitted.has(label))
          .map((label) => `  ${label}  `)
          .join('\\n')}", style=${byService ? 'dashed' : 'solid'}]`,
    ),
  ];
  const drawing = graphviz.dot(`digraph {${style}\n${lines.join('\n')}\n}`, 'svg');
  return accessible(
    drawing,
    name,
    `${states.length} states and ${arrows.length} arrows. The table below lists the transitions.`,
  );
}

/** The usual operations of a machine, if the diagram omits them because several arrows would repeat them. */
export function omittedLabels(machine: StateMachine): readonly string[] {
  const isUsual = ({ labels }: Arrow) => machine.operations.every((operation) => labels.includes(operation));
  return arrowsOf(machine).filter(isUsual).length > 1 ? machine.operations : [];
}

function arrowsOf({ operations, transitions }: StateMachine): Arrow[] {
  const arrows = new Map<string, Arrow>();
  for (const transition of transitions) {
    const { to, events = [] } = transition;
    const callers = operationsOf(transition, operations);
    for (const from of transition.from) {
      const earlier = arrows.get(`${from} ${to}`);
      const labels = new Set([...(earlier?.labels ?? []), ...callers, ...events.map(inWords)]);
      const byService = callers.length === 0 && earlier?.byService !== false;
      arrows.set(`${from} ${to}`, { from, to, labels: [...labels], byService });
    }
  }
  return [...arrows.values()];
}

/** Replaces the titles of Graphviz by one title and a description. */
function accessible(drawing: string, name: string, description: string): string {
  const texts = `<title id="${name}-title">States of ${name}</title><desc id="${name}-description">${description}</desc>`;
  const attributes = `role="img" aria-labelledby="${name}-title" aria-describedby="${name}-description" fill="currentColor"`;
  return (
    drawing
      .slice(drawing.indexOf('<svg'))
      .replaceAll(/<title>.*?<\/title>|<!--.*?-->/gs, '')
      // The size of the page is limited: names that nothing refers to, and digits that nobody sees.
      .replaceAll(/ (id|class|xml:space|xmlns:xlink)="[^"]*"/g, '')
      .replaceAll(/ d="[^"]*"/g, (path) => rounded(path, 0))
      .replaceAll(/ (points|[xyc]+|r[xy])="[^"]*"/g, (place) => rounded(place, 1))
      .replaceAll('"black"', '"currentColor"')
      .replaceAll(/"(\d+)pt"/g, '"$1"')
      .replace(/<svg ([^>]*)>/, `<svg ${attributes} $1>${texts}`)
      .replaceAll(/\s*\n\s*/g, ' ')
      .trim()
  );
}

function rounded(text: string, places: number): string {
  return text.replaceAll(/-?\d+\.\d+/g, (number) => String(Number(Number(number).toFixed(places))));
}
