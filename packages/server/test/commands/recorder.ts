import { channel } from 'node:diagnostics_channel';
import { sql } from 'kysely';
import type { TestService } from '../service.ts';

interface AuditRow {
  readonly id: string;
  readonly type: string;
  readonly entityId: string;
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>>;
  readonly changedFields: readonly string[] | null;
  readonly event: string | null;
}

interface Entry {
  readonly id: string;
  readonly text: string;
  readonly of: readonly string[];
}

/** A change of a state: the type of the row, the state before and after. */
export type Step = `${string} ${string} > ${string}`;

/** Fields that change with the day alone, and those that every change sets. */
const unstable = new Set([
  'updatedAt',
  'createdAt',
  'daysPastDue',
  'daysToPay',
  'ageDays',
  'systemRef',
  'sysRefs',
  'url',
  'processorRef',
  // Values of other rows.
  'job',
  'taskType',
]);

/** Writes down what each call changes: rows with their audit and events, and entries of the ledger. */
export class Recorder {
  readonly #service: TestService;
  readonly #names = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  #lastChange = '00000000-0000-0000-0000-000000000000';
  readonly #entries = new Set<string>();
  readonly lines: string[] = [];
  /** The changes of states so far. */
  readonly steps = new Set<Step>();

  /** How often the plan of each call ran; the one with the most runs if it has several. */
  readonly runs: { readonly title: string; readonly runs: number }[] = [];
  #runs = 0;

  constructor(service: TestService) {
    this.#service = service;
    channel('financial-automation:plan').subscribe((plan) => {
      this.#runs = Math.max(this.#runs, Object(plan).runs);
    });
  }

  /** Leaves out what was changed so far. */
  async start(): Promise<void> {
    for (const { type, entityId } of (await this.#read()).changes) this.#name(entityId, type);
  }

  /** Runs a call and counts the runs of its plan. */
  async count<Result>(title: string, call: () => Promise<Result>): Promise<Result> {
    this.#runs = 0;
    const result = await call();
    this.runs.push({ title, runs: this.#runs });
    return result;
  }

  /** Runs a call and writes down its result, and what it has changed. */
  async record<Result>(title: string, call: () => Promise<Result>): Promise<Result> {
    const result = await this.count(title, call);
    const { changes, entries } = await this.#read();
    for (const { type, entityId } of changes) this.#name(entityId, type);
    const text = this.#stable(JSON.stringify(shown(result)));
    this.lines.push(`# ${this.#stable(title)}`, ...(text === undefined ? [] : [`  ${text}`]));
    for (const change of changes) this.lines.push(`  ${this.#describe(change)}`);
    for (const { id, text: entry, of } of entries) {
      this.#entries.add(id);
      this.lines.push(`  ledger ${this.#stable(entry)} ${of.map((one) => this.#stable(one)).join(' ')}`);
    }
    return result;
  }

  async #read() {
    const { store, tenant } = this.#service;
    return store.read(tenant.id, async (session) => {
      const changes = await session.all<AuditRow>(sql`
        select a.id, a.entity_type as type, a.entity_id as "entityId", a.before, a.after, e.changed_fields as "changedFields",
          e.operation as event
        from audit_log a left join recorded_event e on e.tenant_id = a.tenant_id and e.entity_type = a.entity_type
          and e.entity_id = a.entity_id and e.sequence = (a.after ->> 'version')::bigint
        where a.tenant_id = ${tenant.id} and a.id > ${this.#lastChange} order by a.id`);
      this.#lastChange = changes.at(-1)?.id ?? this.#lastChange;
      const entries = await session.all<Entry>(sql`
        select id, concat_ws(' ', account, kind, amount, currency, business_date, reason) as text,
          array_remove(array[client_id, job_id, invoice_id, payment_id, wip_entry_id, staff_id, reverses_id]::text[], null) as of
        from ledger_entry where tenant_id = ${tenant.id} order by recorded_at, id`);
      return { changes, entries: entries.filter(({ id }) => !this.#entries.has(id)) };
    });
  }

  #describe({ type, entityId, before, after, event, changedFields }: AuditRow): string {
    const fields = Object.entries(after).filter(([name, value]) => {
      if (unstable.has(name)) return false;
      return before === null ? value !== null && name !== 'id' : JSON.stringify(before[name]) !== JSON.stringify(value);
    });
    if (before !== null && before.status !== after.status) this.steps.add(`${type} ${before.status} > ${after.status}`);
    const sent = (changedFields ?? []).filter((name) => !unstable.has(name)).toSorted();
    const values = this.#stable(
      JSON.stringify(Object.fromEntries(fields.toSorted(([one], [other]) => (one < other ? -1 : 1)))),
    );
    return `${this.#name(entityId, type)} ${event ?? 'no event'} [${sent}] ${values}`;
  }

  #name(id: string, type: string): string {
    const known = this.#names.get(id);
    if (known !== undefined) return known;
    const count = (this.#counts.get(type) ?? 0) + 1;
    this.#counts.set(type, count);
    this.#names.set(id, `${type}-${count}`);
    return `${type}-${count}`;
  }

  #stable(text: string): string {
    const today = this.#service.tenant.timeZone;
    return text
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => this.#name(id, 'other'))
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)/g, '<time>')
      .replaceAll(Temporal.Now.plainDateISO(today).toString(), '<today>')
      .replaceAll(/\b(D|PAY|J|E|C)-20\d\d-/g, '$1-<year>-');
  }
}

/** The parts of a result that say what became of a call. */
function shown(result: unknown): unknown {
  const { status, body, headers } = Object(result);
  const tag = headers instanceof Headers ? headers.get('etag')?.match(/-(\d+)"/)?.[1] : undefined;
  const items: unknown = Object(body).records ?? Object(body).data;
  const { code, detail, errors } = Object(body);
  const told = Array.isArray(items)
    ? items.map(({ status: state, error }) =>
        error == null ? state : [state, error.code, error.pointer, error.detail],
      )
    : typeof Object(body).status === 'string'
      ? Object(body).status
      : { code, detail, errors };
  return [status, tag, told];
}
