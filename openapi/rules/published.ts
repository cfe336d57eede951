/**
 * The published contract has no schema that nothing in it refers to: tools report such a schema, or generate a type that nobody needs. The
 * service and the types need some of them: the rows of events that do not exist yet, and what callers write on each row.
 */
import { type JsonObject, objectOf } from './contract.ts';
import { reachable } from './reachable.ts';

/** Returns the published contract, and the other schemas by their names. */
export function splitSchemas(contract: JsonObject): { published: JsonObject; others: JsonObject } {
  const { schemas: all, ...components } = objectOf(contract.components);
  const schemas = objectOf(all);
  const used = reachable({ ...contract, components }, schemas);
  const [published, others] = [true, false].map((isUsed) =>
    Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name) === isUsed)),
  );
  return {
    published: { ...contract, components: { schemas: published, ...components } },
    others: others ?? {},
  };
}
