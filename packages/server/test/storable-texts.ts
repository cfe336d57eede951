import fc from 'fast-check';
import { faultOf } from '../src/wire/body.ts';

/** Texts of any characters that the API accepts in a body. */
export function storableTexts(maxLength: number): fc.Arbitrary<string> {
  return fc.string({ unit: 'binary', maxLength }).filter((text) => faultOf(text) === undefined);
}
