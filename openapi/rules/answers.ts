/**
 * A caller reads every answer in the same way: what it is (JSON, or a problem document), which call it belongs to, what
 * is left of the limit, and, where there is more to say, the one header that says it.
 */
import { eachOperation, isPublic, type Operation, type Place, parameterNamed } from './contract.ts';
import { contentOf, isEntity, partsOf, propertiesOf } from './schemas.ts';

const always = ['X-Request-Id'];
const ofTheLimit = ['RateLimit', 'RateLimit-Policy'];
/** Where a call counted against the limit; what is refused earlier, or fails, does not know what is left of it. */
const counted = ['400', '403', '404', '409', '412', '413', '415', '429'];
const onStatus: Record<string, string[]> = {
  '201': ['Location'],
  '202': ['Location'],
  '401': ['WWW-Authenticate'],
  '429': ['Retry-After'],
  '503': ['Retry-After'],
};

export const answers = eachOperation((operation, report) => {
  for (const [status, response] of operation.responses) {
    const isSuccess = status.startsWith('2');
    const wanted = [
      ...always,
      ...(isSuccess || counted.includes(status) ? ofTheLimit : []),
      ...(isSuccess ? onThis(operation, response) : []),
      ...(onStatus[status] ?? []),
    ];
    const headers = response.get('headers')?.keys() ?? [];
    for (const header of wanted) {
      if (!headers.includes(header)) report(response.home, `Answer the header ${header} with ${status}.`);
    }
    if (headers.includes('ETag') && !contentOf(response).some(isEntity)) {
      report(response.home, 'Leave out the header ETag: it is the version of one row, and this answer is not a row.');
    }
    if (headers.includes('Idempotency-Replayed') && !wanted.includes('Idempotency-Replayed')) {
      report(response.home, 'Leave out the header Idempotency-Replayed: the operation takes no key.');
    }

    const media = isSuccess ? 'application/json' : 'application/problem+json';
    const content = response.get('content')?.keys() ?? [];
    if (content.length !== 1 || content[0] !== media) {
      report(response.home, `Answer ${status} as ${media}, and as nothing else.`);
    }
    for (const [, media] of response.map('content')) {
      const schema = media.get('schema');
      if (schema === undefined) report(media, 'Give the answer a `schema`.');
      else if (!isSuccess) {
        if (!partsOf(schema).some((part) => part.name === 'Problem')) {
          report(response.home, 'Build the schema of an error on `Problem`.');
        }
        const says = propertiesOf(schema)
          .get('status')
          ?.some((place) => place.get('const')?.value === Number(status));
        if (!says) report(response.home, `Fix \`status\` in the problem to ${status}.`);
      }
    }
  }
});

/** The headers that a success has because of what it answers. */
function onThis(operation: Operation, response: Place): string[] {
  const isOneRow = contentOf(response).some(isEntity) && ['get', 'put', 'patch'].includes(operation.method);
  return [
    ...(isOneRow ? ['ETag'] : []),
    ...(parameterNamed(operation, 'Idempotency-Key') !== undefined ? ['Idempotency-Replayed'] : []),
    ...(isPublic(operation) ? ['Cache-Control'] : []),
  ];
}
