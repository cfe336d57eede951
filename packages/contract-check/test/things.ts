import { writeFile } from 'node:fs/promises';
import { indexContract } from './servers/kit/contract.ts';
import { type Alter, type Call, type Handler, type Running, serve } from './servers/kit/serve.ts';

const settings = {
  type: 'object',
  required: ['theme', 'limit'],
  properties: {
    theme: { enum: ['dark', 'light'] },
    limit: { type: 'integer', minimum: 1, maximum: 90 },
    changes: { type: 'integer', readOnly: true },
  },
};
const name = { type: 'string', minLength: 1, maxLength: 80 };
const named = { type: 'object', properties: { name } };
const thing = {
  type: 'object',
  required: ['id', 'name'],
  properties: { id: { type: 'string', readOnly: true }, name },
};
const content = (schema: object) => ({ 'application/json': { schema } });
const operation = (operationId: string, status: number, schema?: object, body?: object) => ({
  operationId,
  ...(body && { requestBody: { required: true, content: content(body) } }),
  responses: {
    [status]: { description: 'Done', ...(schema && { content: content(schema) }) },
    ...Object.fromEntries([400, 404, 405, 415].map((code) => [code, { description: 'Rejected' }])),
  },
});
const things = { type: 'array', items: thing };
const byId = { parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }] };

/** An operation for each effect on data. */
const document = {
  openapi: '3.1.0',
  info: { title: 'Things', version: '1' },
  paths: {
    '/settings': {
      get: operation('readSettings', 200, settings),
      put: operation('replaceSettings', 200, settings, settings),
    },
    '/presets': { get: operation('listPresets', 200, things) },
    '/presets/{id}': {
      ...byId,
      get: operation('getPreset', 200, thing),
      patch: operation('updatePreset', 200, thing, named),
    },
    '/maintenance': { post: operation('startMaintenance', 204) },
    '/notes': { post: operation('createNote', 201, thing, { ...named, required: ['name'] }) },
    '/signals': { post: operation('sendSignal', 201, undefined, { ...named, required: ['name'] }) },
    '/things': {
      get: operation('listThings', 200, things),
      post: operation('createThing', 201, thing, { ...named, required: ['name'] }),
    },
    '/things/{id}': { ...byId, get: operation('getThing', 200, thing), delete: operation('deleteThing', 204) },
  },
};

interface Thing {
  id: string;
  name: string;
}

/** The data of the server. */
export class Things {
  settings: object = { theme: 'dark', limit: 7, changes: 0 };
  readonly presets = new Map<string, Thing>([
    ['first', { id: 'first', name: 'First' }],
    ['second', { id: 'second', name: 'Second' }],
  ]);
  readonly things = new Map<string, Thing>([['old', { id: 'old', name: 'Old' }]]);
  readonly notes = new Set<string>();
  signals = 0;
  isInMaintenance = false;
  #count = 0;

  copy() {
    const { settings, presets, things, notes, signals, isInMaintenance } = this;
    return structuredClone({ settings, presets, things, notes: [...notes], signals, isInMaintenance });
  }

  readonly handlers: Readonly<Record<string, Handler<undefined>>> = {
    readSettings: () => ({ status: 200, body: this.settings }),
    replaceSettings: (call) => {
      const { theme, limit } = bodyOf(call);
      this.settings = { theme, limit, changes: ++this.#count };
      return { status: 200, body: this.settings };
    },
    listPresets: () => ({ status: 200, body: [...this.presets.values()] }),
    getPreset: (call) => one(this.presets, call),
    updatePreset: (call) => {
      const preset = this.presets.get(idIn(call));
      if (preset !== undefined) Object.assign(preset, 'name' in bodyOf(call) ? { name: bodyOf(call).name } : {});
      return one(this.presets, call);
    },
    startMaintenance: () => {
      this.isInMaintenance = true;
      return { status: 204 };
    },
    createNote: (call) => {
      const id = `n${++this.#count}`;
      this.notes.add(id);
      return { status: 201, body: { id, name: bodyOf(call).name } };
    },
    sendSignal: () => {
      this.signals += 1;
      return { status: 201 };
    },
    listThings: () => ({ status: 200, body: [...this.things.values()] }),
    createThing: (call) => {
      const id = `t${++this.#count}`;
      this.things.set(id, { id, name: String(bodyOf(call).name) });
      return { status: 201, body: this.things.get(id) };
    },
    getThing: (call) => one(this.things, call),
    deleteThing: (call) => ({ status: this.things.delete(idIn(call)) ? 204 : 404 }),
  };
}

/** Starts a server, and writes its contract to a file. */
export async function startThings(data: Things, spec: string, alter?: Alter): Promise<Running> {
  await writeFile(spec, JSON.stringify(document));
  return serve(
    {
      contract: indexContract(JSON.parse(JSON.stringify(document))),
      handlers: data.handlers,
      authenticate: () => undefined,
      reject: ({ status }) => ({ status }),
    },
    alter === undefined ? {} : { alter },
  );
}

function bodyOf({ body }: Call<undefined>): Record<string, unknown> {
  return Object(body.value);
}

function idIn({ values }: Call<undefined>): string {
  return String(values.path.id);
}

function one(all: ReadonlyMap<string, Thing>, call: Call<undefined>) {
  const found = all.get(idIn(call));
  return found === undefined ? { status: 404 } : { status: 200, body: found };
}
