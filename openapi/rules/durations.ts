/**
 * The server reads durations from `x-durations`, and integrators read them in descriptions: both must agree. So each duration in words
 * is one of those, and each of those occurs in words.
 */
import type { Location, Oas3Rule, UserContext } from '@redocly/openapi-core';
import { isObject, type JsonObject, objectOf } from './contract.ts';
import { textsOf } from './plain-words.ts';

export const durations: Oas3Rule = () => {
  const all: { readonly text: string; readonly location: Location }[] = [];
  function collect(node: unknown, { location }: Pick<UserContext, 'location'>): void {
    // The times in an example are those of its story.
    if (!isObject(node) || 'value' in node) return;
    for (const [keys, text] of textsOf(node)) all.push({ text, location: location.child(keys) });
  }
  return {
    any: collect,
    ref: collect,
    Root: {
      leave(root: unknown, { location, report }: UserContext) {
        const declared = objectOf(objectOf(root)['x-durations']);
        for (const { text, location } of all)
          for (const message of undeclaredIn(text, declared)) report({ message, location });
        const stated = new Set(all.flatMap(({ text }) => durationsIn(text)));
        for (const [name, value] of Object.entries(declared))
          if ([value].flat().some((one) => !stated.has(String(one))))
            report({
              message: `State in a description: ${[value].flat().map(inWords).join(', ')}.`,
              location: location.child(['x-durations', name]),
            });
      },
    },
  };
};

/** One sentence for each duration in a text that is not declared, and for each list of pauses that is not the declared one. */
export function undeclaredIn(text: string, declared: JsonObject): string[] {
  const known = new Set(Object.values(declared).flat());
  const others = [...new Set(durationsIn(text))].filter((one) => !known.has(one));
  const retries = Object.values(declared)
    .filter((one) => Array.isArray(one))
    .map(String);
  const lists = [...text.replaceAll(/\s+/g, ' ').matchAll(/(?:\d+ (?:s|min|h)(?:, | and )?){3,}/g)].map(([list]) =>
    durationsIn(list),
  );
  return [
    ...others.map((one) => `Declare ${inWords(one)} in \`x-durations\` as ${one}, or correct the text.`),
    ...lists
      .filter((list) => !retries.includes(String(list)))
      .map((list) => `Declare the list ${list} in \`x-durations\`.`),
  ];
}

const numbers = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
const units: Readonly<Record<string, string>> = { s: 'seconds', min: 'minutes', h: 'hours' };
const duration = new RegExp(`(\\d[\\d,]*|\\b(?:${numbers.join('|')})) (seconds?|minutes?|hours?|days|s|min|h)\\b`, 'g');

/** The durations in a text, as in ISO 8601. */
function durationsIn(text: string): string[] {
  return [...text.replaceAll(/\s+/g, ' ').matchAll(duration)].map(([, count = '', unit = '']) => {
    const number = numbers.includes(count) ? numbers.indexOf(count) + 1 : Number(count.replaceAll(',', ''));
    const letter = (units[unit] ?? unit)[0]?.toUpperCase();
    return letter === 'D' ? `P${number}D` : `PT${number}${letter}`;
  });
}

/** `PT15S` as `15 seconds`. */
function inWords(duration: unknown): string {
  const [, count = '', letter = ''] = /^PT?(\d+)([DHMS])$/.exec(String(duration)) ?? [];
  const unit = { D: 'day', H: 'hour', M: 'minute', S: 'second' }[letter];
  return `${Number(count).toLocaleString('en')} ${unit}${count === '1' ? '' : 's'}`;
}
