import type { JsonObject } from '../kit/contract.ts';
import type { Call, Result } from '../kit/serve.ts';
import type { Caller } from './tools.ts';

const words: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  en: { red: 'red', green: 'green', blue: 'blue' },
  de: { red: 'rot', green: 'grün', blue: 'blau' },
};
const colours = ['red', 'green', 'blue'];
const litresPerGallon = 3.785411784;

/** Every shelf has the same boxes: each number in every color. */
export function findBoxes({ values }: Call<Caller>): Result {
  const { shelf, colours: expected, span } = values.path as { shelf: string; colours: string[]; span: Span };
  const language = String(values.cookie.language);
  const units = String(values.header['X-Units']);
  const where = (values.query.where ?? {}) as JsonObject;
  const boxes = numbers(span)
    .map((number) => boxAt(number, units, language))
    .filter((box) => expected.includes(box.colour) && fits(box, where));
  return {
    status: 200,
    headers: { 'content-language': language },
    body: { shelf, colours: expected, span, units, boxes },
  };
}

interface Span extends JsonObject {
  from: number;
  to: number;
}

function numbers({ from, to }: Span): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
}

function boxAt(number: number, units: string, language: string) {
  const colour = colours[number % 3] ?? 'red';
  const volume = units === 'gallon' ? number / litresPerGallon : number;
  return { number, colour, volume, locked: number % 2 === 0, word: words[language]?.[colour] ?? colour };
}

function fits(box: { volume: number; locked: boolean }, { minVolume, locked }: JsonObject): boolean {
  return (typeof minVolume !== 'number' || box.volume >= minVolume) && (locked === undefined || box.locked === locked);
}
