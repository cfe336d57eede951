/**
 * Callers read every response in the same way: its media type (JSON, or a problem document), the ID of its request, the
 * remaining rate limit, and the headers that its status requires.
 */
import { eachOperation, isPublic, type Operation, type Place, parameterNamed } from './contract.ts';
import { contentOf, isEntity, propertiesOf } from './schemas.ts';

/** RFC 9457, and what callers decide by and give to support. */
const ofProblems = ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId'];
const files = new Set(['text/csv', 'application/pdf', 'application/xml']);
const always = ['X-Request-Id'];
const ofTheLimit = ['RateLimit', 'RateLimit-Policy'];
/** The statuses of calls that count against the limit; those that are rejected earlier, or fail, do not have the remaining limit. */
const counted = ['304', '400', '403', '404', '409', '410', '412', '413', '415', '429'];
const onStatus: Record<string, string[]> = {
  '201': ['Location', 'ETag'],
  '202': ['Location'],
  '304': ['ETag'],
  '401': ['WWW-Authenticate'],
  '429': ['Retry-After'],
  '503': ['Retry-After'],
};

/** Unfinished work has a resource with its progress, unless the response is only a number. */
function namesResource(response: Place): boolean {
  return contentOf(response).some((schema) => [...propertiesOf(schema).keys()].some((name) => /(^id|Id)$/.test(name)));
}

export const responses = eachOperation((operation, report) => {
  for (const [status, response] of operation.responses) {
    const isSuccess = status.startsWith('2');
    const required = [
      ...always,
      ...(isSuccess || counted.includes(status) ? ofTheLimit : []),
      ...(isSuccess ? onThis(operation, response) : []),
      ...(status !== '202' || namesResource(response) ? (onStatus[status] ?? []) : []),
    ];
    const headers = response.get('headers')?.keys() ?? [];
    for (const header of required) {
      if (!headers.includes(header)) report(response.home, `Declare the header ${header} for ${status}.`);
    }
    if (headers.includes('ETag') && !required.includes('ETag')) {
      report(response.home, 'Remove the header ETag: it is the version of one row, and this response is not one row.');
    }
    if (headers.includes('Idempotency-Replayed') && !required.includes('Idempotency-Replayed')) {
      report(response.home, 'Remove the header Idempotency-Replayed: the operation has no key.');
    }

    const content = response.get('content')?.keys() ?? [];
    if (status === '304') {
      if (content.length > 0) report(response.home, 'Remove the content of 304: the caller has it.');
      continue;
    }
    const media = isSuccess ? 'application/json' : 'application/problem+json';
    const isFile = isSuccess && parameterNamed(operation, 'format') !== undefined;
    if (content[0] !== media || content.some((type) => type !== media && !(isFile && files.has(type)))) {
      report(
        response.home,
        `Declare ${media} as the only media type of ${status}, but those of files where \`format\` chooses it.`,
      );
    }
    for (const [type, media] of response.map('content')) {
      if (files.has(type)) continue;
      const schema = media.get('schema');
      if (schema === undefined) report(media, 'Add a `schema` to the response.');
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

/** The headers that a success has because of its content. */
function onThis(operation: Operation, response: Place): string[] {
  return [
    ...(contentOf(response).some(isEntity) ? ['ETag'] : []),
    ...(parameterNamed(operation, 'Idempotency-Key') !== undefined ? ['Idempotency-Replayed'] : []),
    ...(isPublic(operation) ? ['Cache-Control'] : []),
  ];
}
