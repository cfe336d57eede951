/**
 * Escapes characters from the server that could control the terminal, hide text or change its direction; the result is
 * one line.
 */
export function visible(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
    /[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]/g,
    (character) => (character === '\n' ? '↵' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}
