import { isIP } from 'node:net';
import { Ajv, type JSONSchemaType } from 'ajv';
import { schemaOf } from '../contract/contract.ts';
import { Rejection } from '../contract/rejection.ts';
import type { TenantSettings } from '../platform/auth/caller.ts';

/**
 * All settings that `tenant set` changes. Currency and time zone have their own columns; the others are in
 * `tenant.settings`.
 */
export interface OperatorSettings extends TenantSettings {
  readonly currency: string;
  readonly timeZone: string;
}

const tenantProperties = {
  hourIncrement: {
    type: 'string',
    enum: ['0.10', '0.25'],
    default: '0.10',
    description: 'the increment of recorded hours: 0.10 or 0.25',
  },
  timeApproval: {
    type: 'boolean',
    default: true,
    description: 'whether submitted time and expense entries require approval: on or off',
  },
  selfApproval: {
    type: 'boolean',
    default: false,
    description: 'whether users can approve what they created: on or off',
  },
  reviewCompletedJobs: {
    type: 'boolean',
    default: false,
    description: 'whether a job changes to IN_REVIEW when all its tasks are completed: on or off',
  },
  wipEvents: {
    type: 'boolean',
    default: true,
    // The write costs the same with them, and only who subscribes to them has more deliveries.
    description:
      'whether WipEntry events are sent: on or off. Each approval of time and each billing has one for every entry, which are stored for 30 days',
  },
  deliveryPorts: {
    type: 'array',
    items: { type: 'integer', minimum: 1, maximum: 65_535 },
    uniqueItems: true,
    maxItems: 20,
    default: [],
    description:
      'a list of ports in addition to 443 to which events can be delivered: numbers separated by commas, or none',
  },
  allowedAddresses: {
    type: 'array',
    items: { type: 'string', format: 'ip-network' },
    uniqueItems: true,
    maxItems: 200,
    default: [],
    description:
      'a list of IP addresses and networks from which calls are accepted, such as 203.0.113.7,2001:db8::/32, or none to accept all. Payment pages and download URLs remain open to everyone who has the link',
  },
  allowedClientIds: {
    type: 'array',
    items: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,100}$' },
    uniqueItems: true,
    maxItems: 200,
    default: [],
    description:
      'a list of accepted values of X-Client-Id, separated by commas, or none to accept all. They are no secret: any caller can send one. The console, which sends none, is then closed',
  },
} satisfies JSONSchemaType<TenantSettings>['properties'];

const operatorProperties = {
  currency: { type: 'string', format: 'currency', description: 'an ISO 4217 code, such as USD' },
  timeZone: { type: 'string', format: 'time-zone', description: 'an IANA time zone, such as America/New_York' },
  ...tenantProperties,
} satisfies JSONSchemaType<OperatorSettings>['properties'];

const formats = {
  currency: (text: string) => new RegExp(schemaOf('Currency').pattern ?? '').test(text),
  'time-zone': isTimeZone,
  'ip-network': isIpNetwork,
};
// Our schemas are valid, and compiling the meta-schema would take longer than compiling them.
const written = { formats, meta: false, validateSchema: false };
// Settings that a later version of the program has stored are ignored.
const fillDefaults = new Ajv({ ...written, useDefaults: true, removeAdditional: true }).compile<TenantSettings>({
  type: 'object',
  properties: tenantProperties,
  additionalProperties: false,
});
const validate = new Ajv(written).compile<Partial<OperatorSettings>>({
  type: 'object',
  properties: operatorProperties,
});

interface SettingSchema {
  readonly type: string;
  readonly enum?: readonly string[];
  readonly items?: { readonly type: string };
  /** Its values, or its purpose. */
  readonly description: string;
}

/** Every setting, in the order in which they are shown. */
export const settingSchemas: ReadonlyMap<string, SettingSchema> = new Map(Object.entries(operatorProperties));

/** What an administrator of the tenant cannot change: amounts and days depend on it, and which ports the service may reach. */
export const settingsOfOperator: ReadonlySet<string> = new Set(['currency', 'timeZone', 'deliveryPorts']);

/** Stored settings, with defaults for the others. @throws Error if a stored value is invalid. */
export function readTenantSettings(stored: unknown): TenantSettings {
  const settings = structuredClone(stored);
  if (fillDefaults(settings)) return settings;
  const [fault] = fillDefaults.errors ?? [];
  throw new Error(`The tenant's settings are invalid: ${fault?.instancePath} ${fault?.message}.`);
}

/**
 * Parses the value of a setting as it is entered.
 *
 * @throws Rejection `VALIDATION_ERROR` with the settings, or the values of this one
 */
export function parseSetting(name: string, text: string): Partial<OperatorSettings> {
  const schema = settingSchemas.get(name);
  if (schema === undefined) {
    throw new Rejection(
      'VALIDATION_ERROR',
      `"${name}" is not a setting of tenants. The settings are: ${[...settingSchemas.keys()].join(', ')}.`,
    );
  }
  const setting = { [name]: fromText(schema, text) };
  if (validate(setting)) return setting;
  throw new Rejection('VALIDATION_ERROR', `"${text}" is not a valid ${name}, which is ${schema.description}.`);
}

const switchWords: ReadonlyMap<string, boolean> = new Map([
  ['on', true],
  ['off', false],
]);

function fromText(schema: SettingSchema, text: string): unknown {
  if (schema.type === 'boolean') return switchWords.get(text) ?? text;
  if (schema.type !== 'array') return text;
  if (text === 'none') return [];
  const parts = text.split(',').map((part) => part.trim());
  return schema.items?.type === 'integer' ? parts.map((part) => (/^\d{1,5}$/.test(part) ? Number(part) : part)) : parts;
}

/** Whether text is an IANA time zone. `Temporal` also accepts offsets, which have no clock changes. */
export function isTimeZone(text: string): boolean {
  if (!/^[A-Za-z]/.test(text)) return false;
  try {
    new Temporal.ZonedDateTime(0n, text);
    return true;
  } catch {
    return false;
  }
}

function isIpNetwork(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/');
  const version = isIP(address);
  if (version === 0 || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}
