import type { Store } from '../src/platform/store/store.ts';

/** A store with a replaced `read`. */
export function withReads(store: Store, read: Store['read']): Store {
  return {
    engine: store.engine,
    standbys: store.standbys,
    cells: store.cells,
    cell: (number) => store.cell(number),
    cellOf: (tenantId) => store.cellOf(tenantId),
    read,
    write: (tenantId, work) => store.write(tenantId, work),
    system: (work) => store.system(work),
    owner: store.owner,
    writeNew: (insert, work) => store.writeNew(insert, work),
    snapshot: (find, work) => store.snapshot(find, work),
    ownerStatements: (text, values) => store.ownerStatements(text, values),
    listen: (channel, onNotification) => store.listen(channel, onNotification),
    notify: (channel, payload) => store.notify(channel, payload),
    ready: () => store.ready(),
    close: () => store.close(),
  };
}
