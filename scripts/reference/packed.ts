/**
 * The contract inside the page. Its parts resemble each other over distances that gzip does not see, so Zstandard, whose window holds all of
 * it, makes two thirds of the size that gzip makes. Browsers cannot read it by themselves: `in-page/unpacked.ts` does.
 */
import { constants, zstdCompressSync } from 'node:zlib';
import { sampleServer } from '../../packages/server/src/wire/sample-server.ts';
import { serverMark, unpacked } from './in-page/unpacked.ts';

const embedded = /const __redoc_definition = (.*);$/m;
const packed = /const __redoc_definition = unpacked\("([^"]*)", "([^"]*)"\);$/m;

/** The second argument is the address of the samples, which a server replaces by its own. */
export function withPackedContract(page: string): string {
  const [, text] = embedded.exec(page) ?? [];
  if (text === undefined) throw new Error('Redoc no longer embeds the contract. Change scripts/reference/packed.ts.');
  const params = { [constants.ZSTD_c_compressionLevel]: 19, [constants.ZSTD_c_windowLog]: 23 };
  const content = zstdCompressSync(text.replaceAll(sampleServer, serverMark), { params }).toString('base64');
  return page.replace(embedded, () => `const __redoc_definition = unpacked("${content}", "${sampleServer}");`);
}

/** The contract that a page shows. */
export function contractIn(page: string): unknown {
  const [, content = '', server = ''] = packed.exec(page) ?? [];
  return unpacked(content, server);
}
