/**
 * Redoc loads its maker's logo from another host. The page must not access other hosts, so the name is embedded as an
 * image.
 */
const logos = ['https://cdn.redoc.ly/redoc/logo-mini-full.svg', 'https://cdn.redoc.ly/redoc/logo-mini.svg'];

const name =
  "<svg xmlns='http://www.w3.org/2000/svg' width='44' height='14'><text y='11' font-family='sans-serif' font-size='11' fill='%238a94a6'>Redocly</text></svg>";

/** Returns the page without images of other hosts. Throws if Redoc has changed them. */
export function withoutForeignImages(page: string): string {
  return logos.reduce((text, logo) => {
    if (!text.includes(logo)) throw changed(`loads ${logo}`);
    return text.replaceAll(logo, `data:image/svg+xml,${name}`);
  }, page);
}

/**
 * Returns the page with fragment links. Redoc renders links for a server (`/clients`) and follows them by script; opened
 * in another tab or copied, they would be broken.
 */
export function withLinksInside(page: string): string {
  const [rendered = '', ...programs] = page.split('<script type="module">');
  if (!rendered.includes('href="/')) throw changed('links to "/…"');
  return [rendered.replaceAll('href="/', 'href="#/'), ...programs].join('<script type="module">');
}

function changed(behavior: string): Error {
  return new Error(`Redoc no longer ${behavior}. Check its current behavior, and change scripts/reference/alone.ts.`);
}
