/**
 * The client repeats a call by itself when an answer gets lost, if `x-idempotent` allows it. A wrong `true` makes two
 * invoices of one; so what the method promises (RFC 9110) and what the key promises have to agree with it.
 */
import { eachOperation, parameterNamed } from './contract.ts';

export const repetition = eachOperation((operation, report) => {
  const { place, method, id } = operation;
  const promise = place.get('x-idempotent');
  const where = promise ?? place;
  if (promise === undefined) {
    report(where, 'Say in `x-idempotent` whether the call may be repeated: true, false or key.');
    return;
  }
  const takesKey = parameterNamed(operation, 'Idempotency-Key') !== undefined;
  if (takesKey !== (promise.value === 'key')) {
    report(where, 'Take the header `Idempotency-Key` where `x-idempotent` is key, and only there.');
  }
  const isIdempotentByMethod = method === 'get' || method === 'put' || method === 'delete';
  if (isIdempotentByMethod && promise.value !== true) {
    report(where, `Say \`x-idempotent: true\`: a ${method.toUpperCase()} may be repeated.`);
  }
  if (method === 'post' && /^(list|search|lookup)[A-Z]/.test(id) && promise.value !== true) {
    report(where, 'Say `x-idempotent: true`: a read may be repeated.');
  }
  // Who is not signed in makes no row: a second token harms nobody.
  const isPublic = place.list('x-roles').some((role) => role.value === 'PUBLIC');
  if (method === 'post' && /^create[A-Z]/.test(id) && promise.value === true && !isPublic) {
    report(where, 'Say `x-idempotent: key` and take the header `Idempotency-Key`: two calls would make two rows.');
  }
});
