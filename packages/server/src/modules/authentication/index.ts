export { createToken } from './createToken.ts';
export { getMe } from './getMe.ts';
