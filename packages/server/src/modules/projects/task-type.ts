import { Rejection } from '../../contract/rejection.ts';
import { defineEntity } from '../../entity/entity.ts';
import { workCode } from '../reference/index.ts';

/** A kind of task, with the settings for billing work of that kind. */
export const taskType = defineEntity('TaskType', {
  table: 'task_type',
  rules: {
    complete({ values: { defaultWorkCode: code }, previous }, plan) {
      if (code === null || code === previous?.defaultWorkCode) return;
      const found = plan.find(workCode, 'code', code);
      if (found?.active !== true)
        throw new Rejection('REFERENCE_NOT_FOUND', `No active work code "${code}" exists.`, '/defaultWorkCode');
      // The text of a code that is in use must not change.
      plan.getForShare(workCode, found.id);
    },
  },
});
