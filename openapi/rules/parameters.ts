/**
 * The headers that the service reads of every call must be declared on every call. Otherwise the validator does not check
 * them, the client does not send them and the reference does not show them.
 */
import { changesItems, changesRow, isOneRow } from './conditions.ts';
import { eachOperation, isPublic, parameterNamed } from './contract.ts';

export const parameters = eachOperation((operation, report) => {
  const { place, method, path } = operation;
  for (const name of ['Tenant', 'traceparent', 'X-Client-Id']) {
    if (parameterNamed(operation, name) === undefined) report(operation.place, `Declare the header ${name}.`);
  }

  const tenant = parameterNamed(operation, 'Tenant');
  // Without a token there is a key, and the key has a tenant.
  if (tenant !== undefined && (tenant.get('required')?.value === true) === isPublic(operation)) {
    report(tenant, 'Require `Tenant` wherever a token is needed, and only there.');
  }

  // Two people who change the same row must be able to notice.
  if ((changesRow(operation) || changesItems(operation)) !== (parameterNamed(operation, 'If-Match') !== undefined)) {
    report(place, 'Declare `If-Match` where an operation changes one row, and only there.');
  }
  if ((isOneRow(operation) && method === 'get') !== (parameterNamed(operation, 'If-None-Match') !== undefined)) {
    report(place, 'Declare `If-None-Match` where an operation returns one row, and only there.');
  }

  for (const parameter of operation.parameters.filter(({ layers }) => layers.length > 0)) {
    const name = parameter.text('name') ?? '';
    const isHeader = parameter.text('in') === 'header';
    if (!isHeader && !/^[a-z][A-Za-z0-9]*$/.test(name))
      report(parameter.home, `Name the parameter ${name} in camelCase.`);
    if (parameter.text('in') === 'path' && parameter.get('required')?.value !== true) {
      report(parameter.home, `Require the parameter ${name}: a path is not complete without it.`);
    }
    if (parameter.text('in') === 'path' && !path.includes(`{${name}}`)) {
      report(parameter, `Remove the parameter ${name}: the path does not have it.`);
    }
  }
});
