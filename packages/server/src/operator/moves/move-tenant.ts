import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { jobsDue } from '../../background/job-table.ts';
import { zoneFreshness } from '../../platform/store/binding.ts';
import type { Cells } from '../../platform/store/databases/index.ts';
import { actAsMover } from '../../platform/store/databases/index.ts';
import { ForeignKeyViolation, UniqueViolation } from '../../platform/store/errors.ts';
import { recordOperatorAct } from '../../platform/store/operator-log.ts';
import type { Transaction } from '../../platform/store/session.ts';
import type { Store } from '../../platform/store/store.ts';
import { type TenantTable, tenantTables } from '../../platform/store/tenant-tables.ts';
import { eventsRecorded, partitionsDue } from '../../platform/store/trace.ts';
import { findTenant, insertTenant, type RowKey, schemaIn, type TenantRow, updateTenant } from '../copies/index.ts';
import { nameOfDatabase, noDatabase } from '../databases/index.ts';
import { noTenant, type Operator } from '../operator.ts';
import { applyChanges, type ChangedRows, copyRows, replaceAllRows } from './apply-changes.ts';
import { areSameRows, differentTables } from './compare-copies.ts';
import { placementOf } from './placement.ts';
import { removeRows, skipReferenceChecks } from './remove-copy.ts';
import { claimMove, forgetRows, lease, lockWrites, type MovedTenant } from './source-side.ts';
import { watchRows } from './watch-rows.ts';

export interface MoveRequest {
  readonly tenant: string;
  /** The name of the database that it moves to. */
  readonly to: string;
}

export interface MoveSummary {
  readonly from: string;
  readonly rows: number;
  /** How long its writes were stopped, in milliseconds; null if an earlier run of the command has done it. */
  readonly stoppedFor: number | null;
  /** How long each step took, in milliseconds. */
  readonly steps: Readonly<Record<string, number>>;
}

/** The steps of a move, in order. Each can be interrupted, and is done again by the next run. */
export type MoveStep = 'claim' | 'watch' | 'copy' | 'catch up' | 'verify' | 'stop' | 'switch' | 'finish';

/** What tests do before a step. */
export type BeforeStep = (step: MoveStep) => Promise<void> | void;

/** How long writes are rejected at most, in milliseconds: the database itself admits them again afterwards. */
const maxStopMs = 5_000;
/** How long transactions that have begun before the stop may take to end, in milliseconds. */
const maxDrainMs = 2_000;
/** Writes are stopped when a round of catching up takes no longer than this, in milliseconds. */
const shortRound = 1_000;
const maxRounds = 100;
const maxStops = 10;
/** Connections that were bound to the tenant before the move began check from then on whether it is still here. */
const untilNoticed = zoneFreshness + 1_000;

/**
 * Moves a tenant to another database of the directory while it works. Its ID, and so its tokens, links and files, stay as they are. The
 * database that it leaves decides where it is, with one transaction: before it, the other database has a closed copy, and afterwards
 * that one is the copy. If the process is killed, the same call continues.
 *
 * @throws Error with a sentence if it cannot be moved. It is where it was then.
 */
export async function moveTenant(
  operator: Operator,
  request: MoveRequest,
  before: BeforeStep = () => undefined,
): Promise<MoveSummary> {
  const placement = await placementOf(operator, request.tenant);
  const { cells } = placement;
  const to = cells.cells.find(({ name }) => name === request.to)?.number;
  if (to === undefined) throw new Error(noDatabase(request.to));
  if (placement.movesTo !== null && (await cells.follow(placement.tenantId, placement.cell))) {
    const now = await placementOf(operator, request.tenant);
    if (now.cell === to) return { from: nameOfDatabase(cells, placement.cell), rows: 0, stoppedFor: null, steps: {} };
    return moveTenant(operator, request, before);
  }
  if (placement.cell === to) throw new Error(`The tenant ${request.tenant} is in the database ${request.to} already.`);
  const move = new Move(
    operator,
    cells,
    { name: request.tenant, id: placement.tenantId, from: placement.cell, to },
    before,
  );
  return move.run();
}

/** What one round of catching up has seen. */
interface Seen {
  /** The changes that are done. */
  readonly ids: readonly number[];
  readonly changed: ChangedRows;
  readonly tables: readonly TenantTable[];
  readonly tenant: TenantRow;
  readonly schema: string;
}

class Move {
  readonly #operator: Operator;
  readonly #cells: Cells;
  readonly #tenant: MovedTenant;
  readonly #before: BeforeStep;
  readonly #mover = randomUUID();
  readonly #source: Store;
  readonly #target: Store;
  readonly #steps: Record<string, number> = {};
  #moveId = '';
  #rows = 0;
  /** When all connections check whether the tenant is still here, by this process's clock. */
  #noticedAt = 0;
  /** Keys of the rows that have changed since all were compared, by table. */
  readonly #changed = new Map<string, Set<RowKey>>();
  #schema = '';

  constructor(operator: Operator, cells: Cells, tenant: MovedTenant, before: BeforeStep) {
    this.#operator = operator;
    this.#cells = cells;
    this.#tenant = tenant;
    this.#before = before;
    this.#source = cells.cell(tenant.from);
    this.#target = cells.cell(tenant.to);
  }

  async run(): Promise<MoveSummary> {
    const { id, from } = this.#tenant;
    await this.#step('claim', () => this.#claim());
    const renewal = setInterval(() => void this.#renew().catch(() => undefined), lease.renewEvery);
    try {
      await this.#step('watch', async () => watchRows(this.#source, id, await this.#source.system(tenantTables)));
      await this.#step('copy', () => this.#copy());
      await this.#step('catch up', () => this.#catchUp());
      await this.#step('verify', () => this.#verify());
      const stoppedFor = await this.#switch();
      await this.#step('finish', () => this.#finish(stoppedFor));
      return { from: nameOfDatabase(this.#cells, from), rows: this.#rows, stoppedFor, steps: this.#steps };
    } catch (error) {
      throw explained(error, this.#tenant.name);
    } finally {
      clearInterval(renewal);
    }
  }

  async #step<Result>(step: MoveStep, work: () => Promise<Result>): Promise<Result> {
    await this.#before(step);
    this.#show(step, 0);
    const started = performance.now();
    const result = await work();
    this.#steps[step] = Math.round(performance.now() - started + (this.#steps[step] ?? 0));
    return result;
  }

  #show(step: string, done: number): void {
    this.#operator.progress?.({ step, done });
  }

  /** Notes the move on both sides, or takes over one whose process has ended. */
  async #claim(): Promise<void> {
    const { id, name, from, to } = this.#tenant;
    await this.#checkTarget();
    this.#moveId = await claimMove(this.#source, this.#tenant, this.#mover, nameOfDatabase(this.#cells, to));
    await this.#cells.owner.all(sql`
      update tenant_place set tenant = ${id}, moves_to = ${to} where name = ${name} and cell = ${from}`);
    this.#noticedAt = performance.now() + untilNoticed;
    await this.#target.system((transaction) => this.#claimCopy(transaction));
  }

  async #checkTarget(): Promise<void> {
    const { id, name, to } = this.#tenant;
    const [here = '', there = ''] = await Promise.all([this.#source, this.#target].map(schemaIn));
    if (here !== there)
      throw new Error(
        `The two databases have different schemas, ${here} and ${there}. Run "operator migrate", and then this command again.`,
      );
    const copy = await this.#target.owner.first<{ phase: string }>(
      sql`select phase from tenant_move where tenant = ${id}`,
    );
    if (copy?.phase === 'LEFT')
      throw new Error(
        `The database ${nameOfDatabase(this.#cells, to)} still has the copy from which the tenant ${name} was moved. Remove it first: operator tenant move ${name} --remove-old`,
      );
  }

  /** Takes over a copy of this move, and removes one of an earlier move that was given up. */
  async #claimCopy(transaction: Transaction): Promise<void> {
    const { id, to } = this.#tenant;
    const copy = await transaction.first<{ moveId: string }>(sql`
      select move_id as "moveId" from tenant_move where tenant = ${id} and phase = 'ARRIVING' for update`);
    if (copy === undefined) return;
    if (copy.moveId === this.#moveId)
      await transaction.all(sql`update tenant_move set mover = ${this.#mover} where tenant = ${id}`);
    else await this.#removeCopy(transaction, to);
  }

  async #removeCopy(transaction: Transaction, cell: number): Promise<void> {
    await removeRows(transaction, this.#tenant.id, cell === 0);
    await transaction.all(sql`delete from tenant_move where tenant = ${this.#tenant.id}`);
  }

  async #renew(): Promise<void> {
    await this.#source.owner.all(sql`
      update tenant_move set mover_until = now() + ${lease.seconds} * interval '1 second'
      where tenant = ${this.#tenant.id} and mover = ${this.#mover}`);
  }

  async #hasCopy(): Promise<boolean> {
    const found = await this.#target.owner.first(sql`
      select from tenant_move where tenant = ${this.#tenant.id} and phase = 'ARRIVING' and move_id = ${this.#moveId}`);
    return found !== undefined;
  }

  /** Copies all rows as of one moment, in one transaction. */
  async #copy(): Promise<void> {
    if (await this.#hasCopy()) return;
    const { id, from } = this.#tenant;
    await this.#source.snapshot(
      async (transaction) => ({ tenantId: id, value: await this.#look(transaction) }),
      (source, { tables, tenant, schema }) =>
        this.#onTarget(async (target) => {
          this.#schema = schema;
          await target.all(sql`
            insert into tenant_move (tenant, phase, cell, move_id, mover, mover_until)
            values (${id}, 'ARRIVING', ${from}, ${this.#moveId}, ${this.#mover}, now())
            on conflict (tenant) do update set phase = excluded.phase, cell = excluded.cell, move_id = excluded.move_id,
              mover = excluded.mover, started_at = now()`);
          await insertTenant(target, id, { ...tenant, active: false });
          const own = tables.filter(({ isShared }) => !isShared);
          await skipReferenceChecks(target);
          await copyRows({ from: source, to: target, tenantId: id }, own, (table, rows) => {
            this.#rows += rows;
            this.#show(`copy ${table}`, this.#rows);
          });
          // Without checks, no triggers run either.
          await target.all(sql`
            insert into payment_link_token as known select token_hash, tenant_id, id from quick_payment_link where tenant_id = ${id}
            on conflict (token_hash) do update set tenant = excluded.tenant, quick_payment_link_id = excluded.quick_payment_link_id
              where not exists (select from tenant where tenant.id = known.tenant and tenant.active)`);
          this.#show('check references', this.#rows);
          await target.all(sql`set constraints all immediate`);
          for (const { name } of own) await target.all(sql`analyze ${sql.table(name)}`);
        }),
    );
  }

  /** Runs a transaction on the copy, as the owner of its tables. */
  #onTarget<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#target.system(async (transaction) => {
      await transaction.all(sql`set local idle_in_transaction_session_timeout = 0`);
      await transaction.all(sql`set constraints all deferred`);
      await actAsMover(transaction, this.#tenant.id);
      return work(transaction);
    });
  }

  /** What there is to do, as of the start of a snapshot. */
  async #look(transaction: Transaction): Promise<Seen> {
    const { id } = this.#tenant;
    const found = await findTenant(transaction, sql`tenant.id = ${id}`);
    if (found === undefined) throw new Error(noTenant(this.#tenant.name));
    const rows = await transaction.all<{ table: string; key: string; ids: number[] }>(sql`
      select table_name as table, key::text as key, array_agg(id) as ids from moved_row where tenant = ${id} group by 1, 2`);
    const changed = new Map<string, string[]>();
    for (const { table, key } of rows) changed.getOrInsertComputed(table, () => []).push(key);
    return { ...found, changed, ids: rows.flatMap(({ ids }) => ids), tables: await tenantTables(transaction) };
  }

  /** Brings the copy to the state of one moment. @param then runs while both sides are in that state */
  async #round(
    isLast: boolean,
    then: (from: Pick<Transaction, 'all'>, seen: Seen) => Promise<void> = async () => undefined,
  ): Promise<Seen> {
    const { id } = this.#tenant;
    const seen = await this.#source.snapshot(
      async (transaction) => ({ tenantId: id, value: await this.#look(transaction) }),
      async (source, found) => {
        const { tables, changed, tenant, schema } = found;
        for (const [table, keys] of changed)
          this.#changed.set(table, new Set([...(this.#changed.get(table) ?? []), ...keys]));
        if (this.#schema !== '' && schema !== this.#schema)
          throw new Error(
            `The schema has changed meanwhile. Start again: operator tenant move ${this.#tenant.name} --cancel`,
          );
        this.#schema = schema;
        await this.#onTarget(async (target) => {
          const mine = await target.first(sql`
            select from tenant_move where tenant = ${id} and move_id = ${this.#moveId} and mover = ${this.#mover} for update`);
          if (mine === undefined) throw new Error('Another process goes on with the move.');
          const sides = { from: source, to: target, tenantId: id };
          await applyChanges(
            sides,
            tables.filter(({ isShared }) => !isShared),
            changed,
          );
          if (!isLast) return;
          await replaceAllRows(
            sides,
            tables.filter(({ isShared }) => isShared),
          );
          await updateTenant(target, id, { ...tenant, active: false });
          await target.all(sql`update tenant_move set opens = ${tenant.active} where tenant = ${id}`);
        });
        await then(source, found);
        return found;
      },
    );
    return seen;
  }

  /** Only those that were seen: transactions that have committed since are left. */
  async #forget({ ids }: Seen): Promise<void> {
    await this.#source.system((transaction) => forgetRows(transaction, this.#tenant.id, ids));
  }

  async #catchUp(): Promise<void> {
    for (let round = 1; ; round++) {
      const started = performance.now();
      const seen = await this.#round(false);
      await this.#forget(seen);
      this.#show('catch up: rows changed meanwhile', seen.ids.length);
      if (performance.now() - started <= shortRound) return;
      if (round === maxRounds)
        throw new Error(
          'The tenant changes faster than it is copied. Move it when it has less to do, or closer to the database.',
        );
    }
  }

  /** Compares all rows with the copy, while the tenant works. */
  async #verify(): Promise<void> {
    const seen = await this.#round(false, async (source, { tables }) => {
      const own = tables.filter(({ isShared }) => !isShared);
      await this.#compare((target) =>
        differentTables(source, target, this.#tenant.id, own, (table) => this.#show(`verify ${table}`, 0)),
      );
      this.#changed.clear();
    });
    await this.#forget(seen);
    await this.#catchUp();
    await pause(Math.max(0, this.#noticedAt - performance.now()));
  }

  /** Compares what has changed since all rows were compared, and what is copied as a whole. */
  async #verifyRest(source: Pick<Transaction, 'all'>, { tables }: Seen): Promise<void> {
    const { id } = this.#tenant;
    await this.#compare(async (target) => {
      const shared = tables.filter(({ isShared }) => isShared);
      const different = await differentTables(source, target, id, shared);
      for (const table of tables) {
        const keys = table.isShared ? [] : [...(this.#changed.get(table.name) ?? [])];
        if (!(await areSameRows(source, target, id, table, keys))) different.push(table.name);
      }
      return different;
    });
  }

  /** @param compare returns the names of tables that differ */
  async #compare(compare: (target: Transaction) => Promise<string[]>): Promise<void> {
    const different = await this.#onTarget(compare);
    if (different.length > 0)
      throw new Error(
        `The copy differs in ${different.join(', ')}. The tenant is where it was. Start again: operator tenant move ${this.#tenant.name} --cancel`,
      );
  }

  /** Stops writes, copies what is left, and switches. @returns how long writes were stopped, in milliseconds */
  async #switch(): Promise<number> {
    for (let attempt = 1; attempt <= maxStops; attempt++) {
      const started = performance.now();
      try {
        if (await this.#step('stop', () => this.#stop())) {
          const seen = await this.#round(true, (source, found) => this.#verifyRest(source, found));
          if (await this.#step('switch', () => this.#leave(seen))) return Math.round(performance.now() - started);
        }
      } catch (error) {
        await this.#resume().catch(() => undefined);
        throw error;
      }
      await this.#resume();
      this.#show('transactions of the tenant take long; its writes go on', attempt);
      await pause(1_000 * attempt);
      await this.#catchUp();
    }
    throw new Error(
      `Transactions of the tenant took longer than ${maxDrainMs / 1_000} seconds each time its writes were to be stopped. Move it when it has no long work, such as bulk imports.`,
    );
  }

  /** @returns whether all transactions that write have ended */
  async #stop(): Promise<boolean> {
    const { id } = this.#tenant;
    const stopped = await this.#source.owner.first(sql`
      update tenant_move set phase = 'STOPPED', stopped_until = clock_timestamp() + ${maxStopMs} * interval '1 millisecond'
      where tenant = ${id} and mover = ${this.#mover} and phase in ('LEAVING', 'STOPPED') returning tenant`);
    if (stopped === undefined) throw new Error('Another process goes on with the move.');
    for (const end = performance.now() + maxDrainMs; performance.now() < end; await pause(10))
      if (await this.#source.system((transaction) => lockWrites(transaction, id))) return true;
    return false;
  }

  /** Decides the move: from the commit on, the tenant is in the other database. @returns whether nothing was written meanwhile */
  #leave(seen: Seen): Promise<boolean> {
    const { id } = this.#tenant;
    return this.#source.system(async (transaction) => {
      if (!(await lockWrites(transaction, id))) return false;
      await forgetRows(transaction, id, seen.ids);
      const left = await transaction.first(sql`
        update tenant_move set phase = 'LEFT' where tenant = ${id} and mover = ${this.#mover} and phase = 'STOPPED'
          and not exists (select from moved_row where tenant = ${id}) returning tenant`);
      if (left === undefined) return false;
      await actAsMover(transaction, id);
      await transaction.all(sql`update tenant set active = false where id = ${id}`);
      // Processes look there for work of all tenants.
      await transaction.all(sql`delete from clock_due where tenant_id = ${id}`);
      await transaction.all(sql`delete from event_waiting where tenant_id = ${id}`);
      await transaction.all(sql`
        update background_job set status = 'WAITING', run_id = null, leased_until = null
        where tenant_id = ${id} and status = 'RUNNING'`);
      await transaction.all(sql`
        update delivery_partition set leased_by = null, leased_until = null, due_at = now()
        where tenant_id = ${id} and leased_by is not null`);
      return true;
    });
  }

  /** Lets writes go on here. */
  async #resume(): Promise<void> {
    await this.#source.owner.all(sql`
      update tenant_move set phase = 'LEAVING', stopped_until = null
      where tenant = ${this.#tenant.id} and mover = ${this.#mover} and phase = 'STOPPED'`);
  }

  async #finish(stoppedFor: number): Promise<void> {
    const { id, name, from, to } = this.#tenant;
    await this.#cells.follow(id, from);
    for (const channel of [jobsDue, partitionsDue]) this.#target.notify(channel, '');
    this.#target.notify(eventsRecorded, String(id));
    const details = {
      from: nameOfDatabase(this.#cells, from),
      to: nameOfDatabase(this.#cells, to),
      rows: this.#rows,
      stoppedFor,
    };
    await recordOperatorAct(this.#cells.owner, { operation: 'tenant move', subject: name, details });
  }
}

/** Describes a failure to the operator. */
function explained(error: unknown, name: string): unknown {
  if (!(error instanceof UniqueViolation || error instanceof ForeignKeyViolation)) return error;
  return new Error(
    `Rows of ${error.table} changed in a way that the copy cannot follow (${error.constraint}). The tenant is where it was. Start again: operator tenant move ${name} --cancel`,
    { cause: error },
  );
}
