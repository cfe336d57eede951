import type { AnyEntity } from '../../entity/entity.ts';
import { allEntities, fromAllEntities } from '../../entity/registry.ts';

/** A field of the rows of an entity that refers to a client. */
export interface ClientReference {
  readonly entity: AnyEntity;
  readonly field: string;
  readonly column: string;
}

/** All stored references to clients: whatever an entity declares moves. Other views of the same rows are left out. */
export const clientReferences = fromAllEntities((): readonly ClientReference[] =>
  [...allEntities()]
    .filter(({ writable, isAppendOnly }) => writable || isAppendOnly)
    .flatMap((entity) =>
      entity.ownFields.flatMap(({ name, column, references }) =>
        references === 'Client' ? [{ entity, field: name, column }] : [],
      ),
    ),
);
