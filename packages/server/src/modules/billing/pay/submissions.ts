import { type PageResult, redirect } from '../../../wire/result.ts';
import { findAttempt } from './attempt.ts';
import { readForm } from './form.ts';
import { cancelAttempt, payLink } from './pay-link.ts';
import { followUp } from './reconcile.ts';
import { type LinkStep, type LinkVisit, openAttempt, ownAttempt, pageOf, payable, reread, shapeOf } from './visit.ts';

/** Handles a submitted form. */
export async function payLinkOf(visit: LinkVisit, fields: URLSearchParams): Promise<PageResult> {
  const { service, link, browser, path, tenant } = visit;
  const { processor, store } = service;
  const shape = shapeOf(visit);
  if (link.status !== 'ACTIVE' || shape === undefined || processor === undefined) return tooLate(visit);
  const { entered, errors, submitted: form } = readForm(fields, shape, Temporal.PlainDate.from(link.today));
  if (form === undefined) return payable(visit, 422, entered, errors);
  const attempt = await payLink({ processor, ...visit }, link, form, browser.sessionHash);
  if (attempt === undefined) return tooLate(await reread(visit));
  const now = await store.read(tenant.id, (session) => findAttempt(session, tenant.id, attempt.id));
  const isWaiting = now?.status === 'OPEN' && now.actionUrl !== null;
  return redirect(isWaiting ? `${path}/continue` : path);
}

/**
 * The link is being paid, was paid, or can no longer be paid. A payer who submitted the form twice sees the result of
 * the first submission.
 */
function tooLate(visit: LinkVisit): PageResult {
  const { link, path } = visit;
  if (ownAttempt(visit) !== undefined) return redirect(path);
  if (link.status === 'ACTIVE') return pageOf(visit);
  return { ...pageOf(visit), status: 409 };
}

/** Handles the answer to a challenge, or the cancellation of a payment that waits for one. */
export async function handleStep(visit: LinkVisit, step: LinkStep, fields: URLSearchParams): Promise<PageResult> {
  const { service, path } = visit;
  const { processor } = service;
  const own = openAttempt(visit);
  if (own === undefined || own.actionUrl === null || processor === undefined) return redirect(path);
  const context = { processor, ...visit };
  if (step === 'cancel') await cancelAttempt(context, own);
  else if (processor.answerChallenge !== undefined) {
    await processor.answerChallenge({ key: own.id, clockOffset: own.clockOffset }, fields.get('answer') === 'confirm');
    await followUp(context, own);
  }
  return redirect(path);
}
