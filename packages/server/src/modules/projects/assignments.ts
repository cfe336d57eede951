import type { Context } from '../../entity/context.ts';
import { visibleToWriter } from '../../entity/field-access.ts';
import type { UnitOfWork } from '../../entity/unit-of-work.ts';
import { staffJobAssignment } from './staff-job-assignment.ts';
import { staffTaskAssignment } from './staff-task-assignment.ts';

/**
 * An assignment written by a request. `index` is the position of its entry, or null if it was written as a side effect of
 * another.
 */
export interface WrittenAssignment {
  readonly list: 'staffJobAssignments' | 'staffTaskAssignments';
  readonly index: number | null;
  readonly id: string;
}

/** The entries of both lists of a request, with their indexes. */
export function entriesOf<JobEntry, TaskEntry>(body: {
  readonly staffJobAssignments?: readonly JobEntry[];
  readonly staffTaskAssignments?: readonly TaskEntry[];
}) {
  const { staffJobAssignments = [], staffTaskAssignments = [] } = body;
  return [
    ...staffJobAssignments.map((entry, index) => ({ list: 'staffJobAssignments', index, entry }) as const),
    ...staffTaskAssignments.map((entry, index) => ({ list: 'staffTaskAssignments', index, entry }) as const),
  ];
}

/** Converts the written assignments to the response: those of entries in their order, then the others. */
export async function assignmentResults({ holds }: Context, unit: UnitOfWork, written: readonly WrittenAssignment[]) {
  const ordered = written.toSorted((left, right) => (left.index ?? Infinity) - (right.index ?? Infinity) || 0);
  const ofJobs = ordered.filter(({ list }) => list === 'staffJobAssignments');
  const ofTasks = ordered.filter(({ list }) => list === 'staffTaskAssignments');
  const jobRows = await unit.storedRows(
    staffJobAssignment,
    ofJobs.map(({ id }) => id),
  );
  const taskRows = await unit.storedRows(
    staffTaskAssignment,
    ofTasks.map(({ id }) => id),
  );
  return {
    staffJobAssignments: jobRows.map((row, position) => ({
      ...visibleToWriter(holds, staffJobAssignment, row),
      index: ofJobs[position]?.index ?? null,
    })),
    staffTaskAssignments: taskRows.map((row, position) => ({ ...row, index: ofTasks[position]?.index ?? null })),
  };
}
