/** Devices, in the shapes of ASP.NET: `rowVersion` in the body, `ProblemDetails`, `nextLink`, and a batch with 207. */
import { rejection } from '../../servers/kit/rejection.ts';
import type { Call, Result } from '../../servers/kit/serve.ts';
import {
  bearerAuth,
  bearerCaller,
  type Caller,
  clock,
  found,
  type Input,
  inputOf,
  json,
  readCounter,
  stranger,
} from './stranger.ts';

interface Device {
  readonly id: number;
  readonly serialNumber: unknown;
  name: unknown;
  readonly model: unknown;
  readonly status: unknown;
  location: unknown;
  rowVersion: string;
  readonly createdOn: string;
}

const [deletion, batch] = ['DELETE /api/Devices/{id}', 'POST /api/Devices/batch'];
const [list, update] = ['GET /api/Devices', 'PUT /api/Devices/{id}'];
const [create, read, move] = ['POST /api/Devices', 'GET /api/Devices/{id}', 'PUT /api/Devices/{id}/location'];

export const aspnet = stranger(
  'aspnet',
  {
    roles: {
      'delete-with-read': `${deletion}: devices.read suffices to delete a device`,
      'move-with-read': `${move}: devices.read suffices to set a location`,
    },
    locking: {
      'stale-row-version': `${update}: a stale rowVersion is accepted`,
      'row-version-moves': `${read}: each read changes rowVersion`,
      'row-version-kept': `${update}: an update does not change rowVersion`,
    },
    writes: {
      'name-lost': `${update}: a name is returned, and not stored`,
      'floor-zero-lost': `${move}: a floor of 0 is not stored`,
      'location-lost': `${move}: a location is not stored`,
    },
    lists: {
      'next-repeats': `${list}: the next page begins with the last device again`,
      'size-capped': `${list}: a page has at most 5 devices`,
      'next-filter-lost': `${list}: the next page ignores the filter`,
    },
    bulk: {
      'batch-last-lost': `${batch}: the last device is not stored`,
      'batch-stops': `${batch}: what follows a failure is not stored`,
      'batch-failed-stored': `${batch}: what fails is stored`,
    },
    'later reads': { 'third-read-model': `${read}: later reads have no model` },
  },
  bearerAuth(['devices.read', 'devices.write', 'devices.admin'], 1),
  (contract, is) => {
    const now = clock();
    const readsOf = readCounter();
    const devices: Device[] = [];
    let count = 40;
    let version = 0;
    const nextVersion = () => Buffer.from(String(++version).padStart(8, '0')).toString('base64');
    const add = ({ name, serialNumber, model = null, status = 'Active' }: Input): Device => {
      const system = { location: undefined, rowVersion: nextVersion(), createdOn: now() };
      const device = { id: ++count, name, serialNumber, model, status, ...system };
      devices.push(device);
      return device;
    };
    for (const index of Array(9).keys()) {
      const status = ['Active', 'Inactive', 'Retired'][index % 3];
      const device = add({ name: `Sensor ${index}`, serialNumber: `SN-${700 + index * 3}`, model: 'T-8', status });
      if (index % 2 === 0) device.location = { building: `B${index}`, floor: index };
    }
    const deviceOf = ({ values }: Call<Caller>) => found(devices.find(({ id }) => id === values.path.id));
    const isTaken = (serialNumber: unknown) => devices.some((one) => one.serialNumber === serialNumber);
    const problem = (status: number, detail: string) => ({ type: 'about:blank', title: detail, status, detail });

    function page(call: Call<Caller>): Result {
      const { pageSize: asked = 25, continuationToken, status } = call.values.query as Record<string, number & string>;
      const pageSize = is('size-capped') ? Math.min(asked, 5) : asked;
      const after = continuationToken === undefined ? 0 : Number(Buffer.from(continuationToken, 'base64').toString());
      if (!Number.isInteger(after)) throw rejection(400, 'The continuation token is unknown.');
      const isOther = continuationToken !== undefined && is('next-filter-lost');
      const all = devices.filter((one) => status === undefined || one.status === status || isOther);
      const rows = all.filter(({ id }) => id > after);
      const value = rows.slice(0, pageSize);
      const last = (value.at(-1)?.id ?? 0) - Number(is('next-repeats') && pageSize > 1);
      const query = new URLSearchParams({ pageSize: String(pageSize) });
      query.set('continuationToken', Buffer.from(String(last)).toString('base64'));
      if (status !== undefined) query.set('status', status);
      return json(200, { value, nextLink: rows.length > pageSize ? `${call.base}/api/Devices?${query}` : null });
    }

    return {
      contract,
      lenient: true,
      authenticate: (operation, request) =>
        bearerCaller(operation, request, (scopes) => {
          const needed = operation.security.flatMap((one) => Object.values(one).flat());
          const open = is('delete-with-read') ? deletion : is('move-with-read') ? move : '';
          const isReader = operation.id === open && scopes.includes('devices.read');
          return isReader || needed.every((scope) => scopes.includes(scope));
        }),
      reject: ({ status, message }) => ({
        status,
        mediaType: 'application/problem+json',
        body: problem(status, message),
      }),
      handlers: {
        [list]: page,
        [create]: (call) => {
          if (isTaken(inputOf(call).serialNumber)) throw rejection(409, 'The serial number is taken.');
          return json(201, add(inputOf(call)));
        },
        [batch]: (call) => {
          const { devices: inputs } = inputOf(call) as { devices: Input[] };
          let isStopped = false;
          const results = inputs.map((input, index) => {
            if (isStopped) return { status: 424, problem: problem(424, 'Another device failed.') };
            if (isTaken(input.serialNumber)) {
              isStopped = is('batch-stops');
              if (is('batch-failed-stored')) add({ ...input, serialNumber: `${input.serialNumber}-x` });
              return { status: 409, problem: problem(409, 'The serial number is taken.') };
            }
            const device = add(input);
            if (is('batch-last-lost') && index > 0 && index === inputs.length - 1) devices.pop();
            return { status: 201, device };
          });
          return json(207, { results });
        },
        [read]: (call) => {
          const device = deviceOf(call);
          if (is('row-version-moves')) device.rowVersion = nextVersion();
          const isLater = readsOf(device) > 2 && is('third-read-model');
          return json(200, isLater ? { ...device, model: null } : device);
        },
        [update]: (call) => {
          const device = deviceOf(call);
          const { name, model = null, status, rowVersion } = inputOf(call);
          if (rowVersion !== device.rowVersion && !is('stale-row-version'))
            throw rejection(409, 'The device was changed by somebody else.');
          const before = device.name;
          Object.assign(device, { name, model, status });
          if (!is('row-version-kept')) device.rowVersion = nextVersion();
          const result = { ...device };
          if (is('name-lost')) device.name = before;
          return json(200, result);
        },
        [deletion]: (call) => {
          devices.splice(devices.indexOf(deviceOf(call)), 1);
          return { status: 204 };
        },
        [move]: (call) => {
          const device = deviceOf(call);
          const { building, floor } = inputOf(call);
          if (!is('location-lost'))
            device.location = {
              building,
              ...(floor !== undefined && !(floor === 0 && is('floor-zero-lost')) && { floor }),
            };
          return { status: 204 };
        },
      },
    };
  },
);
