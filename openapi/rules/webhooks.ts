/**
 * The catalog of events is created from the webhooks: one per event that can be subscribed to, found by its name, with the
 * row of the event as `data`. Two names for one event would be two rows of the catalog.
 */
import { isReference, type Place, wholeContract } from './contract.ts';
import { rowExtensions } from './extension-table.ts';
import { contentOf, partsOf, propertiesOf } from './schemas.ts';

const endings: Record<string, string> = { CREATE: 'Created', UPDATE: 'Updated', DELETE: 'Deleted' };

export const webhooks = wholeContract((root, report) => {
  for (const [name, item] of root.map('webhooks')) {
    const event = item.get('post', 'x-event');
    const entityType = event?.text('entityType');
    if (event === undefined || entityType === undefined) {
      report(item, 'Declare in `x-event` on `post` which event the webhook is.');
      continue;
    }
    const wanted = `${entityType.charAt(0).toLowerCase()}${entityType.slice(1)}${endings[event.text('operation') ?? '']}`;
    if (name !== wanted) report(item, `Name the webhook ${wanted}, after its event.`);
    if (item.text('post', 'operationId') !== name)
      report(item, `Set the operationId of the webhook to its name, ${name}.`);
    const file = `webhooks/${wanted.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}.yaml`;
    if (isReference(item.raw) && item.raw.$ref.startsWith('webhooks/') && item.raw.$ref !== file) {
      report(item, `Put the webhook into ${file}: the name follows from the event.`);
    }
    const headers = item.list('post', 'parameters').map((parameter) => parameter.text('name'));
    for (const header of ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'traceparent']) {
      if (!headers.includes(header)) report(item, `Declare the header ${header}: every event has it.`);
    }
    const responses = item.get('post', 'responses')?.keys() ?? [];
    for (const status of ['2XX', '410']) {
      if (!responses.includes(status)) report(item, `Describe what happens if the receiver responds with ${status}.`);
    }
    const body = item.get('post', 'requestBody');
    if (body === undefined || contentOf(body).length !== 1) report(item, 'Describe the body with one schema.');
    for (const schema of body === undefined ? [] : contentOf(body)) {
      const says = (key: string) =>
        propertiesOf(schema)
          .get(key)
          ?.flatMap((part) => part.get('const')?.value ?? []) ?? [];
      if (!says('operation').includes(event.text('operation') ?? ''))
        report(schema, 'Fix `operation` in the body to that of `x-event`.');
      // The type of a custom record is the name that its type was given.
      const isCustom = entityType === 'CustomRecord';
      if (!isCustom && !says('entityType').includes(entityType))
        report(schema, 'Fix `entityType` in the body to that of `x-event`.');
      const data =
        propertiesOf(schema)
          .get('data')
          ?.flatMap((part) => partsOf(part)) ?? [];
      // An event that omits fields of its row, such as rates, has a schema of its own.
      const names = [entityType, `${entityType}EventData`];
      if (!isCustom && !data.some((part) => names.includes(part.name ?? '')))
        report(schema, `Describe the row in \`data\` with the schema ${entityType}.`);
      // In the bundle, an event that omits fields has a schema of its own, next to that of the row.
      const schemas = root.map('components', 'schemas');
      const row = [...data, ...schemas.flatMap(([name, part]) => (typeOf(name, part) === entityType ? part : []))];
      const isRead = row.some((part) => rowExtensions.some((extension) => part?.get(extension) !== undefined));
      if (isRead === (event.get('readRoles') !== undefined))
        report(
          item,
          'List the roles that read such rows either in `readRoles` of `x-event` or in the schema of the row.',
        );
    }
  }
});

/** The type that a component describes. */
function typeOf(name: string, schema: Place): string {
  return schema.text('x-type') ?? name;
}
