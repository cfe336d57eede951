/**
 * Integrators read the contract, and many of them are not native speakers: the same thing has the same plain word everywhere. Each
 * entry is a word that the contract does not use, and what to write instead. Text in backticks is code.
 */
import type { Oas3Rule, UserContext } from '@redocly/openapi-core';
import { isObject, type JsonObject, objectOf } from './contract.ts';

export const instead: readonly (readonly [pattern: RegExp, advice: string])[] = [
  [/\banswer(s|ed|ing)?\b/i, 'Write "return" or "response".'],
  [/\b(make|makes|made|making)\b/i, 'Write "create", or a verb for what happens.'],
  [/\b(stands?|stood)\b/i, 'Write "appears in" or "is".'],
  [/\brefus(e|es|ed|al)\b/i, 'Write "reject".'],
  [/\bbesides?\b/i, 'Write "also" or "in addition to".'],
  [/\b(tell|tells|told)\b/i, 'Write "report", "describe" or "list".'],
  [/\b(say|says|said)\b/i, 'Write "describe", "specify" or "has".'],
  [/\b(nobody|somebody|whoever)\b/i, 'Name the user, the caller or the record.'],
  [/\b(give|gives|given|gave|giving)\b/i, 'Write "provide", "send" or "return".'],
  [/\b(asks?|asked) for\b/i, 'Write "request".'],
  [/\bwanted\b/i, 'Write "requested" or "required".'],
  [/\bwrong\b/i, 'Write "invalid" or "incorrect".'],
  [
    /\b(takes?|taken|took) (?!effect|longer|place|the same time|time|too long)/i,
    'Write "accepts", "requires" or "uses".',
  ],
  [/\bis taken\b/i, 'Write "exists" or "is reused".'],
  [/\b(is|are) to be\b/i, 'Write "must" or "can".'],
  [/\b(what|that which) (is|are|was|were)\b/i, 'Name it with a noun.'],
  [/\bholds?\b/i, 'Write "has", "contains" or "applies".'],
  [/\bleft out\b/i, 'Write "omitted".'],
  [/\bany ?more\b/i, 'Write "no longer".'],
  [/\b(side by side|one relation further|such thing|for ever|in words)\b/i, 'Use the standard term.'],
  [/\breckon(s|ed)?\b/i, 'Write "calculate".'],
  [/\blook-ups?\b/i, 'Write "lookup".'],
  [/\be-mails?\b/i, 'Write "email".'],
  [/(?<![\w-])ids?\b/, 'Write "ID".'],
  [/\bour fault\b/i, 'Write "an error of the service".'],
];

export const plainWords: Oas3Rule = () => {
  function check(node: unknown, { location, report }: Pick<UserContext, 'location' | 'report'>): void {
    if (!isObject(node)) return;
    for (const [keys, text] of textsOf(node)) {
      for (const message of findings(text)) report({ message, location: location.child(keys) });
    }
  }
  // A reference is visited apart from the schema that it leads to, and can have a description of its own.
  return { any: check, ref: check };
};

/** One sentence for each word of the text that has a plainer one. */
export function findings(text: string): string[] {
  const prose = text.replace(/```[\s\S]*?```|`[^`]*`|\]\([^)]*\)/g, '');
  return instead.flatMap(([pattern, advice]) => {
    const found = pattern.exec(prose)?.[0].trim();
    return found === undefined ? [] : [`Do not write "${found}". ${advice}`];
  });
}

type Text = [keys: string[], text: string];

/** The texts that a node of the contract has itself. */
export function textsOf(node: JsonObject): Text[] {
  const machine = objectOf(node['x-state-machine']);
  const conditions = Object.entries(objectOf(machine.conditions));
  const candidates: [keys: string[], text: unknown][] = [
    [['summary'], node.summary],
    [['description'], node.description],
    [['x-on-create', 'rule'], objectOf(node['x-on-create']).rule],
    ...conditions.flatMap(([name, one]): [string[], unknown][] => [
      [['x-state-machine', 'conditions', name], one],
      [['x-state-machine', 'conditions', name, 'remedy'], objectOf(one).remedy],
    ]),
    ...detailsIn(node.value, ['value']),
  ];
  return candidates.flatMap(([keys, text]): Text[] => (typeof text === 'string' ? [[keys, text]] : []));
}

/** The details of problems and of failed items in an example. */
function detailsIn(value: unknown, keys: string[]): Text[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => detailsIn(item, [...keys, String(index)]));
  if (!isObject(value)) return [];
  const { code, detail } = value;
  const own: Text[] = typeof code === 'string' && typeof detail === 'string' ? [[[...keys, 'detail'], detail]] : [];
  return [...own, ...Object.entries(value).flatMap(([key, child]) => detailsIn(child, [...keys, key]))];
}
