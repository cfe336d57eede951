/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/**
 * Sends the example of an operation to the server that serves the page, edited by the reader. A page on a disk has no server, and
 * nothing of this. Keys and tokens remain in the memory of the page.
 */

import type { tryItOperations } from '../try-it-operations.ts';
import { element, find } from './dom.ts';

type TryItOperations = ReturnType<typeof tryItOperations>;
type TryItOperation = TryItOperations[string];

/** The access token that the key was exchanged for, until it ends. */
interface Access {
  readonly key: string;
  readonly token: string;
  readonly tenant: string;
  /** Milliseconds since 1970. */
  readonly until: number;
}

const sentBySelf = new Set(['Tenant', 'Authorization']);

export function addTryIt(): void {
  if (!location.protocol.startsWith('http')) return;
  const dialog = find('#try-dialog', HTMLDialogElement);
  const form = find('#try-form', HTMLFormElement);
  let operations: Promise<TryItOperations> | undefined;
  let access: Access | undefined;
  let shown: TryItOperation | undefined;

  const addButtons = () => {
    for (const panel of document.querySelectorAll('#redoc .panel-request-samples')) {
      const anchor = panel.closest('[id*="/"]')?.id;
      if (
        anchor === undefined ||
        anchor.startsWith('webhooks/') ||
        panel.previousElementSibling?.classList.contains('try-button')
      )
        continue;
      const button = element('button', { type: 'button', className: 'try-button', textContent: 'Try it' });
      button.addEventListener('click', () => void open(anchor));
      panel.before(button);
    }
  };
  new MutationObserver(() => requestAnimationFrame(addButtons)).observe(find('#redoc', HTMLElement), {
    childList: true,
    subtree: true,
  });
  addButtons();

  async function open(anchor: string): Promise<void> {
    operations ??= fetch('/reference/try-it.json').then((response) => response.json());
    const all = await operations;
    // The section of a request is within that of its operation.
    const operation = all[`/${anchor.split('/').slice(0, 2).join('/')}`];
    if (operation === undefined) return;
    shown = operation;
    find('#try-title', HTMLElement).textContent = operation.title;
    find('#try-address', HTMLElement).textContent = `${operation.method} ${location.origin}${operation.path}`;
    find('#try-key-field', HTMLElement).hidden = !operation.secured;
    find('#try-response', HTMLElement).replaceChildren();
    const parameters = operation.parameters.filter(({ name }) => !sentBySelf.has(name));
    const optional = parameters.filter(({ required }) => !required);
    find('#try-parameters', HTMLElement).replaceChildren(
      ...parameters.filter(({ required }) => required).map(fieldOf),
      ...(optional.length === 0
        ? []
        : [
            element(
              'details',
              {},
              element('summary', { textContent: 'Optional parameters' }),
              ...optional.map(fieldOf),
            ),
          ]),
    );
    showBodies(operation);
    dialog.showModal();
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (shown !== undefined) void send(shown);
  });
  find('#try-close', HTMLButtonElement).addEventListener('click', () => dialog.close());

  async function send(operation: TryItOperation): Promise<void> {
    const output = find('#try-response', HTMLElement);
    const button = find('#try-send', HTMLButtonElement);
    button.disabled = true;
    output.replaceChildren(element('p', { textContent: 'Sending …' }));
    try {
      const headers = new Headers();
      if (operation.secured) {
        access = await accessFor(find('#try-key', HTMLInputElement).value.trim(), access);
        headers.set('Authorization', `Bearer ${access.token}`);
        headers.set('Tenant', access.tenant);
      }
      let path = operation.path;
      const query = new URLSearchParams();
      for (const { name, in: place } of operation.parameters) {
        const value = document.querySelector<HTMLInputElement>(`[data-parameter="${place} ${name}"]`)?.value ?? '';
        if (value === '') continue;
        if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
        else if (place === 'query') query.append(name, value);
        else headers.set(name, value);
      }
      const body = operation.bodies.length === 0 ? undefined : find('#try-body', HTMLTextAreaElement).value;
      if (body !== undefined) headers.set('Content-Type', 'application/json');
      const started = performance.now();
      const response = await fetch(`${path}${query.size === 0 ? '' : `?${query}`}`, {
        method: operation.method,
        headers,
        credentials: 'omit',
        cache: 'no-store',
        ...(body === undefined ? {} : { body }),
      });
      const text = await response.text();
      output.replaceChildren(...shownResponse(response, text, performance.now() - started));
    } catch (error) {
      output.replaceChildren(
        element('p', { className: 'try-error', textContent: error instanceof Error ? error.message : String(error) }),
      );
    } finally {
      button.disabled = false;
      output.scrollIntoView({ block: 'nearest' });
    }
  }
}

function fieldOf({ name, in: place, required, example }: TryItOperation['parameters'][number]): HTMLElement {
  const input = element('input', {
    value: required ? String(example ?? '') : '',
    required,
    autocomplete: 'off',
    spellcheck: false,
  });
  if (!required && example !== undefined) input.placeholder = String(example);
  input.dataset.parameter = `${place} ${name}`;
  return element(
    'label',
    {},
    element('span', { textContent: `${name} ` }),
    element('small', { textContent: place }),
    input,
  );
}

function showBodies({ bodies }: TryItOperation): void {
  const area = find('#try-body', HTMLTextAreaElement);
  const choice = find('#try-example', HTMLSelectElement);
  find('#try-body-field', HTMLElement).hidden = bodies.length === 0;
  find('#try-example-field', HTMLElement).hidden = bodies.length < 2;
  choice.replaceChildren(
    ...bodies.map(({ name }, position) => new Option(name.replaceAll('_', ' '), String(position))),
  );
  const show = () => {
    area.value = bodies.length === 0 ? '' : JSON.stringify(bodies[Number(choice.value)]?.value, null, 2);
    area.rows = Math.min(14, area.value.split('\n').length + 1);
  };
  choice.onchange = show;
  show();
}

/** Exchanges an API key, unless the reader entered an access token. @throws Error with a sentence */
async function accessFor(key: string, known: Access | undefined): Promise<Access> {
  if (key === '')
    throw new Error('Enter an API key or an access token. "pnpm start" prints the key of its demo tenant.');
  if (known?.key === key && known.until > Date.now()) return known;
  const [header, claims] = partsOf(key);
  const until = Number(claims.exp) * 1000;
  const tenant = String(claims.tenant);
  if (header.typ === 'at+jwt') return { key, token: key, tenant, until };
  const response = await fetch('/v1/auth/token', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ apiKey: key }),
  });
  const body = await response.json();
  if (!response.ok) throw new Error(`${response.status} ${body.code}: ${body.detail}`);
  // Some seconds earlier, so that it does not end on the way.
  return { key, token: body.access_token, tenant, until: Date.now() + (body.expires_in - 10) * 1000 };
}

function partsOf(token: string): [header: Record<string, unknown>, claims: Record<string, unknown>] {
  try {
    const [header = '', claims = ''] = token.split('.');
    const read = (part: string) => JSON.parse(atob(part.replaceAll('-', '+').replaceAll('_', '/')));
    return [read(header), read(claims)];
  } catch {
    throw new Error('This is neither an API key nor an access token.');
  }
}

function shownResponse(response: Response, text: string, milliseconds: number): HTMLElement[] {
  const lines = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n');
  return [
    element('p', {
      className: response.ok ? 'try-status' : 'try-status try-error',
      textContent: `${response.status} in ${Math.round(milliseconds)} ms`,
    }),
    element(
      'details',
      {},
      element('summary', { textContent: 'Headers' }),
      element('pre', { tabIndex: 0, textContent: lines }),
    ),
    element('pre', { tabIndex: 0, textContent: formatted(text) }),
  ];
}

function formatted(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
