import { createHash } from 'node:crypto';
import { Html } from '../../../wire/html.ts';

/**
 * Looks every five seconds whether the page has another title, and reloads it only then: an automatic reload would interrupt
 * readers of the page, and move the focus of a screen reader. Without scripts, payers follow the link of the page.
 */
const script = `
addEventListener('DOMContentLoaded', () => {
  for (const note of document.querySelectorAll('[data-watched]')) note.hidden = false;
  const look = async () => {
    try {
      const response = await fetch(location.href, { cache: 'no-store' });
      const page = new DOMParser().parseFromString(await response.text(), 'text/html');
      if ([200, 410].includes(response.status) && page.title !== document.title) return location.reload();
    } catch {}
    setTimeout(look, 5000);
  };
  setTimeout(look, 5000);
});
`;

/** The element that makes a page look for its next state. */
export const watchElement = new Html(`<script>${script}</script>`);

/** For the content security policy. */
export const watchHash = `'sha256-${createHash('sha256').update(script).digest('base64')}'`;
