import { _, type Ajv2020, type CodeKeywordDefinition, type KeywordCxt } from 'ajv/dist/2020.js';

/**
 * Replaces `maxLength` and `minLength` of an Ajv by keywords that count the characters of a text only if its number of code units
 * does not decide: a character has one or two. Its own count those of every text.
 */
export function addTextLengths(ajv: Ajv2020): void {
  for (const keyword of [maxLength, minLength]) {
    ajv.removeKeyword(keyword.keyword);
    ajv.addKeyword(keyword);
  }
}

const common = {
  type: 'string',
  schemaType: 'number',
  // Errors remain in the order in which Ajv has them.
  before: 'pattern',
} as const;
const params = ({ schema }: { schema: number }) => _`{limit: ${schema}}`;

const maxLength: CodeKeywordDefinition & { keyword: string } = {
  ...common,
  keyword: 'maxLength',
  error: { message: ({ schema }) => `must NOT have more than ${schema} characters`, params },
  code(cxt: KeywordCxt) {
    const { data, schema } = cxt;
    cxt.fail(_`${data}.length > ${schema} && ${counter(cxt)}(${data}) > ${schema}`);
  },
};

const minLength: CodeKeywordDefinition & { keyword: string } = {
  ...common,
  keyword: 'minLength',
  error: { message: ({ schema }) => `must NOT have fewer than ${schema} characters`, params },
  code(cxt: KeywordCxt) {
    const { data, schema } = cxt;
    const most = schema * 2;
    cxt.fail(_`${data}.length < ${most} && ${counter(cxt)}(${data}) < ${schema}`);
  },
};

function counter({ gen }: KeywordCxt) {
  return gen.scopeValue('func', { ref: charactersIn, key: charactersIn });
}

/** An unpaired surrogate is a character. */
function charactersIn(text: string): number {
  // Most texts have no pair. The iterator of a text creates a text for each character.
  let count = text.length;
  for (let index = 1; index < text.length; index += 1)
    if (isLow(text.charCodeAt(index)) && isHigh(text.charCodeAt(index - 1))) count -= 1;
  return count;
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
