import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { pageHeaders } from './pages.ts';

const hashOf = (script: string) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`;

test('a page can only run its own scripts, identified by their hashes', () => {
  const html = '<p>a</p><script>one()</script><SCRIPT type="module">\ntwo("</p>")\n</SCRIPT ><script>one()</script>';
  const policy = pageHeaders(html)['Content-Security-Policy'];
  expect(policy).toContain(`script-src ${hashOf('one()')} ${hashOf('\ntwo("</p>")\n')};`);
  expect(pageHeaders('<p>a</p>')['Content-Security-Policy']).toContain(`script-src 'none';`);
});
