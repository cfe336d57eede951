/**
 * The server reads the limits of each operation from the contract and has none of its own, so each operation names its
 * policy, and one with a body the maximum size of the body.
 */
import { isPublic, operationsOf, type Place, type Report, wholeContract } from './contract.ts';

export const limits = wholeContract((root, report) => {
  checkWheres(root, report);
  checkJsonLimits(root, report);
  checkWriteLimits(root, report);
  checkPageBytes(root, report);
  checkRowLimits(root, report);
  const policies = root.get('x-rate-limit-policies')?.keys() ?? [];
  const tenantLimits = root.get('x-tenant-limits')?.keys() ?? [];
  const bodyLimits = root.get('x-body-limits')?.keys() ?? [];
  for (const operation of operationsOf(root)) {
    const { place, body, method } = operation;
    const policy = place.text('x-rate-limit');
    if (policy === undefined || !policies.includes(policy)) {
      report(place.get('x-rate-limit') ?? place, `Name a policy in \`x-rate-limit\`: ${policies.join(', ')}.`);
    } else if (isPublic(operation) !== (policy === 'token')) {
      report(
        place.get('x-rate-limit') ?? place,
        'Use the policy `token` for calls without a token, and only for them.',
      );
    } else if (method === 'get' && policy !== 'read') {
      report(place.get('x-rate-limit') ?? place, 'A GET reads: use the policy `read`.');
    }
    const tenantLimit = place.text('x-tenant-limit');
    if (tenantLimit !== undefined && !tenantLimits.includes(tenantLimit))
      report(place.get('x-tenant-limit') ?? place, `Name a limit in \`x-tenant-limit\`: ${tenantLimits.join(', ')}.`);
    const limit = place.text('x-body-limit');
    if (body === undefined && limit !== undefined) {
      report(place.get('x-body-limit') ?? place, 'Remove `x-body-limit`: the operation has no body.');
    } else if (body !== undefined && (limit === undefined || !bodyLimits.includes(limit))) {
      report(
        place.get('x-body-limit') ?? place,
        `Name the largest body in \`x-body-limit\`: ${bodyLimits.join(', ')}.`,
      );
    }
  }
});

/** The text and the server must agree here, too. */
function checkJsonLimits(root: Place, report: Report): void {
  const declared = root.get('x-json-limits');
  if (declared === undefined) return;
  const text = (root.text('info', 'description') ?? '').replaceAll(/\s+/g, ' ');
  const shown = ['levels', 'values', 'digits', 'characters', 'combining'].map((noun) =>
    Number(new RegExp(`([\\d,]+) ${noun}`).exec(text.split('A body has at most ')[1] ?? '')?.[1]?.replaceAll(',', '')),
  );
  const values = ['depth', 'values', 'digits', 'nameLength', 'combiningMarks'].map((name) => declared.get(name)?.value);
  if (String(shown) !== String(values))
    report(declared, `State in \`info.description\` that "A body has at most" these limits: ${values.join(', ')}.`);
}

function checkWriteLimits(root: Place, report: Report): void {
  const bulk = root.get('x-write-limits', 'bulk');
  if (bulk === undefined) return;
  const said = `A write of ${bulk.value} items or more`;
  if (!(root.text('info', 'description') ?? '').includes(said))
    report(bulk, `State in \`info.description\` that "${said}" is a bulk write.`);
}

function checkPageBytes(root: Place, report: Report): void {
  const bytes = root.get('x-page-bytes');
  if (bytes === undefined) return;
  const said = `${Number(bytes.value) / 2 ** 20} MiB`;
  if (!(root.text('info', 'description') ?? '').includes(said))
    report(bytes, `State in \`info.description\` that a page ends at ${said}.`);
}

function checkRowLimits(root: Place, report: Report): void {
  const parts = operationsOf(root).flatMap(({ place, parameters }) => [place, ...parameters]);
  const texts = parts.map((part) => part.text('description') ?? '');
  for (const [name, limit] of root.get('x-row-limits')?.entries() ?? []) {
    const said = `more than ${Number(limit.value).toLocaleString('en')}`;
    if (!texts.some((text) => text.toLowerCase().includes(said)))
      report(limit, `State in the description of what the limit \`${name}\` applies to what happens with "${said}".`);
  }
}

/** Callers read what a search costs in a table, and the server reads it as data: they must agree. */
function checkWheres(root: Place, report: Report): void {
  const costs = root.get('x-search-limits');
  if (costs === undefined) return;
  const text = root.text('info', 'description') ?? '';
  const shown = [...text.matchAll(/^\| .+ \| (\d+) \|$/gm)].map(([, cost]) => Number(cost));
  const weights = costs.map('weights').map(([, { value }]) => value);
  if (String(shown) !== String(weights)) {
    report(costs, `Show the weights in the table of \`info.description\`, in this order: ${weights.join(', ')}.`);
  }
  const limit = String(costs.get('cost')?.value);
  if (!text.includes(`costs more than ${limit} `)) {
    report(costs, `State in \`info.description\` that a clause that "costs more than ${limit}" is rejected.`);
  }
  const costly = String(costs.get('costly')?.value);
  if (!text.includes(`costs ${costly} or more`)) {
    report(costs, `State in \`info.description\` that a clause that "costs ${costly} or more" is costly.`);
  }
}
