/** Sessions of people in a browser: how they begin, by an API key or at an identity provider, who they are of, and how they end. */
export { type SignedInUser, SignInPages } from './sign-in-pages.ts';
