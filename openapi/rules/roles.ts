/**
 * Permissions are declared in the contract and nowhere else, and the server does not start if an operation names no role.
 * The roles are the enum of the schema `Role`: no user could have a misspelt one.
 */
import type { Oas3Rule } from '@redocly/openapi-core';
import { nameOf, operationsOf, Place, reporter } from './contract.ts';
import { rowExtensions } from './extension-table.ts';

/** Markers in `x-roles` of operations that require no role (any valid token, or no token). They cannot be granted. */
const markers = ['ANY', 'PUBLIC'];

export const roles: Oas3Rule = () => {
  let known: unknown[] | undefined;
  /** The roles that schemas and properties name. */
  const others: Place[] = [];
  return {
    Schema(schema, context) {
      const { location, resolve } = context;
      const place = new Place(schema, location, resolve);
      if (nameOf(location) === 'Role') known = place.list('enum').map((role) => role.value);
      for (const key of rowExtensions) others.push(...place.list(key, 'readRoles'), ...place.list(key, 'writeRoles'));
      for (const transition of place.list('x-state-machine', 'transitions')) others.push(...transition.list('roles'));
      const isBoolean = place.get('type')?.value === 'boolean';
      const values = isBoolean ? ['true', 'false'] : place.list('enum').map(({ value }) => value);
      for (const [value, required] of place.map('x-value-roles')) {
        if (!values.includes(value))
          reporter(context)(required, `Name a value of the \`enum\` or of a boolean: \`${value}\` is not one.`);
        others.push(...required.items());
      }
      for (const [, implied] of place.map('x-implied-roles'))
        others.push(...(Array.isArray(implied.value) ? implied.items() : [implied]));
    },
    SchemaProperties(properties, { location, resolve }) {
      for (const [, property] of new Place(properties, location, resolve).entries())
        others.push(...property.list('x-read-roles'), ...property.list('x-write-roles'));
    },
    Root: {
      leave(node, context) {
        const report = reporter(context);
        const root = new Place(node, context.location, context.resolve);
        if (known === undefined) {
          report(root, 'List the roles once, as the enum of a schema `Role`, and refer to it.');
          return;
        }
        for (const { place } of operationsOf(root)) {
          const named = place.list('x-roles');
          if (named.length === 0) report(place, 'List the roles that allow the call in `x-roles`.');
          const marker = named.find((role) => markers.includes(String(role.value)));
          if (marker !== undefined && named.length > 1) {
            report(marker, `Remove the other roles: \`${marker.value}\` must be the only one.`);
          }
          others.push(...place.list('x-additional-roles'));
          for (const role of named) if (!markers.includes(String(role.value))) check(role);
          const isOpen = place.get('security')?.items().length === 0;
          if (isOpen !== (marker?.value === 'PUBLIC')) {
            report(place, 'Declare both `x-roles: [PUBLIC]` and `security: []` for a call without a token.');
          }
        }
        for (const role of others) check(role);

        function check(role: Place): void {
          if (!known?.includes(role.value))
            report(role, `Use a role of the schema \`Role\`: \`${role.value}\` is not one.`);
        }
      },
    },
  };
};
