import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';

/**
 * Evaluates the part of PromQL that the alerts use, over scrapes of `/metrics`. Whatever it does not know is an error. Unlike
 * Prometheus, it does not extrapolate an increase to the ends of its period.
 */

interface Sample {
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}
type Vector = readonly Sample[];

/** All series at a time, in seconds. */
export interface Scrape {
  readonly at: number;
  readonly samples: Vector;
}

const nameLabel = '__name__';

/** Parses what a target exposes. Prometheus renames labels of the target that it has itself. */
export function parseExposition(text: string, job: string, instance: string): Vector {
  return [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name = '', pairs = '', value = '']) => {
    const own = [...pairs.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', text = '']) => [
      label === 'job' || label === 'instance' ? `exported_${label}` : label,
      text,
    ]);
    return {
      labels: new Map([[nameLabel, name], ...own, ['job', job], ['instance', instance]] as [string, string][]),
      value: value === '+Inf' ? Infinity : Number(value),
    };
  });
}

/** The result of an expression at a time: one sample for each alert that fires. */
export function evaluate(expr: string, scrapes: readonly Scrape[], at: number): Vector {
  const seen = scrapes.filter((scrape) => scrape.at <= at);
  const text = (node: SyntaxNode) => expr.slice(node.from, node.to);
  const result = resultOf(parser.parse(expr).topNode);
  if (typeof result === 'number') throw new Error(`${expr} is a number, not a condition.`);
  return result;

  function resultOf(node: SyntaxNode): Vector | number {
    switch (node.name) {
      case 'PromQL':
      case 'ParenExpr':
        return resultOf(childrenOf(node)[0] ?? node);
      case 'NumberDurationLiteral':
        return Number(text(node));
      case 'VectorSelector':
        return selected(node, seen.at(-1)?.samples ?? []);
      case 'FunctionCall':
        return called(node);
      case 'AggregateExpr':
        return aggregated(node);
      case 'BinaryExpr':
        return combined(node);
      default:
        throw new Error(`${node.name} is not evaluated: ${text(node)}`);
    }
  }

  function vectorOf(node: SyntaxNode | undefined): Vector {
    const value = node === undefined ? 0 : resultOf(node);
    if (typeof value === 'number') throw new Error(`${expr} has a number in the place of series.`);
    return value;
  }

  function selected(node: SyntaxNode, samples: Vector): Vector {
    const name = node.getChild('Identifier');
    const matchers = node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? [];
    return samples.filter(
      ({ labels }) =>
        name !== null && labels.get(nameLabel) === text(name) && matchers.every((one) => matches(text(one), labels)),
    );
  }

  /** The first and the last value of each series in a period, and how much it increased, without its resets. */
  function increases(node: SyntaxNode | undefined): { labels: Sample['labels']; increase: number; seconds: number }[] {
    if (node?.name !== 'MatrixSelector') throw new Error(`${expr} has no period.`);
    const [selector, duration] = childrenOf(node);
    if (selector === undefined || duration === undefined) throw new Error(`${text(node)} has no period.`);
    const from = at - secondsOf(text(duration));
    const series = new Map<
      string,
      { labels: Sample['labels']; increase: number; first: number; last: number; value: number }
    >();
    for (const scrape of seen.filter((one) => one.at > from))
      for (const { labels, value } of selected(selector, scrape.samples)) {
        const key = keyOf(labels);
        const before = series.get(key);
        const more = before === undefined ? 0 : value < before.value ? value : value - before.value;
        const first = before?.first ?? scrape.at;
        series.set(key, { labels, increase: (before?.increase ?? 0) + more, first, last: scrape.at, value });
      }
    return [...series.values()].flatMap(({ labels, increase, first, last }) =>
      last === first ? [] : [{ labels: unnamed(labels), increase, seconds: last - first }],
    );
  }

  function called(node: SyntaxNode): Vector | number {
    const name = node.getChild('FunctionIdentifier');
    const [first, second] = childrenOf(node.getChild('FunctionCallBody'));
    switch (name === null ? '' : text(name)) {
      case 'time':
        return at;
      case 'rate':
        return increases(first).map(({ labels, increase, seconds }) => ({ labels, value: increase / seconds }));
      case 'increase':
        return increases(first).map(({ labels, increase }) => ({ labels, value: increase }));
      case 'abs':
        return vectorOf(first).map(({ labels, value }) => ({ labels: unnamed(labels), value: Math.abs(value) }));
      case 'absent':
        return vectorOf(first).length === 0 ? [{ labels: new Map(), value: 1 }] : [];
      case 'histogram_quantile':
        return quantiles(Number(first === undefined ? '' : text(first)), vectorOf(second));
      default:
        throw new Error(`The function of ${text(node)} is not evaluated.`);
    }
  }

  function aggregated(node: SyntaxNode): Vector {
    const operator = node.getChild('AggregateOp');
    const by = node.getChild('AggregateModifier');
    if (by !== null && !text(by).startsWith('by')) throw new Error(`${text(by)} is not evaluated.`);
    const names = by?.getChild('GroupingLabels')?.getChildren('LabelName').map(text) ?? [];
    const groups = Map.groupBy(vectorOf(childrenOf(node.getChild('FunctionCallBody'))[0]), ({ labels }) =>
      keyOf(only(labels, names)),
    );
    const reduce = reducers[operator === null ? '' : text(operator)];
    if (reduce === undefined) throw new Error(`${text(node)} is not evaluated.`);
    return [...groups.values()].map((group) => ({
      labels: only(group[0]?.labels ?? new Map(), names),
      value: reduce(group.map(({ value }) => value)),
    }));
  }

  function combined(node: SyntaxNode): Vector | number {
    const [left, operator, right] = childrenOf(node);
    if (
      left === undefined ||
      operator === undefined ||
      right === undefined ||
      operator.name === 'MatchingModifierClause'
    )
      throw new Error(`${text(node)} is not evaluated.`);
    const [one, other] = [resultOf(left), resultOf(right)];
    if (operator.name === 'Or') {
      if (typeof one === 'number' || typeof other === 'number') throw new Error(`${text(node)} has a number.`);
      const known = new Set(one.map(({ labels }) => keyOf(unnamed(labels))));
      return [...one, ...other.filter(({ labels }) => !known.has(keyOf(unnamed(labels))))];
    }
    const compute = arithmetic[text(operator)];
    const compare = comparisons[text(operator)];
    if (typeof one === 'number' && typeof other === 'number' && compute !== undefined) return compute(one, other);
    return pairs(one, other).flatMap(({ labels, a, b, kept }) => {
      if (compute !== undefined) return [{ labels: unnamed(labels), value: compute(a, b) }];
      if (compare === undefined) throw new Error(`${text(operator)} is not evaluated.`);
      return compare(a, b) ? [{ labels, value: kept }] : [];
    });
  }
}

function pairs(one: Vector | number, other: Vector | number) {
  if (typeof other === 'number') {
    if (typeof one === 'number') throw new Error('Two numbers are compared.');
    return one.map(({ labels, value }) => ({ labels, a: value, b: other, kept: value }));
  }
  if (typeof one === 'number') return other.map(({ labels, value }) => ({ labels, a: one, b: value, kept: value }));
  const found = new Map(other.map(({ labels, value }) => [keyOf(unnamed(labels)), value]));
  return one.flatMap(({ labels, value }) => {
    const b = found.get(keyOf(unnamed(labels)));
    return b === undefined ? [] : [{ labels, a: value, b, kept: value }];
  });
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const reducers: Readonly<Record<string, (values: readonly number[]) => number>> = {
  sum,
  max: (values) => Math.max(...values),
  min: (values) => Math.min(...values),
};
const arithmetic: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
};
const comparisons: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '>': (a, b) => a > b,
  '<': (a, b) => a < b,
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
};

function childrenOf(node: SyntaxNode | null): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node?.firstChild ?? null; child !== null; child = child.nextSibling) children.push(child);
  return children;
}

/** `outcome!="SUCCESS"` */
function matches(matcher: string, labels: Sample['labels']): boolean {
  const [, label = '', operator = '', wanted = ''] = /^(\w+)\s*(=~|!~|!=|=)\s*"(.*)"$/s.exec(matcher) ?? [];
  const value = labels.get(label) ?? '';
  switch (operator) {
    case '=':
      return value === wanted;
    case '!=':
      return value !== wanted;
    case '=~':
      return new RegExp(`^(?:${wanted})$`).test(value);
    case '!~':
      return !new RegExp(`^(?:${wanted})$`).test(value);
    default:
      throw new Error(`${matcher} is not evaluated.`);
  }
}

/** `5m` */
export function secondsOf(duration: string): number {
  const [, number = '', unit = ''] = /^(\d+)([smhd])$/.exec(duration) ?? [];
  const seconds = { s: 1, m: 60, h: 3_600, d: 86_400 }[unit];
  if (seconds === undefined) throw new Error(`${duration} is not evaluated.`);
  return Number(number) * seconds;
}

/** Linear within a bucket, as in Prometheus. */
function quantiles(share: number, buckets: Vector): Vector {
  const groups = Map.groupBy(buckets, ({ labels }) => keyOf(without(unnamed(labels), 'le')));
  return [...groups.values()].flatMap((group) => {
    const sorted = group
      .map(({ labels, value }) => ({ le: Number(labels.get('le')?.replace('+Inf', 'Infinity')), count: value }))
      .sort((a, b) => a.le - b.le);
    const rank = share * (sorted.at(-1)?.count ?? 0);
    const index = sorted.findIndex(({ count }) => count >= rank);
    const [bucket, before] = [sorted[index], sorted[index - 1]];
    if (bucket === undefined || rank === 0) return [];
    const [start, counted] = [before?.le ?? 0, before?.count ?? 0];
    const inside = ((rank - counted) / (bucket.count - counted)) * (bucket.le - start);
    const labels = without(unnamed(group[0]?.labels ?? new Map()), 'le');
    return [{ labels, value: bucket.le === Infinity ? start : start + inside }];
  });
}

function keyOf(labels: Sample['labels']): string {
  return JSON.stringify([...labels].sort(([one], [other]) => (one < other ? -1 : 1)));
}

function without(labels: Sample['labels'], name: string): Sample['labels'] {
  return new Map([...labels].filter(([label]) => label !== name));
}

function unnamed(labels: Sample['labels']): Sample['labels'] {
  return without(labels, nameLabel);
}

function only(labels: Sample['labels'], names: readonly string[]): Sample['labels'] {
  return new Map([...labels].filter(([label]) => names.includes(label)));
}
