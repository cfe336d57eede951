import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { vi } from 'vitest';
import { databaseTime } from '../src/platform/store/connection.ts';

/**
 * Returns the statements that the database receives while `work` runs, each as its action and tables: `lock contact`,
 * `insert into contact`. Nothing else may use the database meanwhile.
 */
export async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
  // Notifications of earlier events are sent some milliseconds later.
  await pause(200);
  const query = vi.spyOn(pg.Client.prototype, 'query');
  try {
    await work();
    const { calls, contexts } = query.mock;
    const sent = calls.map(([statement], index) => [contexts[index], summaryOf(textOf(statement))] as const);
    const earlier = new Set([...Map.groupBy(sent, ([client]) => client).values()].flatMap(ofEarlierTransaction));
    return sent.flatMap((one) => (earlier.has(one) || one[1] === '' ? [] : [one[1]]));
  } finally {
    query.mockRestore();
  }
}

/** What a connection receives first, if that ends a transaction: on a busy machine, one of before can still be under way. */
function ofEarlierTransaction<Sent extends readonly [unknown, string]>(sent: readonly Sent[]): readonly Sent[] {
  const [begins, ends] = ['begin', 'commit'].map((name) => sent.findIndex(([, summary]) => summary === name));
  const isEarlier = ends !== undefined && begins !== undefined && ends >= 0 && (begins < 0 || ends < begins);
  return isEarlier ? sent.slice(0, ends + 1) : [];
}

function textOf(statement: unknown): string {
  if (typeof statement === 'object' && statement !== null && 'text' in statement) return String(statement.text);
  return String(statement);
}

function summaryOf(text: string): string {
  const changes = [...text.matchAll(/\b(insert into|update|delete from) "?(?!set\b)(\w+)/g)];
  const inWords = changes.map(([, verb, name]) => `${verb} ${name}`).join(', ');
  // A whole transaction in one message.
  if (/^begin\b[\s\S]*\bcommit$/.test(text)) return inWords;
  // Binding a connection to its tenant, and reading the clock of a database, happen occasionally, independently of the work.
  if (text.includes('set_config') || text.includes(databaseTime)) return '';
  if (/^\s*(begin|commit|rollback|savepoint|release)/.test(text)) return text.trim().split(/[ ;]/)[0] ?? '';
  const isLock = /for (no key update|share) of/.test(text);
  const [, table = ''] = /from "(\w+)" "?e"?\s/.exec(text) ?? [];
  if (isLock) return `lock ${table}`;
  if (inWords !== '') return inWords;
  return `select ${table}`;
}
