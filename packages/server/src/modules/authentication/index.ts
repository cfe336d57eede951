export { createToken } from './createToken.ts';
