/** Programs of ten lines for what integrators do most, and what each prints for the demo tenant. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const outputs: Readonly<Record<string, string>> = {
  'who-am-i': 'demo true hartwell',
  'read-by-own-key': 'Client crm-88213',
  'find-by-key-of-another-system': 'crm-88213',
  'choose-fields-and-names': 'id,name,with Harbor & Pine LLC Dana Whitfield',
  'group-by-a-related-column': 'C_CORP true\nLLC true',
  'keep-and-find-metadata': 'crm-88213',
  'upload-a-file': 'AVAILABLE 20',
  'rotate-the-secret': 'true true',
  'subscribe-and-send-a-test-event': 'SUCCESS received',
  'write-a-thousand-records': '1000 0 1000',
  'follow-from-now': 'Client UPDATE',
  'keep-a-copy': 'true true',
};

export const fileOf = (name: string) => fileURLToPath(new URL(`ten-lines/${name}.ts`, import.meta.url));

/** Lines that are not empty. */
export function linesOf(name: string): number {
  return readFileSync(fileOf(name), 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '').length;
}
