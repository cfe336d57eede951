/** Pages of operations on the firm as a whole: what one returns, and what another one changes. */
import type { OperationId } from '../../contract/handler.ts';
import { html } from '../../wire/html.ts';
import { actionForms, perform } from './action-pages.ts';
import { commandInputs } from './actions.ts';
import { responseProperties } from './catalog.ts';
import { enteredValues } from './forms.ts';
import { card, framed } from './layout.ts';
import { fields } from './values.ts';
import { type ConsoleVisit, callOperation, operationOf } from './visit.ts';
import { actionInWords } from './words.ts';

const pages: Readonly<Record<string, { title: string; lead: string; shows: OperationId; changes: OperationId }>> = {
  clock: {
    title: 'Clock',
    lead: 'This tenant is a sandbox with a clock of its own. It only moves forward, and runs everything that is due on the way.',
    shows: 'getSandboxClock',
    changes: 'advanceSandboxClock',
  },
  secret: {
    title: 'Secret of deliveries',
    lead: 'Receivers of events verify signatures with it. After a rotation, the one before is valid for some time.',
    shows: 'getWebhookSecret',
    changes: 'rotateWebhookSecret',
  },
};

function actionOf(id: OperationId) {
  const operation = operationOf(id);
  return { name: id, label: actionInWords(id), operation, inputs: commandInputs(operation), fixed: {} };
}

/** @returns undefined if there is no such page */
export async function operationPage(visit: ConsoleVisit, name: string) {
  const page = pages[name];
  if (page === undefined) return undefined;
  const { frame } = visit;
  const shown = operationOf(page.shows);
  const body = await callOperation(visit, shown);
  const forms = await actionForms(visit, `/${name}`, [actionOf(page.changes)]);
  return framed(frame, {
    title: page.title,
    part: `/${name}`,
    lead: page.lead,
    body: card('Now', html`${fields({ frame, names: new Map() }, body, responseProperties(shown))}${forms}`),
  });
}

/** Handles its form. @returns undefined if there is no such form */
export async function changeByOperation(visit: ConsoleVisit, name: string, operation: string) {
  const { title, changes } = pages[name] ?? {};
  if (title === undefined || changes === undefined || changes !== operation) return undefined;
  const action = actionOf(changes);
  const body = await enteredValues(visit, action.inputs, undefined, new Map());
  const result = await perform(visit, action, { input: { body }, title, from: `/${name}`, names: [title] });
  return 'page' in result ? result : `/${name}`;
}
