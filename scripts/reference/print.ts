/** The reference on one page, to print it or to search it with the browser: what the Markdown pages say, in the order of `llms.txt`. */
import { posix } from 'node:path';
import { Marked } from 'marked';

export const printPath = 'reference/print.html';

const style = `body { font: 10pt/1.45 system-ui, sans-serif; color: #1b1d26; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 15pt; border-top: 1px solid #71768a; padding-top: 1rem; margin-top: 2rem; break-after: avoid; }
h2, h3 { font-size: 11pt; break-after: avoid; }
table { border-collapse: collapse; } th, td { border: 1px solid #c4c6d0; padding: .2rem .4rem; text-align: left; vertical-align: top; }
code, pre { font-family: ui-monospace, monospace; font-size: 8.5pt; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; background: #f4f5f8; padding: .5rem; }
a { color: #1457c4; }
@media print { a { color: inherit; text-decoration: none; } }`;

/** @param pages Markdown by path, each with a title. Links between them lead to their place on the page. */
export function printPage(title: string, pages: ReadonlyMap<string, string>): string {
  const sections = [...pages].map(([path, text]) => {
    const marked = new Marked({
      renderer: { html: ({ text: html }) => html.replaceAll('&', '&amp;').replaceAll('<', '&lt;') },
      walkTokens: (token) => {
        if (token.type !== 'link' || /^[a-z]+:|^#/.test(token.href)) return;
        const target = posix.join(posix.dirname(path), token.href);
        token.href = pages.has(target) ? `#${idOf(target)}` : posix.relative(posix.dirname(printPath), target);
      },
    });
    return `<section id="${idOf(path)}">\n${marked.parse(text, { async: false })}</section>`;
  });
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
${sections.join('\n')}
</body>
</html>
`;
}

function idOf(path: string): string {
  return path.replace(/^reference\//, '').replaceAll(/[/.]/g, '-');
}
