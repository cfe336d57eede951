import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

const read = (name: string) => readFileSync(new URL(`../docker/${name}`, import.meta.url), 'utf8');

export const unit = read('financial-automation@.service');
export const image = read('Dockerfile');
export const ignored = read('Dockerfile.dockerignore');
export const proxy = read('nginx.conf');

export interface ComposedService {
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>;
  readonly env_file?: readonly { readonly path: string; readonly required: boolean }[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly image?: string;
  readonly networks?: { readonly default: { readonly ipv4_address: string } };
  readonly ports?: readonly string[];
  readonly stop_grace_period?: string;
  readonly volumes?: readonly string[];
}

export interface Composition {
  readonly services: Readonly<Record<string, ComposedService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/**
 * Reads `compose.yaml` as Compose does, with the variables of a shell.
 *
 * @throws Error with the sentence of a variable that is required and missing.
 */
export function readComposition(variables: Readonly<Record<string, string>>): Composition {
  const text = read('compose.yaml').replaceAll(
    /\$\{(\w+)(?::([?-])((?:[^{}"]|"[^"]*")*))?\}/g,
    (_, name: string, kind: string | undefined, words = '') => {
      const value = variables[name] ?? '';
      if (value === '' && kind === '?') throw new Error(words);
      return value === '' && kind === '-' ? words : value;
    },
  );
  return parse(text, { merge: true });
}

/** The words of an instruction of the image: `ENTRYPOINT` or `CMD`. */
export function imageCommand(instruction: 'ENTRYPOINT' | 'CMD' | 'HEALTHCHECK'): string[] {
  const found = [...image.matchAll(new RegExp(`^${instruction}\\b[^[]*(\\[.*\\])$`, 'gm'))].at(-1)?.[1];
  return JSON.parse(found ?? '[]');
}

/** The values of a key of the unit. */
export function unitValues(key: string): string[] {
  return [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value);
}
