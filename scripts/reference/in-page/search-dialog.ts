/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/** The search of the reference: a dialog with a text field and a list of results, used by keyboard or pointer. */
import { element, find } from './dom.ts';
import { createSearch, type Found, type SearchEntry } from './find.ts';

export function addSearch(): void {
  const [button, dialog, field, list, message] = [
    find('#search-button', HTMLButtonElement),
    find('#search-dialog', HTMLDialogElement),
    find('#search-field', HTMLInputElement),
    find('#search-results', HTMLElement),
    find('#search-message', HTMLElement),
  ];
  let search: ReturnType<typeof createSearch> | undefined;
  let chosen = -1;

  const options = () => [...list.querySelectorAll<HTMLAnchorElement>('a')];
  const choose = (position: number) => {
    const all = options();
    chosen = all.length === 0 ? -1 : (position + all.length) % all.length;
    for (const [place, option] of all.entries()) option.setAttribute('aria-selected', String(place === chosen));
    const active = all[chosen];
    if (active === undefined) field.removeAttribute('aria-activedescendant');
    else field.setAttribute('aria-activedescendant', active.id);
    active?.scrollIntoView({ block: 'nearest' });
  };
  const show = () => {
    // The index takes some milliseconds, which readers who do not search need not spend.
    search ??= createSearch(readEntries());
    const text = field.value.trim();
    const found = text === '' ? [] : search(text);
    list.replaceChildren(...found.map(optionOf));
    list.hidden = found.length === 0;
    field.setAttribute('aria-expanded', String(found.length > 0));
    message.textContent = messageOf(text, found);
    choose(0);
  };
  const open = () => {
    if (!dialog.open) dialog.showModal();
    field.select();
    show();
  };

  button.addEventListener('click', open);
  field.addEventListener('input', show);
  field.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') choose(chosen + 1);
    else if (event.key === 'ArrowUp') choose(chosen - 1);
    else if (event.key === 'Enter') options()[chosen]?.click();
    // In a search field, the key would only empty it.
    else if (event.key === 'Escape') dialog.close();
    else return;
    event.preventDefault();
  });
  list.addEventListener('click', () => dialog.close());
  // A click beside the dialog is a click on its backdrop, which belongs to it.
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close());
  window.addEventListener(
    'keydown',
    (event) => {
      const isTyping =
        event.target instanceof Element && event.target.closest('input, textarea, select, [contenteditable]');
      const isShortcut =
        (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) || (event.key === '/' && !isTyping);
      if (!isShortcut) return;
      event.preventDefault();
      // Redoc has a search with the same shortcut.
      event.stopImmediatePropagation();
      open();
    },
    { capture: true },
  );
}

function readEntries(): SearchEntry[] {
  return JSON.parse(find('#search-entries', HTMLElement).textContent ?? '[]');
}

function messageOf(text: string, found: readonly Found[]): string {
  if (text === '') return 'Search operations, fields, roles, events and topics.';
  if (found.length === 0) return `Nothing matches “${text}”.`;
  return `${found.length} result${found.length === 1 ? '' : 's'}`;
}

function optionOf({ entry, fields }: Found, position: number): HTMLElement {
  const option = element('a', { id: `search-result-${position}`, role: 'option', href: entry.link, tabIndex: -1 });
  const about = [entry.path ?? '', fields.length === 0 ? '' : `field ${fields.slice(0, 3).join(', ')}`].filter(Boolean);
  option.append(
    element('span', { className: 'search-title', textContent: entry.title }),
    ' ',
    element('span', { className: 'search-kind', textContent: entry.kind }),
    ' ',
    element('span', { className: 'search-about', textContent: about.join(' · ') }),
  );
  return option;
}
