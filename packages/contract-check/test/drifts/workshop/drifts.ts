import { isObject, type JsonObject } from '../../../src/json.ts';
import { combinatorsOf, crash, gone, isText, to } from '../combinators.ts';
import type { Drift } from '../drift.ts';
import type { Alter } from '../front.ts';
import { changeAt, edit, jsonOf, type Reply, valuesAt, withHeader, withJson } from '../message.ts';
import { type RequestInput, send } from '../wire.ts';
import { problem, rejected, type Shop, sample } from './samples.ts';

const {
  response,
  drift,
  expecting,
  failure,
  header,
  ignore,
  instead,
  loosen,
  observe,
  member,
  otherDefault,
  page,
  request,
  requiring,
  callJson,
  tighten,
} = combinatorsOf<Shop>({ sample, rejected, problem });

const object = (reply: Reply): JsonObject => {
  const value = jsonOf(reply);
  return isObject(value) ? value : {};
};
const list = (value: unknown): JsonObject[] => (Array.isArray(value) ? value : []);
const above = (limit: number) => (value: unknown) => value !== undefined && Number(value) > limit;
const longer = (limit: number) => (value: unknown) => isText(value) && value.length > limit;
const is = (expected: unknown) => (value: unknown) =>
  value === expected || (isText(value) && value === String(expected));
const tool =
  (more: object) =>
  (shop: Shop): RequestInput => ({
    body: { name: shop.unique(), kind: 'hand', price: 1, boughtOn: '2024-01-01', ...more },
  });
const repair =
  (more: object) =>
  (shop: Shop): RequestInput => ({
    body: { kind: 'repair', toolId: shop.ids.tool, title: shop.unique(), fault: 'x', ...more },
  });
const patchable = new Set(
  'name kind price boughtOn note serial state dimensions manual keeper tags location'.split(' '),
);
const sharpening =
  (more: object) =>
  (shop: Shop): RequestInput => ({
    body: { kind: 'sharpening', toolId: shop.ids.tool, title: shop.unique(), angle: 20, grit: 400, ...more },
  });
const inspection =
  (more: object) =>
  (shop: Shop): RequestInput => ({
    body: { kind: 'inspection', toolId: shop.ids.tool, title: shop.unique(), marks: [9, 'pass', false], ...more },
  });
/** Accepts the serial of another tool: the tool is stored without a serial, and returned with it. */
const sharedSerial = (operation: string) => (): Alter => {
  const serials = new Map<unknown, unknown>();
  return async (incoming, next) => {
    const reply = await next(incoming);
    const [serial] = valuesAt(incoming, 'body/serial');
    const isTaken = incoming.operation === operation && reply.status === 409 && isText(serial);
    const returned = isTaken ? await next(changeAt(incoming, 'body/serial', gone)) : reply;
    const { id } = object(returned);
    if (isTaken && returned.status < 300) serials.set(id, serial);
    return serials.has(id) ? withJson(returned, { ...object(returned), serial: serials.get(id) }) : returned;
  };
};
const usedSerial = 'ZZ-00000001';
const names = (operation: string, query: Readonly<Record<string, string>>) => async (url: string, shop: Shop) => {
  const returned = await callJson(url, shop, operation, { query });
  return [
    returned['(status)'],
    returned.total,
    list(returned.items ?? returned.data).map((row) => row.name ?? row.title),
  ];
};

const responses = expecting(
  ['responses'],
  [
    member('listTools', 'last row', 'the last tool has no state', '/items/-1/state', gone),
    member('listTools', 'multipleOf', 'a price has three decimals', '/items/0/price', to(0.125)),
    member('listTools', 'required', 'the total is missing', '/total', gone),
    header('listTools', 'header', 'there is no total in the headers', 'x-total-count', undefined),
    header('listTools', 'header', 'the link has no relation', 'link', '</tools?offset=1>', { query: { limit: '1' } }),
    header('listTools', 'header', 'the total in the headers is a word', 'x-total-count', 'six'),
    member('getTool', 'format', 'the day of purchase is written as in Germany', '/boughtOn', to('04.03.2021')),
    member('getTool', 'null', 'no serial is null', '/serial', to(null)),
    member('getTool', 'unknown property', 'the owner is returned', '/owner', to('Ada')),
    header('getTool', 'header', 'there is no ETag', 'etag', undefined),
    drift(
      'headTool',
      'status',
      'HEAD returns 500',
      () => async (incoming, next) =>
        incoming.operation === 'headTool' ? { ...(await next(incoming)), status: 500 } : next(incoming),
    ),
    drift(
      'headTool',
      'header',
      'HEAD has no ETag',
      () => async (incoming, next) =>
        incoming.operation === 'headTool' ? withHeader(await next(incoming), 'etag', undefined) : next(incoming),
    ),
    response('createTool', 'status', 'a creation is 200', (reply) => ({ ...reply, status: 200 })),
    header('createTool', 'header', 'a creation has no Location', 'location', undefined),
    member('createJob', 'prefixItems', 'the verdict of an inspection is no word', '/marks/1', to(true), inspection({})),
    member(
      'createJob',
      'items',
      'an inspection has a fourth mark',
      '/marks',
      (marks) => (Array.isArray(marks) ? [...marks, 4] : marks),
      inspection({}),
    ),
    member('createJob', 'discriminator', 'the kind of a job is unknown', '/kind', to('polishing')),
    member('createJob', 'unevaluated property', 'a repair has an angle', '/angle', to(20)),
    member('createJob', 'writeOnly', 'the code of the door is shown', '/doorCode', to('1234')),
    member('getJob', 'patternProperties', 'a label has another name', '/labels', to({ y: 'z' })),
    member('getJob', 'uniqueItems', 'a tag is returned twice', '/tags', to(['iron', 'iron'])),
    member('getJob', 'bounds', 'the priority is 0', '/priority', to(0)),
    member('listJobs', 'branch', 'the last job has no fault', '/data/-1/fault', gone),
    member('listJobs', 'format', 'the next page is a sentence', '/next', (next) => next && 'the next page', {
      query: { pageSize: '1' },
    }),
    response('createReport', 'status', 'a report is created immediately', (reply) => ({ ...reply, status: 201 })),
    header('createReport', 'header', 'a report has no Retry-After', 'retry-after', undefined),
    header('createReport', 'header', 'Retry-After is a day', 'retry-after', 'Wed, 21 Oct 2026 07:28:00 GMT'),
    member('findBoxes', 'enum', 'a colour is in capitals', '/boxes/*/colour', (value) => String(value).toUpperCase()),
    header('findBoxes', 'header', 'the language is missing', 'content-language', undefined),
    member('getInventory', 'propertyNames', 'there is an unknown kind', '/blunt', to(1)),
    member('getInventory', 'additionalProperties', 'the number of tools is a text', '/*', String),
    header('getHealth', 'charset', 'the charset is Latin-1', 'content-type', 'application/json; charset=iso-8859-1'),
    member('getHealth', 'const', 'the state is UP', '/status', to('UP')),
    failure('getTool', 404, 'problem', '404 is plain text', (reply) => ({
      ...withHeader(reply, 'content-type', 'text/plain'),
      text: 'Not found',
    })),
    failure('getJob', 404, 'problem', 'the status in the problem is another one', (reply) =>
      withJson(reply, edit(jsonOf(reply), '/status', to(400))),
    ),
    failure('createTool', 422, 'status', 'a body that breaks its schema is 418', (reply) => ({
      ...reply,
      status: 418,
    })),
    failure('listJobs', 401, 'header', 'a missing token returns no WWW-Authenticate header', (reply) =>
      withHeader(reply, 'www-authenticate', undefined),
    ),
  ],
);

const rejections = expecting(
  ['invalid input'],
  [
    loosen('listTools', 'maximum', 'a page of more than 50 tools is cut', 'query.limit', above(50), to(50), {
      query: { limit: '51' },
    }),
    loosen(
      'listTools',
      'enum',
      'an unknown order is the first one',
      'query.orderBy',
      (value) => isText(value) && !/^-?(name|price|boughtOn)$/.test(value),
      gone,
      { query: { orderBy: 'weight' } },
    ),
    loosen(
      'listTools',
      'format',
      'an invalid day is ignored',
      'query.boughtFrom',
      (value) => isText(value) && !/^\d{4}-\d\d-\d\d$/.test(value),
      gone,
      { query: { boughtFrom: 'yesterday' } },
    ),
    loosen(
      'createTool',
      'multipleOf',
      'a price is rounded',
      'body/price',
      (value) => typeof value === 'number' && Math.round(value * 100) / 100 !== value,
      (value) => Math.round(Number(value) * 100) / 100,
      tool({ price: 0.125 }),
    ),
    loosen(
      'createTool',
      'pattern',
      'a serial of any form is accepted',
      'body/serial',
      (value) => isText(value) && !/^[A-Z]{2}-\d{4,8}$/.test(value),
      gone,
      tool({ serial: 'zz' }),
    ),
    loosen(
      'createTool',
      'required',
      'a tool needs no price',
      'body/price',
      (value) => value === undefined,
      to(0),
      tool({ price: undefined }),
    ),
    loosen(
      'createTool',
      'maxLength',
      'a name that is too long is cut',
      'body/name',
      longer(60),
      (value) => String(value).slice(0, 60),
      tool({ name: 'x'.repeat(61) }),
    ),
    loosen(
      'createJob',
      'exclusiveMaximum',
      'an angle of 45 degrees is accepted',
      'body/angle',
      (value) => Number(value) >= 45,
      to(44.5),
      sharpening({ angle: 45 }),
    ),
    loosen(
      'createJob',
      'enum',
      'any grit is 400',
      'body/grit',
      (value) => typeof value === 'number' && ![400, 1000, 3000, 8000].includes(value),
      to(400),
      sharpening({ grit: 500 }),
    ),
    loosen(
      'createJob',
      'dependentRequired',
      'an inspector needs no day',
      'body',
      (value) => isObject(value) && value.inspector !== undefined && value.inspectedOn === undefined,
      (value) => ({ ...(value as object), inspectedOn: '2024-01-01' }),
      inspection({ inspector: 'Ada' }),
    ),
    loosen(
      'createJob',
      'maxProperties',
      'labels after the fifth are ignored',
      'body/labels',
      (value) => isObject(value) && Object.keys(value).length > 5,
      to({}),
      repair({ labels: { 'x-a': '', 'x-b': '', 'x-c': '', 'x-d': '', 'x-e': '', 'x-f': '' } }),
    ),
    loosen(
      'createReport',
      'minimum',
      'a report of no months has one',
      'body/months',
      (value) => typeof value === 'number' && value < 1,
      to(1),
      { body: { subject: 'tools', months: 0 } },
    ),
    loosen(
      'changeTool',
      'unknown property',
      'unknown properties are ignored',
      'body',
      (value) => isObject(value) && Object.keys(value).some((name) => !patchable.has(name)),
      (value) => Object.fromEntries(Object.entries(value as object).filter(([name]) => patchable.has(name))),
      { body: { owner: 'Ada' } },
    ),
    request(
      'changeTool',
      'required',
      'a precondition is optional',
      (incoming) => (incoming.headers['if-match'] === undefined ? withHeader(incoming, 'if-match', '*') : incoming),
      { headers: { 'if-match': undefined } },
    ),
    request(
      'listJobs',
      'unknown parameter',
      'unknown parameters are ignored',
      (incoming) => ({
        ...incoming,
        query: incoming.query
          .split('&')
          .filter((pair) => /^(filter|tags|numbers|sort|order|pageSize|cursor)/.test(decodeURIComponent(pair)))
          .join('&'),
      }),
      { query: { nonsense: '1' } },
    ),
    request(
      'getTool',
      'security',
      'no token is needed',
      (incoming, { headers }) =>
        incoming.headers.authorization === undefined && incoming.headers['x-api-key'] === undefined
          ? { ...incoming, headers: { ...incoming.headers, ...headers.owner } }
          : incoming,
      { headers: { authorization: undefined } },
    ),
    request(
      'listJobs',
      'security',
      'a token never expires',
      (incoming, { headers }) =>
        incoming.headers.authorization === headers.expired.authorization
          ? { ...incoming, headers: { ...incoming.headers, ...headers.owner } }
          : incoming,
      ({ headers }: Shop) => ({ headers: headers.expired }),
    ),
    request(
      'createReport',
      'security',
      'no scope is needed',
      (incoming, { headers }) =>
        incoming.headers.authorization === headers.forbidden.authorization
          ? { ...incoming, headers: { ...incoming.headers, ...headers.owner } }
          : incoming,
      ({ headers }: Shop) => ({ headers: headers.forbidden }),
    ),
  ],
);

const acceptance = expecting(
  ['valid input'],
  [
    tighten('listTools', 'maximum', 'a page of 50 tools is rejected', 'query.limit', is(50), {
      query: { limit: '50' },
    }),
    tighten('listTools', 'enum', 'descending order by price is rejected', 'query.orderBy', is('-price'), {
      query: { orderBy: '-price' },
    }),
    instead(
      'createTool',
      'null',
      'no note must not be null',
      (incoming) => valuesAt(incoming, 'body/note').includes(null),
      () => problem(422),
      tool({ note: null }),
    ),
    instead(
      'createTool',
      'minimum',
      'a price of 0 is rejected',
      (incoming) => valuesAt(incoming, 'body/price').includes(0),
      () => problem(422),
      tool({ price: 0 }),
    ),
    instead(
      'createJob',
      'branch',
      'inspections are rejected',
      (incoming) => valuesAt(incoming, 'body/kind').includes('inspection'),
      () => problem(422),
      inspection({}),
    ),
    instead(
      'createJob',
      'minimum',
      'an angle of 10 degrees is rejected',
      (incoming) => valuesAt(incoming, 'body/angle').includes(10),
      () => problem(422),
      sharpening({ angle: 10 }),
    ),
    tighten('findBoxes', 'enum', 'gallons are rejected', 'header.x-units', is('gallon'), {
      headers: { 'x-units': 'gallon' },
    }),
    instead(
      'changeTool',
      'empty',
      'an empty patch is rejected',
      ({ body }) => body?.toString() === '{}',
      () => problem(422),
      { body: {} },
    ),
  ],
);

const undeclaredEndpoints = expecting(
  ['undeclared endpoints', 'robustness', 'invalid input', 'valid input'],
  [
    instead(
      'createTool',
      'text',
      'an emoji gives 500',
      ({ body }) => /\p{Extended_Pictographic}/u.test(body?.toString() ?? ''),
      crash,
      tool({ name: '🧰' }),
    ),
    instead(
      'createJob',
      'text',
      'an apostrophe gives 500',
      ({ body }) => body?.includes("'") === true,
      crash,
      repair({ fault: "it's worn" }),
    ),
    instead(
      'listTools',
      'number',
      'a great offset gives 500',
      (incoming) => valuesAt(incoming, 'query.offset').some(above(1e5)),
      crash,
      { query: { offset: '1000000' } },
    ),
    instead(
      'createReport',
      'body',
      'a body that is not JSON gives 500',
      (incoming) => (incoming.body?.length ?? 0) > 0 && jsonOf(incoming) === undefined,
      crash,
      { raw: '{' },
    ),
    drift(
      'listJobs',
      'method',
      'a wrong method returns no Allow header',
      () => async (incoming, next) => {
        const reply = await next(incoming);
        return reply.status === 405 && incoming.template === '/jobs' ? withHeader(reply, 'allow', undefined) : reply;
      },
      async (url, shop) => (await send(url, { ...sample('listJobs', shop), method: 'DELETE' })).headers.allow,
    ),
    drift(
      'getReport',
      'undeclared operation',
      'PUT returns 200',
      () => (incoming, next) =>
        incoming.method === 'PUT' && incoming.template === '/reports/{reportId}'
          ? { status: 200, headers: { 'content-type': 'application/json' }, text: '{}' }
          : next(incoming),
      async (url, shop) =>
        (await send(url, { ...sample('getReport', shop, { path: { reportId: shop.ids.tool } }), method: 'PUT' }))
          .status,
    ),
  ],
);

/** Creates a tool, calls an operation on it, and reads it. */
const withTool =
  (act: (url: string, shop: Shop, path: Readonly<Record<string, string>>, etag: string) => Promise<unknown>) =>
  async (url: string, shop: Shop) => {
    const created = await send(url, sample('createTool', shop));
    const path = { toolId: String(object(created).id) };
    return [await act(url, shop, path, String(created.headers.etag)), await observe(url, shop, 'getTool', { path })];
  };
const kept = (): Alter => {
  const responses = new Map<string, Reply>();
  return async (incoming, next) => {
    if (incoming.operation !== 'getTool') return next(incoming);
    const reply = responses.get(`${incoming.headers.authorization} ${incoming.path}`) ?? (await next(incoming));
    if (reply.status === 200) responses.set(`${incoming.headers.authorization} ${incoming.path}`, reply);
    return reply;
  };
};

const semantics = expecting(
  ['behavior', 'responses'],
  [
    otherDefault('listTools', 'default', 'a page has two tools by default', 'query.limit', 2),
    otherDefault(
      'listTools',
      'default',
      'the order is that of the prices by default',
      'query.orderBy',
      'price',
      names('listTools', {}),
    ),
    otherDefault(
      'listJobs',
      'default',
      'the order is descending by default',
      'query.order',
      'desc',
      names('listJobs', {}),
    ),
    otherDefault('createReport', 'default', 'a report is of one month by default', 'body/months', 1),
    otherDefault('findBoxes', 'default', 'volumes are in gallons by default', 'header.x-units', 'gallon'),
    ignore(
      'listTools',
      'page',
      'the offset is ignored',
      'query.offset',
      names('listTools', { offset: '1', limit: '1' }),
    ),
    page('listTools', 'total', 'the total is one too many', (body) => ({ ...body, total: Number(body.total) + 1 })),
    drift(
      'listTools',
      'total',
      'the total in the headers is that of the page',
      () => async (incoming, next) => {
        const reply = await next(incoming);
        return incoming.operation === 'listTools' && reply.status === 200
          ? withHeader(reply, 'x-total-count', String(list(object(reply).items).length))
          : reply;
      },
      { query: { limit: '2' } },
    ),
    header('listTools', 'page', 'the link leads to the first page', 'link', '</tools?limit=1>; rel="next"', {
      query: { limit: '1' },
    }),
    ignore('listTools', 'order', 'the order is ignored', 'query.orderBy', names('listTools', { orderBy: '-price' })),
    request(
      'listTools',
      'order',
      'descending is treated as ascending',
      (incoming) => changeAt(incoming, 'query.orderBy', (value) => (isText(value) ? value.replace('-', '') : value)),
      names('listTools', { orderBy: '-name' }),
    ),
    ignore('listJobs', 'order', 'jobs cannot be sorted', 'query.sort', names('listJobs', { sort: 'title' })),
    ignore(
      'listTools',
      'filter',
      'a condition on the kind is ignored',
      'query.kind',
      names('listTools', { kind: 'power' }),
    ),
    ignore(
      'listTools',
      'filter',
      'a greatest price is ignored',
      'query.maxPrice',
      names('listTools', { maxPrice: '30' }),
    ),
    ignore(
      'listTools',
      'filter',
      'a first day is ignored',
      'query.boughtFrom',
      names('listTools', { boughtFrom: '2024-01-01' }),
    ),
    ignore('listTools', 'filter', 'a search is ignored', 'query.search', names('listTools', { search: 'saw' })),
    ignore(
      'listJobs',
      'filter',
      'a condition on the priority is ignored',
      'query.filter[priority]',
      names('listJobs', { 'filter[priority]': '2' }),
    ),
    ignore(
      'listJobs',
      'filter',
      'a condition on the tags is ignored',
      'query.tags',
      names('listJobs', { tags: 'urgent' }),
    ),
    page('listJobs', 'page', 'nothing follows the first page', (body) => ({ ...body, next: null }), {
      query: { pageSize: '1' },
    }),
    ignore('listJobs', 'page', 'a cursor leads to the first page', 'query.cursor', { query: { cursor: 'made-up' } }),
    ignore(
      'createTool',
      'idempotency',
      'an idempotency key is ignored',
      'header.idempotency-key',
      async (url, shop) => {
        const expected = { headers: { 'idempotency-key': shop.unique() }, body: jsonOf(sample('createTool', shop)) };
        const { id } = await callJson(url, shop, 'createTool', expected);
        return (await callJson(url, shop, 'createTool', expected)).id === id;
      },
    ),
    requiring(['getTool'], ignore('createTool', 'lost', 'a note is not stored', 'body/note', tool({ note: 'sharp' }))),
    header(
      'createTool',
      'Location',
      'the Location leads nowhere',
      'location',
      '/tools/00000000-0000-4000-8000-000000000000',
    ),
    member('createTool', 'echo', 'another kind is returned', '/kind', to('power')),
    requiring(
      ['getTool'],
      drift(
        'createTool',
        'unique',
        'the serial of another tool is accepted',
        sharedSerial('createTool'),
        async (url, shop) => {
          await callJson(url, shop, 'createTool', tool({ serial: usedSerial })(shop));
          return observe(url, shop, 'createTool', tool({ serial: usedSerial })(shop));
        },
      ),
    ),
    requiring(
      ['createTool', 'getTool'],
      drift(
        'changeTool',
        'unique',
        'a change to the serial of another tool is accepted',
        sharedSerial('changeTool'),
        withTool(async (url, shop, path) => {
          await callJson(url, shop, 'createTool', tool({ serial: usedSerial })(shop));
          return observe(url, shop, 'changeTool', { path, body: { serial: usedSerial } });
        }),
      ),
    ),
    request(
      'changeTool',
      'If-Match',
      'a precondition is ignored',
      (incoming) => (incoming.headers['if-match'] === undefined ? incoming : withHeader(incoming, 'if-match', '*')),
      withTool((url, shop, path) => observe(url, shop, 'changeTool', { path, headers: { 'if-match': '"old"' } })),
    ),
    request(
      'deleteTool',
      'If-Match',
      'a precondition is ignored',
      (incoming) => withHeader(incoming, 'if-match', undefined),
      withTool((url, shop, path) => observe(url, shop, 'deleteTool', { path, headers: { 'if-match': '"old"' } })),
    ),
    requiring(
      ['getTool'],
      drift(
        'changeTool',
        'lost',
        'an update is returned, but not stored',
        () => async (incoming, next) => {
          if (incoming.operation !== 'changeTool') return next(incoming);
          const reply = await next(withJson(incoming, {}));
          const change = jsonOf(incoming);
          return reply.status === 200 && isObject(change)
            ? withJson(reply, {
                ...object(reply),
                ...Object.fromEntries(Object.entries(change).filter(([, value]) => value !== null)),
              })
            : reply;
        },
        withTool((url, shop, path) =>
          callJson(url, shop, 'changeTool', { path, body: { price: 77 } }).then(({ price }) => price),
        ),
      ),
    ),
    request(
      'changeTool',
      'partial',
      'what is left out is cleared',
      (incoming) => changeAt(incoming, 'body/note', (note) => note ?? null),
      async (url, shop) => {
        const { id } = await callJson(url, shop, 'createTool', tool({ note: 'sharp' })(shop));
        return (await callJson(url, shop, 'changeTool', { path: { toolId: String(id) }, body: { price: 2 } })).note;
      },
    ),
    request(
      'replaceTool',
      'replace',
      'what is left out is kept',
      (incoming) =>
        incoming.headers['content-type'] === undefined
          ? incoming
          : {
              ...incoming,
              method: 'PATCH',
              headers: { ...incoming.headers, 'content-type': 'application/merge-patch+json' },
            },
      async (url, shop) => {
        const { id } = await callJson(url, shop, 'createTool', tool({ keeper: 'a@example.org' })(shop));
        const path = { toolId: String(id) };
        return (await callJson(url, shop, 'replaceTool', { path })).keeper;
      },
    ),
    drift(
      'deleteTool',
      'lost',
      'a tool stays',
      () => async (incoming, next) => {
        if (incoming.operation !== 'deleteTool') return next(incoming);
        const { status, headers } = await next({
          ...incoming,
          method: 'GET',
          headers: withHeader(incoming, 'if-match', undefined).headers,
        });
        return status === 200
          ? { status: 204, headers: { 'x-request-id': headers['x-request-id'] ?? '' }, text: '' }
          : next(incoming);
      },
      withTool((url, shop, path) => observe(url, shop, 'deleteTool', { path })),
    ),
    drift(
      'deleteJob',
      'lost',
      'a job stays',
      () => async (incoming, next) => {
        if (incoming.operation !== 'deleteJob') return next(incoming);
        const { status, headers } = await next({ ...incoming, method: 'GET' });
        return status === 200
          ? { status: 204, headers: { 'x-request-id': headers['x-request-id'] ?? '' }, text: '' }
          : next(incoming);
      },
      async (url, shop) => {
        const { id } = await callJson(url, shop, 'createJob');
        await send(url, sample('deleteJob', shop, { path: { jobId: String(id) } }));
        return (await callJson(url, shop, 'getJob', { path: { jobId: String(id) } }))['(status)'];
      },
    ),
    requiring(
      ['changeTool', 'replaceTool'],
      drift(
        'getTool',
        'cache',
        'a tool comes from a cache',
        kept,
        withTool(async (url, shop, path) => {
          await observe(url, shop, 'getTool', { path });
          return observe(url, shop, 'changeTool', { path });
        }),
      ),
    ),
    drift(
      'getTool',
      'safe',
      'reading a tool changes it',
      ({ headers }) =>
        async (incoming, next) => {
          const reply = await next(incoming);
          if (incoming.operation !== 'getTool' || reply.status !== 200) return reply;
          const change = { ...headers.owner, 'if-match': '*', 'content-type': 'application/merge-patch+json' };
          await next({
            ...incoming,
            method: 'PATCH',
            headers: change,
            body: Buffer.from(JSON.stringify({ note: `Read at ${performance.now()}` })),
          });
          return reply;
        },
      async (url, shop) => {
        const { id } = await callJson(url, shop, 'createTool');
        const read = async () => (await callJson(url, shop, 'getTool', { path: { toolId: String(id) } })).note;
        const before = await read();
        return (await read()) === before;
      },
    ),
  ],
);

/** Every drift of the workshop. */
export const workshopDrifts: readonly Drift<Shop>[] = [
  ...responses,
  ...rejections,
  ...acceptance,
  ...undeclaredEndpoints,
  ...semantics,
];
