/**
 * The server sends the dates of deprecation and removal of a deprecated operation in the headers `Deprecation` and `Sunset`. Both follow from `x-deprecation`, and callers have six months to change.
 */
import { eachOperation } from './contract.ts';

const notice = { months: 6 };

export const deprecations = eachOperation(({ id, place }, report) => {
  const [since, sunset] = [place.text('x-deprecation', 'since'), place.text('x-deprecation', 'sunset')];
  const isDeprecated = place.get('deprecated')?.value === true;
  if (isDeprecated !== (place.get('x-deprecation') !== undefined))
    report(place, `Mark ${id} with both \`deprecated\` and \`x-deprecation\`, or with neither.`);
  if (since === undefined || sunset === undefined) return;
  const earliest = Temporal.PlainDate.from(since).add(notice);
  if (Temporal.PlainDate.compare(sunset, earliest) < 0)
    report(place, `Keep ${id} until ${earliest}, six months after its deprecation.`);
});
