import { describe, expect, it } from 'vitest';
import { additional, distinct, rowOf } from './count.ts';

const run = { reports: ['GET /a is wrong', 'GET /a is wrong'], reached: 3, requests: 40, seconds: 1.6 };
const id = (digit: number) => `0f000000-0000-4000-8000-00000000000${digit}`;

describe('reports of a tool', () => {
  it('are the same if only their IDs, ports, times or positions differ', () => {
    const reports = [
      `http://127.0.0.1:4010/a/${id(1)} items[2].price at 2026-01-01T00:00:00.000Z`,
      `http://127.0.0.1:5020/a/${id(2)} items[3].price at 2026-02-01T00:00:00.000Z`,
    ];
    expect(distinct(reports).size).toBe(1);
  });

  it('differ if a status or a property differs', () => {
    expect(distinct(['200 without total', '500 without total', '200 without items']).size).toBe(3);
  });

  it('catch a drift only if no run of the correct server has them', () => {
    const known = distinct(run.reports);
    expect(additional(run.reports, known)).toEqual([]);
    expect(additional([...run.reports, 'GET /b is wrong'], known)).toEqual(['GET /b is wrong']);
  });
});

describe('the row of a tool', () => {
  it('counts the false alarms of all runs of the correct server, and the cost of the first', () => {
    const correct = [run, { ...run, reports: ['GET /c is wrong'], requests: 50 }] as const;
    const labels = { tool: 'dredd', server: 'fleet', command: 'run tools dredd' };
    expect(rowOf(labels, { correct, caught: [true, false, true], operations: 20 })).toBe(
      '| dredd | fleet | 2 of 3 | 2 | 3 of 20 | 40 | 2 | `run tools dredd` |',
    );
  });
});
