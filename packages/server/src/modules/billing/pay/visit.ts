import type { Service } from '../../../entity/service.ts';
import { type PageResult, pageResult, redirect } from '../../../wire/result.ts';
import type { PaymentAttempt } from './attempt.ts';
import { type Browser, formKey } from './browser.ts';
import type { Entered, FieldError, FormShape } from './form.ts';
import { formPage } from './form-page.ts';
import { type LinkPage, readLinkPage } from './link-page.ts';
import { lookAgain } from './pay-link.ts';
import type { FollowUp } from './reconcile.ts';
import {
  challengePage,
  continuePage,
  endedPage,
  processingPage,
  receiptPage,
  unavailablePage,
  usedPage,
} from './result-pages.ts';
import { watchPolicy } from './style.ts';

/** A request for an existing link, with its data. */
export interface LinkVisit extends Pick<FollowUp, 'tenant' | 'write' | 'log'> {
  readonly service: Service;
  readonly browser: Browser;
  readonly link: LinkPage;
  /** The path of the page in the browser. */
  readonly path: string;
}

/** The pages of a payment beside that of its link. */
export type LinkStep = 'continue' | 'challenge' | 'cancel';

/** The page of a link in its current state. */
export async function showLink(visit: LinkVisit): Promise<PageResult> {
  const { service, link } = visit;
  const { processor } = service;
  if (link.status !== 'PROCESSING' || link.attempt === undefined || processor === undefined) return pageOf(visit);
  return pageOf((await lookAgain(service, { processor, ...visit }, link.attempt)) ? await reread(visit) : visit);
}

/** The visit with the link as it is now. */
export async function reread(visit: LinkVisit): Promise<LinkVisit> {
  const { service, tenant, link } = visit;
  return {
    ...visit,
    link: await service.store.read(tenant.id, (session) => readLinkPage(session, tenant.id, link.id)),
  };
}

/** The page of a link, as the visit knows it. */
export function pageOf(visit: LinkVisit): PageResult {
  const { service, link, path } = visit;
  const own = ownAttempt(visit);
  const isTest = isTestOf(visit);
  switch (link.status) {
    case 'ACTIVE':
      return payable(visit, 200, undefined, []);
    case 'PROCESSING': {
      const key = formKey(service.vault, link.id, visit.browser);
      const page = processingPage({
        link,
        path,
        isTest,
        own: own === undefined ? undefined : { attempt: own, formKey: key },
      });
      return pageResult(200, page, { 'Content-Security-Policy': watchPolicy });
    }
    case 'USED':
      return own !== undefined && link.payment !== undefined
        ? pageResult(200, receiptPage(link, link.payment, isTest))
        : pageResult(410, usedPage(link));
    default:
      return pageResult(410, endedPage(link, link.status, own));
  }
}

/** The form to pay a link with, as it was filled in. */
export function payable(
  visit: LinkVisit,
  status: number,
  entered: Entered | undefined,
  errors: readonly FieldError[],
): PageResult {
  const { service, link, browser } = visit;
  const shape = shapeOf(visit);
  if (shape === undefined) return pageResult(503, unavailablePage(link));
  const own = ownAttempt(visit);
  const before: Entered = {
    amount: own === undefined ? '' : own.amount,
    method: own?.method,
    payerName: own?.payerName ?? '',
    payerEmail: own?.payerEmail ?? '',
  };
  const shownLink = { ...link, attempt: own };
  const key = formKey(service.vault, link.id, browser);
  return pageResult(
    status,
    formPage({ link: shownLink, shape, entered: entered ?? before, errors, formKey: key, isTest: isTestOf(visit) }),
  );
}

/** The form of a link; undefined if nobody can pay it now. */
export function shapeOf({ service: { processor }, link }: LinkVisit): FormShape | undefined {
  if (processor === undefined) return undefined;
  const methods = processor.methodsFor(link.currency);
  if (methods.length === 0) return undefined;
  return {
    currency: link.currency,
    requiresAmount: link.amount === null,
    methods,
    requiresDetails: processor.collectsDetails,
  };
}

export function showStep(visit: LinkVisit, step: LinkStep): PageResult {
  const { service, link, path, browser } = visit;
  const own = openAttempt(visit);
  if (own?.actionUrl === undefined || own.actionUrl === null) return redirect(path);
  if (step === 'continue') return pageResult(200, continuePage(link, own.actionUrl, isTestOf(visit)));
  if (service.processor?.answerChallenge === undefined) return redirect(path);
  return pageResult(200, challengePage(link, own, formKey(service.vault, link.id, browser)));
}

/** The attempt that determines the state of the link, if this browser started it. */
export function ownAttempt({ link: { attempt }, browser }: LinkVisit): PaymentAttempt | undefined {
  return attempt?.sessionHash === browser.sessionHash ? attempt : undefined;
}

export function openAttempt(visit: LinkVisit): PaymentAttempt | undefined {
  const own = ownAttempt(visit);
  return own?.status === 'OPEN' ? own : undefined;
}

function isTestOf({ service }: LinkVisit): boolean {
  return service.processor?.isTest ?? false;
}
