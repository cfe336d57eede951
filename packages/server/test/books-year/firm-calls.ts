/** Sends a request over HTTP, with the token and the tenant of an API user. */
export interface Sender {
  call(method: string, path: string, body?: unknown): Promise<{ readonly status: number; readonly body: unknown }>;
}

/** The result of an item of a bulk call. */
export interface Written {
  readonly id: string;
  readonly status: string;
  readonly attributes: Readonly<Record<string, unknown>> | null;
  readonly error: unknown;
}

/** An item of a bulk call. */
export interface Item {
  readonly type: string;
  readonly systemRef: string;
  readonly attributes: object;
}

type Row = Readonly<Record<string, unknown>>;
interface Group {
  readonly key: Readonly<Record<string, string | null>>;
  readonly values: Readonly<Record<string, string | null>>;
}

const maxPageSize = 1_000;

/** The calls of a firm: one API user prepares, another one approves. */
export class FirmCalls {
  readonly #preparer: Sender;
  readonly #approver: Sender;
  /** How many calls were made. */
  count = 0;

  constructor(preparer: Sender, approver: Sender) {
    this.#preparer = preparer;
    this.#approver = approver;
  }

  create = (items: readonly Item[], size = 100) => this.#write(this.#preparer, 'POST', 'records', items, size);
  update = (items: readonly Item[], size = 100) => this.#write(this.#preparer, 'PUT', 'records', items, size);
  approve = (items: readonly Item[], size = 100) => this.#write(this.#approver, 'PUT', 'records', items, size);
  enter = (items: readonly Item[]) => this.#write(this.#preparer, 'POST', 'entries', items, 100);
  approveEntries = (items: readonly Item[]) => this.#write(this.#approver, 'POST', 'entries', items, 100);
  codes = (items: readonly Item[]) => this.#write(this.#preparer, 'POST', 'codes', items, 100);

  /** All rows of a resource, page by page. */
  async rows(resource: string, where: object = {}): Promise<Row[]> {
    return await this.#all<Row>(`/gql/v1/${resource}/search`, { where });
  }

  /** All groups of an aggregate, page by page. */
  async groups(resource: string, request: object): Promise<Group[]> {
    return await this.#all<Group>(`/gql/v1/${resource}/aggregate`, request);
  }

  /** @throws Error unless the call succeeds */
  async call<Body>(method: string, path: string, request: object, by = this.#preparer): Promise<Body> {
    this.count += 1;
    const { status, body } = await by.call(method, path, request);
    if (status >= 300) throw new Error(`${method} ${path} returned ${status}: ${JSON.stringify(body).slice(0, 1_000)}`);
    return body as Body;
  }

  async #all<Found>(path: string, request: object): Promise<Found[]> {
    const found: Found[] = [];
    for (let cursor: string | null = null; ; ) {
      const sent: object = { ...request, pageSize: maxPageSize, ...(cursor === null ? {} : { cursor }) };
      const page: { data: Found[]; nextCursor: string | null } = await this.call('POST', path, sent);
      found.push(...page.data);
      cursor = page.nextCursor;
      if (cursor === null) return found;
    }
  }

  /** @throws Error if an item fails */
  async #write(by: Sender, method: string, path: string, items: readonly Item[], size: number): Promise<Written[]> {
    const all: Written[] = [];
    for (let from = 0; from < items.length; from += size) {
      const sent = items.slice(from, from + size);
      const { records } = await this.call<{ records: Written[] }>(method, `/api/v1/${path}`, { records: sent }, by);
      for (const [index, item] of records.entries())
        if (item.status === 'FAILED')
          throw new Error(`${JSON.stringify(sent[index])} failed: ${JSON.stringify(item.error)}`);
      all.push(...records);
    }
    return all;
  }
}
