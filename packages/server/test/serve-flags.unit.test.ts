import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { serveFlags } from './serve-flags.ts';

test('the image starts Node with the options of pnpm serve', () => {
  const dockerfile = readFileSync(new URL('../docker/Dockerfile', import.meta.url), 'utf8');
  const [, command = ''] = /^ENTRYPOINT (.*)$/m.exec(dockerfile) ?? [];
  expect(JSON.parse(command)).toEqual(['node', ...serveFlags, 'packages/server/dist/cli.js']);
});
