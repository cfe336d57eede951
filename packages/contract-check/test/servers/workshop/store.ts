import type { JsonObject } from '../kit/contract.ts';

export interface Tool {
  id: string;
  name: string;
  kind: string;
  price: number;
  boughtOn: string;
  state: string;
  note: string | null;
  serial?: string;
  dimensions?: JsonObject;
  manual?: string;
  keeper?: string;
  createdAt: string;
  updatedAt: string;
}

export interface Photo {
  id: string;
  toolId: string;
  caption: string;
  mediaType: string;
  size: number;
  focus?: JsonObject;
}

export interface Job extends JsonObject {
  id: string;
  number: number;
  kind: string;
  toolId: string;
  title: string;
  priority: number;
  tags: string[];
  createdAt: string;
}

export interface Report {
  id: string;
  subject: string;
  months: number;
  createdAt: string;
}

/** The first response to a key, and its request. */
export interface Replay {
  readonly fingerprint: string;
  readonly toolId: string;
  readonly tool: Tool;
}

/** The data of one workshop. Workshops share nothing. */
export interface Workshop {
  readonly tools: Map<string, Tool>;
  /** Increases with every change of a tool. */
  readonly versions: Map<string, number>;
  readonly photos: Map<string, { photo: Photo; bytes: Buffer }>;
  readonly jobs: Map<string, Job>;
  readonly reports: Map<string, Report>;
  readonly replays: Map<string, Replay>;
  lastNumber: number;
}

const seedTools = [
  ['Bench plane', 'hand', 89.5, '2021-03-04', 'PL-1001'],
  ['Caliper', 'measuring', 34.99, '2019-11-30', 'CA-2001'],
  ['Drill press', 'power', 410, '2020-02-29', 'DP-3001'],
  ['Jigsaw', 'power', 129.95, '2023-07-15', 'JS-4001'],
  ['Spirit level', 'measuring', 18.25, '2018-01-09', 'SL-5001'],
  ['Whittling knife', 'hand', 22, '2024-05-01', 'WK-6001'],
] as const;

/** IDs are sequential, so that runs can be compared. */
export function counter(): () => string {
  let last = 0;
  return () => {
    last += 1;
    return `0f000000-0000-4000-8000-${last.toString(16).padStart(12, '0')}`;
  };
}

export function emptyWorkshop(): Workshop {
  return {
    tools: new Map(),
    versions: new Map(),
    photos: new Map(),
    jobs: new Map(),
    reports: new Map(),
    replays: new Map(),
    lastNumber: 0,
  };
}

/** A workshop with initial data. */
export function sampleWorkshop(nextId: () => string): Workshop {
  const workshop = emptyWorkshop();
  const createdAt = '2025-01-01T00:00:00.000Z';
  const times = { createdAt, updatedAt: createdAt };
  for (const [name, kind, price, boughtOn, serial] of seedTools) {
    const tool = { id: nextId(), name, kind, price, boughtOn, state: 'available', note: null, serial, ...times };
    workshop.tools.set(tool.id, tool);
    workshop.versions.set(tool.id, 1);
  }
  const [tool] = workshop.tools.values();
  for (const [index, title] of ['Grind the iron', 'True the sole', 'Oil the tote'].entries()) {
    const number = index + 1;
    const id = nextId();
    const job = {
      ...jobDefaults(),
      id,
      number,
      kind: 'repair',
      toolId: tool?.id ?? '',
      title,
      fault: 'worn',
      createdAt,
    };
    workshop.jobs.set(id, { ...job, tags: index === 0 ? ['iron', 'urgent'] : ['wood'], priority: number });
  }
  workshop.lastNumber = 3;
  return workshop;
}

export function jobDefaults() {
  return { dueOn: null, priority: 3, tags: [], labels: {} };
}
