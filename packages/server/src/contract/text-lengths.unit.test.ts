import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { addTextLengths } from './text-lengths.ts';

const pieces = ['', 'a', 'é', '😀', '\ud83d', '\ude00', 'ab', '😀😀', 'a😀b'];
const texts = pieces.flatMap((one) => pieces.flatMap((two) => pieces.map((three) => `${one}${two}${three}`)));
const limits = [0, 1, 2, 3, 4, 5, 6];

test.each(['maxLength', 'minLength'])('%s has the errors of the general keyword, in the same order', (keyword) => {
  const general = new Ajv2020({ allErrors: true, verbose: true });
  const quick = new Ajv2020({ allErrors: true, verbose: true });
  addTextLengths(quick);
  for (const limit of limits) {
    const schema = { type: 'string', [keyword]: limit, pattern: 'b$' };
    const [expected, actual] = [general.compile(schema), quick.compile(schema)];
    const errorsOf = (validate: typeof actual, text: string) => (validate(text) ? [] : validate.errors);
    for (const text of texts) expect(errorsOf(actual, text)).toEqual(errorsOf(expected, text));
  }
});
