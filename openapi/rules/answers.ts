/**
 * A caller reads every answer in the same way: what it is (JSON, or a problem document), which call it belongs to, what
 * is left of the limit, and, where there is more to say, the one header that says it.
 */
import { eachOperation, isPublic, type Operation, type Place, parameterNamed } from './contract.ts';
import { contentOf, isEntity, propertiesOf } from './schemas.ts';

/** RFC 9457, and what callers decide by and give to support. */
const ofProblems = ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId'];
const always = ['X-Request-Id'];
const ofTheLimit = ['RateLimit', 'RateLimit-Policy'];
/** Where a call counted against the limit; what is rejected earlier, or fails, does not know what is left of it. */
const counted = ['304', '400', '403', '404', '409', '410', '412', '413', '415', '429'];
const onStatus: Record<string, string[]> = {
  '201': ['Location', 'ETag'],
  '202': ['Location'],
  '304': ['ETag'],
  '401': ['WWW-Authenticate'],
  '429': ['Retry-After'],
  '503': ['Retry-After'],
};

/** Work that goes on has a resource with its progress, unless the response is only a number. */
function namesResource(response: Place): boolean {
  return contentOf(response).some((schema) => [...propertiesOf(schema).keys()].some((name) => /(^id|Id)$/.test(name)));
}

export const answers = eachOperation((operation, report) => {
  for (const [status, response] of operation.responses) {
    const isSuccess = status.startsWith('2');
    const wanted = [
      ...always,
      ...(isSuccess || counted.includes(status) ? ofTheLimit : []),
      ...(isSuccess ? onThis(operation, response) : []),
      ...(status !== '202' || namesResource(response) ? (onStatus[status] ?? []) : []),
    ];
    const headers = response.get('headers')?.keys() ?? [];
    for (const header of wanted) {
      if (!headers.includes(header)) report(response.home, `Answer the header ${header} with ${status}.`);
    }
    if (headers.includes('ETag') && !wanted.includes('ETag')) {
      report(response.home, 'Leave out the header ETag: it is the version of one row, and this answer is not a row.');
    }
    if (headers.includes('Idempotency-Replayed') && !wanted.includes('Idempotency-Replayed')) {
      report(response.home, 'Leave out the header Idempotency-Replayed: the operation takes no key.');
    }

    const content = response.get('content')?.keys() ?? [];
    if (status === '304') {
      if (content.length > 0) report(response.home, 'Leave out the content of 304: the caller has it.');
      continue;
    }
    const media = isSuccess ? 'application/json' : 'application/problem+json';
    if (content.length !== 1 || content[0] !== media) {
      report(response.home, `Answer ${status} as ${media}, and as nothing else.`);
    }
    for (const [, media] of response.map('content')) {
      const schema = media.get('schema');
      if (schema === undefined) report(media, 'Give the answer a `schema`.');
      else if (!isSuccess) {
        const members = propertiesOf(schema);
        const missing = ofProblems.filter((name) => !members.has(name));
        if (missing.length > 0)
          report(response.home, `Build the schema of an error on \`Problem\`: it lacks ${missing}.`);
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
  return [
    ...(contentOf(response).some(isEntity) ? ['ETag'] : []),
    ...(parameterNamed(operation, 'Idempotency-Key') !== undefined ? ['Idempotency-Replayed'] : []),
    ...(isPublic(operation) ? ['Cache-Control'] : []),
  ];
}
