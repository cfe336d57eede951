import type { Random } from '@financial-automation/demo-data/profiles/random';
import { sql } from 'kysely';
import { allOperations, contract, type Operation, type Schema } from '../../src/contract/contract.ts';
import { resolved } from '../../src/contract/fields.ts';
import { entityOf } from '../../src/entity/registry.ts';
import { typesWith } from '../../src/modules/bulk/standard-types.ts';
import type { TestService } from '../service.ts';
import type { World } from './world.ts';

interface Page {
  readonly hasMore: boolean;
  readonly data: readonly unknown[];
}

/** The types of rows in a path parameter. */
const typeOfPath: Readonly<Record<string, string>> = {
  listContactsByClient: 'Client',
  getClientStatement: 'Client',
  getInvoiceDocument: 'Invoice',
  getPersonalData: 'Contact',
  listEngagementDocuments: 'Engagement',
  getEngagementBatchStatus: 'EngagementBatch',
  listDeliveries: 'EventSubscription',
};

/** Reads every list and search, and rows by ID: those that the other reads return are the same rows. */
export class Reads {
  readonly #service: TestService;
  readonly #world: World;
  readonly #random: Random;

  constructor(service: TestService, world: World, random: Random) {
    this.#service = service;
    this.#world = world;
    this.#random = random;
  }

  /**
   * @param most number of rows that each read by ID returns
   * @returns the statuses other than 200, and the number of reads
   */
  async readAll(most: number): Promise<{ readonly wrong: readonly string[]; readonly reads: number }> {
    const wrong: string[] = [];
    let reads = 0;
    const read = async (method: string, path: string, body?: object) => {
      const response = await this.#service.call<Page>(method, path, body);
      reads += 1;
      if (response.status !== 200) wrong.push(`${method} ${path}: ${response.status} ${JSON.stringify(response.body)}`);
      return response.body;
    };
    for (const operation of allOperations.filter(({ id }) => /^(list|search|lookup|get)/.test(id)))
      for (const path of await this.#paths(operation, most))
        if (operation.method === 'GET') await read('GET', path);
        else await readPages(path, operation.paging, read);
    return { wrong, reads };
  }

  /** The paths of an operation, with each parameter that a row has. */
  async #paths({ id, path }: Operation, most: number): Promise<readonly string[]> {
    // One row of each type: the others are those of the lookup.
    if (id === 'getRecord') return this.#byReference(path);
    if (path.includes('{type}')) return typesFor(path).map((type) => path.replace('{type}', type));
    if (path.includes('{name}')) return [path.replace('{name}', String(this.#world.home('CustomRecordType').name))];
    if (id === 'listUnpaidInvoices') return [`${path}?clientRef=${encodeURIComponent(await this.#clientRef())}`];
    if (!path.includes('{')) return [path];
    // An invoice that is not posted has no document.
    const which = id === 'getInvoiceDocument' ? sql`e.posted_at is not null` : undefined;
    const ids = await this.#idsOf(typeOfPath[id] ?? typeOfResponse(path), which);
    const chosen = ids.length <= most ? ids : ids.filter(() => this.#random.chance(most / ids.length));
    const query = id === 'getClientStatement' ? '?from=2026-01-01&to=2026-12-31' : '';
    return chosen.map((one) => path.replace('{format}', 'json').replace(/\{[^}]+\}/, one) + query);
  }

  /** The `clientRef` of a client as it is now: random writes change it. */
  async #clientRef(): Promise<string> {
    const { id } = this.#world.home('Client');
    const { body } = await this.#service.call<{ clientRef: string }>('GET', `/gql/v1/client/${id}`);
    return body.clientRef;
  }

  async #byReference(path: string): Promise<readonly string[]> {
    const found = await Promise.all(
      typesFor(path).map(async (type) => {
        const [id] = await this.#idsOf(type);
        const entity = entityOf(type);
        if (id === undefined || entity === undefined) return [];
        const rows = await this.#service.store.read(this.#service.tenant.id, (session) =>
          session.all<{ ref: string }>(sql`select system_ref as ref from ${sql.table(entity.table)} where id = ${id}`),
        );
        return rows.map(({ ref }) => `${path.replace('{type}', type)}?ref=${encodeURIComponent(ref)}`);
      }),
    );
    return found.flat();
  }

  async #idsOf(type: string, which = sql`true`): Promise<readonly string[]> {
    const entity = entityOf(type);
    const { id } = this.#service.tenant;
    // A batch is no row of an entity.
    if (entity === undefined && type !== 'RecordBatch') throw new Error(`There are no rows of ${type}.`);
    const rows = await this.#service.store.read(id, (session) =>
      session.all<{ id: string }>(sql`
        select e.id from ${sql.table(entity?.table ?? 'record_batch')} e
        where ${entity?.within('e', id) ?? sql`e.tenant_id = ${id}`} and ${which} order by e.id`),
    );
    return rows.map((row) => row.id);
  }
}

async function readPages(
  path: string,
  paging: Operation['paging'],
  read: (method: string, path: string, body: object) => Promise<Page>,
): Promise<void> {
  const pageSize = paging === 'offset' ? 1000 : 100;
  for (let page = 0; ; page += 1) {
    const body = paging === null ? {} : { page: paging === 'offset' ? page * pageSize : page, pageSize };
    const { hasMore } = await read('POST', path, body);
    if (hasMore !== true) return;
  }
}

function typesFor(path: string): readonly string[] {
  const extension = path.includes('/codes/') ? 'x-code-type' : path.includes('/entries/') ? 'x-entry-type' : 'x-record';
  return [...typesWith(extension).keys()];
}

/** The type of the row that an operation returns. */
function typeOfResponse(path: string): string {
  const { get }: { get?: { responses?: Readonly<Record<string, unknown>> } } = Object(contract.paths[path]);
  const response: { content?: Readonly<Record<string, { schema: Schema }>> } = Object(get?.responses?.['200']);
  const schema = response.content?.['application/json']?.schema;
  const name = schema?.$ref?.split('/').at(-1) ?? '';
  return (schema === undefined ? undefined : resolved(schema)['x-type']) ?? name;
}
