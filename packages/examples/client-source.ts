/** Resolves the client to its sources, so that the examples run without a build. An installed client needs nothing of this. */
import { registerHooks } from 'node:module';

const sources = new Map([
  ['@financial-automation/client', new URL('../client/src/index.ts', import.meta.url).href],
  ['@financial-automation/client/webhooks', new URL('../client/src/webhooks.ts', import.meta.url).href],
]);

registerHooks({
  resolve: (specifier, context, next) => next(sources.get(specifier) ?? specifier, context),
});
