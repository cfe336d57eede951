import { isAbsolute, relative } from 'node:path';
import type { Place } from '../document/document.ts';

/** Escapes characters that could control the terminal, hide text or change its direction; one line results. */
export function visible(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
    /[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]/g,
    (character) => (character === '\n' ? '↵' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

/** `0 s`, `41 s`, `2 min 5 s`. */
export function durationText(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** The path of a file below the working directory; unchanged otherwise. */
export function fileOf(file: string): string {
  if (!isAbsolute(file)) return file;
  const path = relative(process.cwd(), file);
  return path.startsWith('..') || isAbsolute(path) ? file : path.replaceAll('\\', '/');
}

/** `openapi/schemas/client.yaml:12`, or a JSON pointer where the file has one line. */
export function placeText({ file, line, pointer }: Place): string {
  return line === 1 && pointer.startsWith('#/') ? `${fileOf(file)}${pointer}` : `${fileOf(file)}:${line}`;
}
