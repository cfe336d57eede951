export const categories = [
  'responses',
  'invalid input',
  'valid input',
  'undeclared endpoints',
  'robustness',
  'behavior',
] as const;

export type Category = (typeof categories)[number];

/**
 * How bad a finding is. An `error` breaks clients or loses, changes or exposes data; a `warning` is a difference that
 * clients can meet; a `note` is one that few clients notice.
 */
export const severities = ['error', 'warning', 'note'] as const;

export type Severity = (typeof severities)[number];

export interface Rule {
  readonly severity: Severity;
  readonly category: Category;
  /** What the server must do, or how to remove the difference. */
  readonly fix: string;
}

const rule = (severity: Severity) => (fix: string) => ({ severity, fix });
const [error, warning, note] = [rule('error'), rule('warning'), rule('note')];

function of<Name extends string>(category: Category, rules: Readonly<Record<Name, Omit<Rule, 'category'>>>) {
  const entries = Object.entries<Omit<Rule, 'category'>>(rules).map(([name, one]) => [name, { ...one, category }]);
  return Object.fromEntries(entries) as Record<Name, Rule>;
}

const fixed = {
  ...of('responses', {
    'not-implemented': error('Every operation must be implemented, unless --allow-unimplemented is passed.'),
    'problem-status': warning('The status in a problem document must be the status of the response (RFC 9457, 3.1.2).'),
    'response-body': error('Return what the schema declares, or correct the schema.'),
    'response-body-missing': error('A response must have the declared body.'),
    'response-body-unexpected': warning('A response must have no body if none is declared.'),
    'response-header': warning('The header of a response must match its schema.'),
    'response-header-missing': warning('A response must have all required headers.'),
    'response-json': error('A JSON response must be valid JSON.'),
    'response-media-type': error('A response must have a declared media type.'),
    'response-status': error('A response must have a declared status.'),
    'response-unknown-property': warning('A response must have only properties that its schema declares or allows.'),
    'response-write-only': error('A response must not have writeOnly properties.'),
  }),
  ...of('invalid input', {
    'expired-credentials': error('Expired credentials must be rejected.'),
    'forged-credentials': error('Credentials with a wrong signature must be rejected.'),
    'missing-credentials': error('A request without credentials must be rejected, unless `security` allows it.'),
    'missing-permission': error('A request of a user without permissions must be rejected.'),
    'reject-unknown-parameter': note('Unknown query parameters must be treated alike by all operations.'),
  }),
  ...of('undeclared endpoints', {
    'allow-header': note('The Allow header of a 405 response must list the methods of the path (RFC 9110, 10.2.1).'),
    'method-fault': error('An undeclared method must not cause a server error.'),
    'method-not-405': note('An undeclared method of a known path should return 405 (RFC 9110, 9.1).'),
    'trailing-slash': note('A trailing slash must be treated alike by all operations.'),
    'undeclared-operation': warning('Declare the operation in the contract, or remove it from the server.'),
  }),
  ...of('robustness', {
    'lost-response': error('Respond to every request, and announce a closed connection (RFC 9112, 9.6).'),
    'no-response': error('Every request must have a response.'),
    'server-died': error('No request may end the server.'),
    'server-error': error('Handle the input, or reject it with a declared 4xx: no request may cause a server error.'),
  }),
  ...of('behavior', {
    'action-others': error('An action must change only what it is for.'),
    'action-state': error('An action must lead to the state that it is for.'),
    'action-lost': error('The effect of an action must be visible when the resource is read.'),
    'bulk-affects': error('An item of a bulk request that fails must not affect the others.'),
    'bulk-lost': error('Every item that a bulk response reports as done must be stored.'),
    'bulk-results': error('A bulk response must have a result for every item.'),
    'calculated-wrong': error('A calculated number must be the declared sum or product.'),
    'change-unknown': warning('A request that changes a resource that does not exist must return 404.'),
    'count-wrong': error('A count must follow what is created and deleted.'),
    'create-default': warning('An omitted property must get its declared default.'),
    'create-echo': error('A create request must return the values that it sent, unless they are readOnly.'),
    'create-lost': error('A created resource must be stored as sent, unless a property is readOnly.'),
    'create-state': error('A created resource must be in the first state.'),
    'create-not-listed': error('A created resource must be in the list.'),
    'default-ignored': warning('Omitting a parameter must have the effect of its declared default.'),
    'delete-below': warning('What belongs to a deleted resource must not be readable.'),
    'delete-listed': error('A deleted resource must not be in the list.'),
    'delete-lost': error('A deleted resource must not be readable.'),
    'delete-used': error('A resource that others refer to must not be deleted, where 409 is declared.'),
    'deleted-hidden': warning('A resource that is only marked as deleted must be readable as declared.'),
    'deleted-shown': warning('A deleted resource must be returned only with the parameter that includes it.'),
    'embedded-another': error('An embedded resource must be the one that the reference beside it names.'),
    'etag-response': warning('The ETag of a response to a change must be the one of the next read.'),
    'etag-stays': error('An ETag must change when the resource changes.'),
    'field-hidden': error('A property must be shown to users with its scopes.'),
    'field-shown': error('A property must be hidden from users without its scopes.'),
    'field-written': error('A property must not be changed by users without its scopes.'),
    'filter-ignored': error('A filter must have an effect.'),
    'filter-lost': error('A filter must return all rows that match.'),
    'filter-page': error('Pages of a filtered list must have the rows of the filtered list.'),
    'filter-total': warning('The total of a filtered list must count the rows that match.'),
    'id-conflict': error('An ID in a request must be used, unless another resource has it.'),
    'if-match-ignored': error('A request whose precondition or version does not hold must be rejected.'),
    'if-match-missing': error('A request without the required If-Match must be rejected with 428.'),
    'if-match-rejected': error('A request with the current ETag in If-Match must be accepted.'),
    'if-match-status': warning('An outdated If-Match must be rejected with 412.'),
    'if-match-stored': error('A request that is rejected because of If-Match must not be stored.'),
    'if-none-match': note('If-None-Match must be evaluated.'),
    'job-result': error('The result of a job must be there once it is done, and not before.'),
    'job-status': error('What a job says about itself must be consistent.'),
    'key-another': error('A repeated request with the same idempotency key must return the first resource.'),
    'key-rejected': warning('A repeated request with the same idempotency key must be accepted.'),
    'key-reused': warning('An idempotency key that is repeated with another request must be rejected.'),
    'list-hides': error('A list must have the resources of the requested state.'),
    'list-leaks': error('A list must not have resources of other states or parents than requested.'),
    location: warning('Location must be the URL of the created resource (RFC 9110, 10.2.2).'),
    'order-ignored': error('A list must have the requested or declared order, in the requested direction.'),
    'order-nulls': warning('Null values must be where the documented order has them.'),
    'order-ties': warning('Rows with the same first key must have the order of the next one.'),
    'page-beyond': warning('A page beyond the end must be empty.'),
    'page-lost': error('The pages of a list must have all of its rows.'),
    'page-more': error('A page must state correctly whether there are more.'),
    'page-next': error('Every page but the last must lead to the next one.'),
    'page-order': error('Pages must continue the order of the list.'),
    'page-overlap': error('A row must be on one page only.'),
    'page-position': error('A page must start at the requested position.'),
    'page-rows': error('Pages of different sizes must have the same rows.'),
    'page-size': error('A page must have the requested or default number of rows.'),
    'page-total': warning('The total must be the number of rows in the list.'),
    'permission-rejected': error('A user with the declared scopes must be allowed.'),
    'put-status': warning('PUT must return 201 if it creates, and 200 or 204 if it replaces (RFC 9110, 9.3.4).'),
    'read-another': error('Reading a resource by its ID must return this resource.'),
    'read-disagrees': error('A resource must have the same values in a list and by itself.'),
    'read-unknown': warning('Reading a resource that does not exist must return 404.'),
    'read-unsteady': warning('Reading an unchanged resource twice must return the same.'),
    'replace-kept': warning('PUT must clear omitted properties, or be declared as merging (x-contract-check: merges).'),
    'selection-ignored': warning('A parameter that selects properties must select them.'),
    'tenant-changes': error('A tenant must not change resources of another one.'),
    'tenant-deletes': error('A tenant must not delete resources of another one.'),
    'tenant-lists': error('A list must not have resources of another tenant.'),
    'tenant-reads': error('A tenant must not read resources of another one.'),
    'transition-accepted': error('An operation must be rejected in states in which it is not possible.'),
    'transition-rejected': error('An operation must be possible in its declared states.'),
    'unique-ignored': error('A value that is declared as unique must be rejected if another resource has it.'),
    'update-echo': error('The response to an update must have the values of the request.'),
    'update-lost': error('An update must be stored.'),
    'update-others': error('An update must change only the properties of the request.'),
    'unrelated-change': error('A request must not change other resources than its own.'),
    'update-timestamp': warning('An update must advance the version and the time of the last change.'),
  }),
};

/** `reject-maxLength` is a constraint that is not enforced, `accept-maxLength` one that rejects valid values. */
export type CheckName = keyof typeof fixed | `reject-${string}` | `accept-${string}`;

export function ruleOf(check: CheckName): Rule {
  if (Object.hasOwn(fixed, check)) return fixed[check as keyof typeof fixed];
  const [, kind, keyword] = /^(reject|accept)-(.*)$/.exec(check) ?? [];
  return kind === 'accept'
    ? { ...error(`Accept a request that satisfies ${keyword}, or restrict the contract.`), category: 'valid input' }
    : { ...warning(`Reject a request that violates ${keyword}, or relax the contract.`), category: 'invalid input' };
}

/** What a server must do, without a period. */
export const requirementOf = (check: CheckName) => ruleOf(check).fix.replace(/\.$/, '');
