/** Embeds a monospace font in the page: not every machine has one, and the page loads nothing from other hosts. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const file = import.meta.resolve('@fontsource/source-code-pro/files/source-code-pro-latin-400-normal.woff2');

/** CSS rules that apply the font to all code. Redoc reads the code font from the variable. */
export async function codeFont(): Promise<string> {
  const font = await readFile(fileURLToPath(file), 'base64');
  return `
    @font-face { font-family: 'Reference Code'; src: url(data:font/woff2;base64,${font}) format('woff2'); }
    :root { --font-family-monospaced: 'Reference Code', ui-monospace, monospace !important; }`;
}
