/**
 * The client repeats a call whose response is lost, if `x-idempotent` allows it. An incorrect `true` would create two invoices
 * instead of one, so it must agree with the method (RFC 9110) and with the key.
 */
import { eachOperation, parameterNamed } from './contract.ts';

export const repetition = eachOperation((operation, report) => {
  const { place, method, id } = operation;
  const promise = place.get('x-idempotent');
  const where = promise ?? place;
  if (promise === undefined) {
    report(where, 'Declare in `x-idempotent` whether the call can be repeated: true, false, key or systemRef.');
    return;
  }
  const requiresKey = promise.value === 'key' || promise.value === 'systemRef';
  if (requiresKey && parameterNamed(operation, 'Idempotency-Key') === undefined) {
    report(where, 'Declare the header `Idempotency-Key`, with which `x-idempotent` allows to repeat the call.');
  }
  const isIdempotentByMethod = method === 'get' || method === 'put' || method === 'delete';
  if (isIdempotentByMethod && promise.value !== true) {
    report(where, `Set \`x-idempotent: true\`: a ${method.toUpperCase()} can be repeated.`);
  }
  if (method === 'post' && /^(list|search|lookup)[A-Z]/.test(id) && promise.value !== true) {
    report(where, 'Set `x-idempotent: true`: a read can be repeated.');
  }
  // A public operation creates no row: a second token does no harm.
  const isPublic = place.list('x-roles').some((role) => role.value === 'PUBLIC');
  if (method === 'post' && /^create[A-Z]/.test(id) && promise.value === true && !isPublic) {
    report(where, 'Set `x-idempotent: key` and declare the header `Idempotency-Key`: two calls would create two rows.');
  }
});
