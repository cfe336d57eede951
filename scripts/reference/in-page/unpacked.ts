import { decompress } from 'fzstd';

/** Stands for the address of the server in the packed contract, where the server cannot replace it. */
export const serverMark = 'https://this-server.invalid';

/** The contract that the page shows, from Zstandard in Base64, with the address of the server in its samples. */
export function unpacked(content: string, server: string): unknown {
  const bytes = decompress(Uint8Array.from(atob(content), (character) => character.charCodeAt(0)));
  return JSON.parse(new TextDecoder().decode(bytes).replaceAll(serverMark, server));
}
