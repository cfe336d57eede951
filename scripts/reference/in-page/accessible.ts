/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/**
 * Adds roles, names and tab stops to the elements that Redoc renders. They are rendered as the reader scrolls and again
 * when something changes, so each change of the page adds what is missing.
 */

/** What to do with the elements of a selector. Each only writes what differs, so that it causes no further change. */
const additions: Readonly<Record<string, (element: Element) => void>> = {
  '.menu-content': (menu) => {
    set(menu, 'role', 'navigation');
    set(menu, 'aria-label', 'Operations and topics');
  },
  // Readers scroll these areas, so the keyboard must reach them.
  'pre, .md-table-wrapper, [data-testid="source-code"]': (area) => set(area, 'tabindex', '0'),
  // Redoc chooses headings by their size, and skips the third level.
  '[data-testid="middle-panel"] h4': (heading) => set(heading, 'aria-level', '3'),
  '[data-testid="middle-panel"] h5': (heading) => set(heading, 'aria-level', '4'),
  // Who speaks to the page says what the button shows (WCAG 2.5.3): the example or the media type that is selected.
  'button[aria-label]': (button) => {
    const shown = button.textContent?.trim().toLowerCase() ?? '';
    if (!button.getAttribute('aria-label')?.toLowerCase().includes(shown)) button.removeAttribute('aria-label');
  },
};

export function keepAccessible(): void {
  const add = () => {
    for (const [selector, addTo] of Object.entries(additions)) {
      for (const element of document.querySelectorAll(`#redoc :is(${selector})`)) addTo(element);
    }
    for (const button of document.querySelectorAll('#redoc button:not([aria-label], [title])')) {
      if (button.textContent?.trim() === '') set(button, 'aria-label', 'Menu');
    }
  };
  let isPlanned = false;
  new MutationObserver(() => {
    if (isPlanned) return;
    isPlanned = true;
    requestAnimationFrame(() => {
      isPlanned = false;
      add();
    });
  }).observe(document.body, { childList: true, subtree: true });
  add();
  // Not a link to it: Redoc reads the fragment of the address as the page to show.
  document.querySelector('#skip-button')?.addEventListener('click', () => {
    const main = document.querySelector<HTMLElement>('main');
    if (main === null) return;
    main.tabIndex = -1;
    main.focus();
  });
}

function set(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}
