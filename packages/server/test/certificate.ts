import { generate } from 'selfsigned';

/** Creates a key and a self-signed certificate, for names such as `hooks.example.com`. */
export async function selfSigned(...names: string[]): Promise<{ readonly key: string; readonly cert: string }> {
  const altNames = names.map((value) => ({ type: 2, value }) as const);
  const { private: key, cert } = await generate([{ name: 'commonName', value: names[0] }], {
    keyType: 'ec',
    extensions: [{ name: 'subjectAltName', altNames }],
  });
  return { key, cert };
}
