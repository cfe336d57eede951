import { allOperations, contract, type Operation, type Schema } from '../../src/contract/contract.ts';
import { resolved } from '../../src/contract/fields.ts';
import type { RecordType } from '../../src/modules/bulk/record-type.ts';
import { type TypeExtension, typesWith } from '../../src/modules/bulk/standard-types.ts';
import type { TestCaller } from '../service.ts';
import { type Choices, onlyRequired } from './bodies.ts';
import { attributesOf } from './places.ts';
import type { World } from './world.ts';

/** The result of a body: whether it was written, and otherwise why not. */
export interface Written {
  readonly isAccepted: boolean;
  readonly id: string | undefined;
  readonly systemRef: string | undefined;
  readonly code: string | undefined;
  readonly detail: string;
  readonly pointers: readonly string[];
}

/** A way to write rows. */
export interface Door {
  readonly name: string;
  readonly schema: Schema;
  body(choices: Choices): unknown;
  /** Writes each body. @throws Error if a response has another status than 2xx or 4xx. */
  send(bodies: readonly unknown[]): Promise<readonly Written[]>;
}

const batches: Readonly<Record<TypeExtension, string>> = {
  'x-record': '/api/v1/records',
  'x-code-type': '/api/v1/codes',
  'x-entry-type': '/api/v1/entries',
};

interface Item {
  readonly status: string;
  readonly id: string | null;
  readonly systemRef: string | null;
  readonly error: { readonly code: string; readonly detail: string; readonly pointer: string | null } | null;
}

interface Rejection {
  readonly id?: string;
  /** Items that failed alone. */
  readonly failed?: readonly { readonly code: string; readonly detail: string; readonly pointer: string | null }[];
  readonly code?: string;
  readonly detail?: string;
  readonly errors?: readonly { readonly pointer?: string; readonly detail?: string }[];
}

/** The types that can be created as records, codes or entries. */
export function rowDoors(world: World, caller: TestCaller): Door[] {
  return (Object.keys(batches) as TypeExtension[]).flatMap((extension) =>
    [...typesWith(extension).values()]
      .filter(({ operations }) => operations.includes('UPSERT'))
      .map((type) => rowDoor(world, caller, type, batches[extension])),
  );
}

function rowDoor(world: World, caller: TestCaller, { name: type, importsOnly }: RecordType, path: string): Door {
  const schema = attributesOf(type);
  return {
    name: type,
    schema,
    body: (choices) => ({
      type,
      systemRef: `${type}-${world.bodies.next()}`,
      ...(importsOnly && { source: 'IMPORT' }),
      attributes: world.bodies.attributes(type, schema, choices),
    }),
    send: (bodies) => sendRows(caller, 'POST', path, bodies),
  };
}

/** Sends items in calls of at most 100. */
export async function sendRows(
  { call }: TestCaller,
  method: string,
  path: string,
  items: readonly unknown[],
): Promise<readonly Written[]> {
  const written: Written[] = [];
  for (let first = 0; first < items.length; first += 100) {
    const records = items.slice(first, first + 100);
    const { status, body } = await call<{ records: Item[] }>(method, path, { records });
    if (status !== 200)
      throw new Error(`${method} ${path} ${JSON.stringify(records)}: ${status} ${JSON.stringify(body)}`);
    written.push(
      ...body.records.map(({ status: outcome, id, systemRef, error }) => ({
        isAccepted: outcome !== 'FAILED',
        id: id ?? undefined,
        systemRef: systemRef ?? undefined,
        code: error?.code,
        detail: error?.detail ?? '',
        pointers: error?.pointer == null ? [] : [error.pointer.replace(/^\/records\/\d+\/attributes/, '')],
      })),
    );
  }
  return written;
}

/** Operations that neither write rows of a type by records nor read. */
export function operationDoors(world: World, caller: TestCaller): Door[] {
  return allOperations.flatMap((operation) => {
    const schema = bodyOf(operation);
    // A batch in the background judges its records later, as `upsertRecords` does.
    const isLater = operation.id === 'createRecordBatch';
    const isOther = operation.paging !== null || isLater || Object.values(batches).includes(operation.path);
    return schema === undefined || isOther || operation.id === 'createToken'
      ? []
      : [operationDoor(world, caller, operation, schema)];
  });
}

/** A row of the tenant for the parameter in the path of an operation. */
const ofPath: Readonly<Record<string, (world: World) => unknown>> = {
  sendInvoice: (world) => world.idOf('Invoice'),
  updateStaff: (world) => world.idOf('Staff'),
  updateEngagement: (world) => world.idOf('Engagement'),
  updateCustomRecordType: (world) => world.home('CustomRecordType').name,
  updateEventSubscription: (world) => world.idOf('EventSubscription'),
  recoverEvents: (world) => world.idOf('EventSubscription'),
};

function operationDoor(world: World, { call }: TestCaller, { id, method, path }: Operation, schema: Schema): Door {
  return {
    name: id,
    schema,
    body: (choices) => {
      const body = world.bodies.make(id, schema, choices);
      return Object.keys(Object(body)).length > 0 ? body : world.bodies.make(id, schema, firstProperty(schema));
    },
    async send(bodies) {
      const written: Written[] = [];
      for (const body of bodies) {
        const place = path.replace(/\{[^}]+\}/, () => String(ofPath[id]?.(world)));
        const response = await call<Rejection>(method, place, body);
        if (response.status >= 500) throw new Error(`${id} ${JSON.stringify(body)}: ${JSON.stringify(response.body)}`);
        const [failed] = response.body.failed ?? [];
        if (failed !== undefined) {
          const { code, detail, pointer } = failed;
          const pointers = pointer === null ? [] : [pointer];
          written.push({ isAccepted: false, id: undefined, systemRef: undefined, code, detail, pointers });
          continue;
        }
        const { code, detail = '', errors = [] } = response.body;
        written.push({
          isAccepted: response.status < 300,
          id: response.body.id,
          systemRef: undefined,
          code: response.status < 300 ? undefined : code,
          detail: errors[0]?.detail ?? detail,
          pointers: errors.flatMap(({ pointer }) => pointer ?? []),
        });
      }
      return written;
    },
  };
}

/** A body with the first optional property, for operations that require any. */
function firstProperty({ properties = {} }: Schema): Choices {
  const [name] = Object.keys(properties);
  return { ...onlyRequired, includes: (pointer) => pointer === `/${name}` };
}

interface Described {
  readonly $ref?: string;
  readonly content?: { readonly 'application/json'?: { readonly schema: Schema } };
}

function bodyOf({ method, path }: Operation): Schema | undefined {
  const described: { requestBody?: Described } | undefined = Reflect.get(
    contract.paths[path] ?? {},
    method.toLowerCase(),
  );
  const schema = described?.requestBody?.content?.['application/json']?.schema;
  return schema === undefined ? undefined : resolved(schema);
}
