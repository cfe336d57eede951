/** What operations do with one row beside writing it, such as `POST /api/v1/invoices/{id}/send`. */
import { hasRole } from '@financial-automation/spec/roles';
import { allOperations, type Operation } from '../../contract/contract.ts';
import { Rejection } from '../../contract/rejection.ts';
import { type HtmlContent, html } from '../../wire/html.ts';
import { rehearseOrDo } from './action-pages.ts';
import { type DataList, merged, propertiesOf, schemasOf } from './catalog.ts';
import { inputFor } from './edit-page.ts';
import { typedValue } from './filter.ts';
import { keyField } from './layout.ts';
import type { ShownRow } from './values.ts';
import type { ConsoleVisit } from './visit.ts';
import { fieldInWords, typeInWords, typesInWords } from './words.ts';

function commandsOn({ type }: DataList, { caller }: ConsoleVisit): Operation[] {
  const start = `/${typesInWords(type).toLowerCase().replaceAll(' ', '-')}/{id}/`;
  return allOperations.filter(
    ({ method, path, roles }) => method === 'POST' && path.includes(start) && hasRole(caller.roles, roles),
  );
}

function fieldsOf(operation: Operation) {
  const { body } = schemasOf(operation);
  return [...(body === undefined ? [] : propertiesOf(merged(body)))];
}

function verbOf({ path }: Operation): string {
  return fieldInWords(path.split('/').at(-1) ?? '');
}

/** Their forms. Everything can be left out that the operation does not require. */
export async function commandForms(visit: ConsoleVisit, list: DataList, row: ShownRow): Promise<HtmlContent[]> {
  const forms: HtmlContent[] = [];
  for (const operation of commandsOn(list, visit)) {
    const inputs: HtmlContent[] = [];
    for (const [path, schema] of fieldsOf(operation))
      inputs.push(await inputFor(visit, { path, schema, isRequired: false }, ''));
    const action = `${visit.frame.base}/data/${list.type}/${String(row.id)}/do/${operation.id}`;
    forms.push(
      html`<details><summary>${verbOf(operation)}</summary><form method="post" action="${action}">${keyField(visit.frame)}<div class="form">${inputs}</div><div class="row"><button class="plain">Show what would change</button></div></form></details>`,
    );
  }
  return forms;
}

/** Handles such a form: rehearses it, or does it. */
export function command(visit: ConsoleVisit, list: DataList, row: ShownRow, id: string) {
  const operation = commandsOn(list, visit).find((one) => one.id === id);
  if (operation === undefined) throw new Rejection('NOT_FOUND', 'This cannot be done here.');
  const body = fieldsOf(operation).flatMap(([name, schema]) => {
    const text = visit.fields.get(name)?.trim() ?? '';
    return text === '' ? [] : [[name, typedValue(schema, text)] as const];
  });
  const name = `${typeInWords(list.type)} ${String(row[list.label ?? ''] ?? '')}`;
  return rehearseOrDo(visit, {
    operation,
    input: { path: { id: String(row.id) }, body: Object.fromEntries(body) },
    label: verbOf(operation),
    title: `${verbOf(operation)}: ${name}`,
    from: `/data/${list.type}/${String(row.id)}`,
    names: [name],
  });
}
