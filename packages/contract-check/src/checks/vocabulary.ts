/** The members of `x-contract-check`, and where they are allowed. They replace inference, or disable a check. */
const members: Readonly<Record<'operation' | 'parameter' | 'property', Readonly<Record<string, string>>>> = {
  operation: {
    paging: '`offset`, `page` or `cursor`: what its position means; `false`: not checked',
    order: 'the values of its order, such as `[name, -name]`; `false`: not checked',
    sorted: 'the default order of its rows, such as `[-createdAt, id]`',
    ties: 'the property by which rows are ordered that are equal in every other order, such as `id` or `-id`',
    nulls: '`first` or `last`: where rows without a value are in every order',
    ignoresCase: '`true`: its orders compare texts without regard to case',
    filters: 'what each parameter filters by, as in `filter`, or `false` if none; `false`: filters are not checked',
    default: '`false`: omitting a parameter does not mean its default',
    total: '`false`: a property with the name of a total is not a total',
    stable: '`false`: the response to the same request can change at any time; its behavior is not checked',
    creates: 'the type of the resources that it creates; `false`: it creates none',
    reads: 'the type of the resource that it reads by ID; `false`: it reads none',
    lists: 'the type of the resources that it lists; `false`: created resources need not be listed',
    updates: 'the type of the resource that it updates; `false`: updates are not checked',
    deletes: 'the type of the resource that it deletes; `false`: deletions are not checked',
    merges: '`true`: a PUT keeps omitted properties; `false`: a PATCH replaces the resource',
    softDelete: '`true`: deleted resources can still be read, marked as deleted; `false`: they cannot',
    acts: '`false`: its effect on the resource of its path is not checked',
    echo: '`false`: values can be returned in another form than sent',
    idempotent: '`false`: a repeated key does not replay the response',
    safe: '`false`: it changes what other operations return',
    effect: '`read`, `create`, `change own`, `change existing` or `irreversible`: what it does to the data',
    private: '`false`: other tenants can read and change what it creates',
  },
  parameter: {
    filter:
      'the property that it filters by, with an operator other than equality: `price >=`, `createdAt <` (also `>`, `<=`), ' +
      '`name =` (exactly), `paidAt exists`, `tags any`, `tags all`, `name contains`, `name starts` or `name ends`. Days are days in UTC. ' +
      '`false`: it is not a filter',
    searches: 'the properties that it searches, such as `[title, organizer.name]`',
    parts: '`true`: it finds parts of words',
    ignoresCase: '`true`: it finds words in upper and lower case',
    default: '`false`: omitting it does not mean its default',
    order: 'its values, if it is an order; `false`: it is not an order',
    only: '`true`: the properties that it names are returned only if it names them',
    reused: '`false`: an idempotency key is rejected with another body',
  },
  property: {
    unique: '`true`: a value that already exists is rejected',
    conditional: '`true`: other values or data decide whether a value is accepted, so that its rejection is no finding',
    replaced: '`true`: an update replaces it as a whole, also if the update merges',
    calculated:
      '`{ times: [quantity, price] }`, `{ plus: [subtotal, tax], minus: [discount] }` or `{ sum: amount, of: lines }`: how it ' +
      'is calculated. `of` is a list beside it or below the resource; `missing: 0`: rows without a value count as zero. ' +
      '`false`: it is not the number of rows that its name implies',
    echo: '`false`: the server stores it in another form',
  },
};

/** The vocabulary as Markdown, for EXTENSION.md. */
export function vocabularyTable(): string {
  const rows = Object.entries(members).flatMap(([on, of]) =>
    Object.entries(of).map(([member, meaning]) => `| ${on} | \`${member}\` | ${meaning} |`),
  );
  return ['| on | member | meaning |', '|---|---|---|', ...rows].join('\n');
}
