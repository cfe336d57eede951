import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ProblemError, UnexpectedResponseError } from '../src/index.ts';
import { problem, type Received, type Reply, Service } from './service.ts';

let service: Service;

beforeEach(async () => {
  service = await new Service().start();
});
afterEach(() => service.stop());

/** Returns rows 0 to `count` - 1, like a list under `/gql/v1` or a lookup under `/api/v1`. */
function serve(count: number, paging: 'offset' | 'number') {
  return ({ method, query, body }: Received): Reply => {
    const received = method === 'GET' ? query : (body as Record<string, unknown>);
    const size = Number(received.pageSize ?? 50);
    const page = Number(received.cursor ?? received.page ?? 0);
    const first = paging === 'offset' ? page : page * size;
    const next = paging === 'offset' ? first + size : page + 1;
    const data = Array.from({ length: Math.max(0, Math.min(size, count - first)) }, (_, index) => ({
      id: `${first + index}`,
    }));
    const hasMore = first + size < count;
    const nextCursor = hasMore ? String(next) : null;
    return {
      body: {
        data,
        page,
        pageSize: size,
        hasMore,
        nextCursor,
        ...(received.includeTotal === true && { total: count }),
      },
    };
  };
}
const received = () => service.received.map(({ body }) => body);
async function idsOf(rows: AsyncIterable<{ id: string }>): Promise<string> {
  const ids = [];
  for await (const row of rows) ids.push(row.id);
  return ids.join(' ');
}

describe('the rows of a list', () => {
  it('are read by cursor, and the query is sent with every page', async () => {
    service.respond = serve(7, 'offset');
    const where = { status: { _eq: 'ACTIVE' } } as const;
    expect(await idsOf(service.client().searchClients.rows({ body: { where, pageSize: 3 } }))).toBe('0 1 2 3 4 5 6');
    expect(received()).toEqual([
      { where, pageSize: 3 },
      { where, pageSize: 3, cursor: '3' },
      { where, pageSize: 3, cursor: '6' },
    ]);
  });

  it('of a feed are read to its present end, and the last cursor is where it goes on', async () => {
    service.respond = ({ query }) => {
      const first = Number(query.after ?? 0);
      const data = [0, 1].map((index) => ({ id: `${first + index}` })).slice(0, Math.max(0, 5 - first));
      return { body: { data, hasMore: first + 2 < 5, nextCursor: String(Math.min(first + 2, 5)) } };
    };
    const cursors = [];
    for await (const page of service.client().listEvents.pages({ query: { entityType: 'Client', pageSize: 2 } }))
      cursors.push([page.data.length, page.nextCursor]);
    expect(cursors).toEqual([
      [2, '2'],
      [2, '4'],
      [1, '5'],
    ]);
    expect(service.received.map(({ query }) => query)).toEqual([
      { entityType: 'Client', pageSize: '2' },
      { entityType: 'Client', pageSize: '2', after: '2' },
      { entityType: 'Client', pageSize: '2', after: '4' },
    ]);
  });

  it('require no body if it has no required properties', async () => {
    service.respond = serve(2, 'offset');
    expect(await idsOf(service.client().listClients.rows())).toBe('0 1');
    expect(received()).toEqual([{}]);
  });

  it.each([0, 1, 49, 50, 51, 100])('are complete: %i in pages of 50', async (count) => {
    service.respond = serve(count, 'offset');
    const ids = await idsOf(service.client().listClients.rows());
    expect(ids.split(' ').filter(Boolean)).toHaveLength(count);
    expect(service.received).toHaveLength(Math.max(1, Math.ceil(count / 50)));
  });

  it('start at a row, or at a cursor', async () => {
    service.respond = serve(7, 'offset');
    const api = service.client();
    expect(await idsOf(api.listClients.rows({ body: { page: 2, pageSize: 3 } }))).toBe('2 3 4 5 6');
    expect(await idsOf(api.listClients.rows({ body: { cursor: '6', pageSize: 3 } }))).toBe('6');
    expect(received()).toEqual([
      { page: 2, pageSize: 3 },
      { pageSize: 3, cursor: '5' },
      { pageSize: 3, cursor: '6' },
    ]);
  });

  it('are read by GET with the page in the query', async () => {
    service.respond = serve(5, 'offset');
    expect(await idsOf(service.client().getClientTypes.rows({ query: { pageSize: 3 } }))).toBe('0 1 2 3 4');
    expect(service.received.map(({ query }) => query)).toEqual([{ pageSize: '3' }, { pageSize: '3', cursor: '3' }]);
  });

  it('are only requested as far as they are read', async () => {
    service.respond = serve(7, 'offset');
    for await (const row of service.client().listClients.rows({ body: { pageSize: 3 } })) if (row.id === '2') break;
    expect(service.received).toHaveLength(1);
  });

  it('end with the problem of the page that fails, after the rows of previous pages', async () => {
    const all = serve(7, 'offset');
    service.respond = (request, index) => (index === 1 ? problem(400, 'INVALID_CURSOR') : all(request));
    const read: string[] = [];
    const walk = async () => {
      for await (const row of service.client().listClients.rows({ body: { pageSize: 3 } })) read.push(row.id);
    };
    await expect(walk()).rejects.toBeInstanceOf(ProblemError);
    expect(read).toEqual(['0', '1', '2']);
  });

  it('end with the signal', async () => {
    service.respond = serve(7, 'offset');
    const controller = new AbortController();
    const walk = async () => {
      for await (const row of service.client().listClients.rows({ body: { pageSize: 3 }, signal: controller.signal })) {
        if (row.id === '2') controller.abort(new Error('enough'));
      }
    };
    await expect(walk()).rejects.toThrow('enough');
    expect(service.received).toHaveLength(1);
  });

  it('fail if the response is not a page', async () => {
    await expect(idsOf(service.client().listClients.rows())).rejects.toBeInstanceOf(UnexpectedResponseError);
  });
});

describe('the rows of a look-up', () => {
  it('are read by cursor', async () => {
    service.respond = serve(7, 'number');
    const input = { path: { type: 'WorkCode' }, body: { pageSize: 3 } } as const;
    expect(await idsOf(service.client().lookupCodes.rows(input))).toBe('0 1 2 3 4 5 6');
    expect(received()).toEqual([{ pageSize: 3 }, { pageSize: 3, cursor: '1' }, { pageSize: 3, cursor: '2' }]);
  });

  it('start at a page', async () => {
    service.respond = serve(7, 'number');
    expect(await idsOf(service.client().lookupStaffTypes.rows({ body: { page: 1, pageSize: 3 } }))).toBe('3 4 5 6');
  });

  it('are read by GET with the page in the query', async () => {
    service.respond = serve(5, 'number');
    const query = { clientRef: 'C-01042', pageSize: 3 };
    expect(await idsOf(service.client().listUnpaidInvoices.rows({ query }))).toBe('0 1 2 3 4');
    expect(service.received.map((request) => request.query)).toEqual([
      { clientRef: 'C-01042', pageSize: '3' },
      { clientRef: 'C-01042', pageSize: '3', cursor: '1' },
    ]);
  });

  it.each([0, 3, 6])('end with the last page: %i in pages of 3', async (count) => {
    service.respond = serve(count, 'number');
    await idsOf(service.client().lookupStaffTypes.rows({ body: { pageSize: 3 } }));
    expect(service.received).toHaveLength(Math.max(1, count / 3));
  });
});

describe('pages that end early', () => {
  it('are followed, so that each row is read once', async () => {
    const sizes = [2, 1, 3];
    service.respond = ({ body }) => {
      const { cursor = '0' } = body as { readonly cursor?: string };
      const [index = 0, first = 0] = cursor.split('.').map(Number);
      const end = first + (sizes[index] ?? 0);
      const data = Array.from({ length: end - first }, (_, row) => ({ id: `${first + row}` }));
      const hasMore = index < sizes.length - 1;
      return { body: { data, page: 0, pageSize: 3, hasMore, nextCursor: hasMore ? `${index + 1}.${end}` : null } };
    };
    const api = service.client();
    expect(await idsOf(api.listClients.rows({ body: { pageSize: 3 } }))).toBe('0 1 2 3 4 5');
    expect(await idsOf(api.lookupStaffTypes.rows({ body: { pageSize: 3 } }))).toBe('0 1 2 3 4 5');
  });

  it('fail without a cursor, instead of ending the list', async () => {
    service.respond = () => ({ body: { data: [{ id: '0' }], page: 0, pageSize: 3, hasMore: true, nextCursor: null } });
    await expect(idsOf(service.client().lookupStaffTypes.rows())).rejects.toThrow('no cursor');
  });
});

describe('a list that repeats a page', () => {
  it.each(['offset', 'number'] as const)('fails instead of repeating forever: %s', async (paging) => {
    const first = serve(7, paging);
    service.respond = (request) => first({ ...request, body: { pageSize: 3 } });
    const api = service.client();
    const body = { pageSize: 3 };
    const rows = paging === 'offset' ? api.listClients.rows({ body }) : api.lookupStaffTypes.rows({ body });
    await expect(idsOf(rows)).rejects.toThrow('The list returned');
    expect(service.received).toHaveLength(2);
  });
});

describe('the pages', () => {
  it('are returned whole, with the total once', async () => {
    service.respond = serve(5, 'offset');
    const pages = [];
    for await (const page of service.client().listClients.pages({ body: { pageSize: 3, includeTotal: true } }))
      pages.push(page);
    expect(pages.map(({ data, total, nextCursor }) => [data.length, total, nextCursor])).toEqual([
      [3, 5, '3'],
      [2, undefined, null],
    ]);
    expect(received()).toEqual([
      { pageSize: 3, includeTotal: true },
      { pageSize: 3, cursor: '3' },
    ]);
  });
});
