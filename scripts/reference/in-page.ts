/** The page around Redoc's: its header, search and script. */
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import type { SearchEntry } from './in-page/find.ts';

/** The script of the page as one text, which can stand in a `<script>` element. */
export async function pageScript(): Promise<string> {
  const build = await rolldown({ input: fileURLToPath(import.meta.resolve('./in-page/main.ts')), platform: 'browser' });
  const { output } = await build.generate({ format: 'iife', minify: true });
  await build.close();
  return inElement(output[0].code);
}

/** The entries of the search as JSON, which can stand in a `<script>` element of a Handlebars template. */
export function searchData(entries: readonly SearchEntry[]): string {
  return inElement(JSON.stringify(entries)).replaceAll('{{', '{\\u007b');
}

function inElement(text: string): string {
  return text.replaceAll('</', '<\\/');
}
