/**
 * Redoc shows its maker's logo from the maker's server. The page is to ask no other host for anything, so the name stands
 * there as an image of its own.
 */
const logos = ['https://cdn.redoc.ly/redoc/logo-mini-full.svg', 'https://cdn.redoc.ly/redoc/logo-mini.svg'];

const name =
  "<svg xmlns='http://www.w3.org/2000/svg' width='44' height='14'><text y='11' font-family='sans-serif' font-size='11' fill='%238a94a6'>Redocly</text></svg>";

/** The page without the images of other hosts. Throws where Redoc has changed them. */
export function withoutForeignImages(page: string): string {
  return logos.reduce((text, logo) => {
    if (!text.includes(logo)) throw changed(`load ${logo}`);
    return text.replaceAll(logo, `data:image/svg+xml,${name}`);
  }, page);
}

/**
 * The page with its links as addresses within it. Redoc renders them for a server (`/clients`) and follows them by program;
 * opened in another tab or copied, they would lead to nowhere.
 */
export function withLinksInside(page: string): string {
  const [rendered = '', ...programs] = page.split('<script type="module">');
  if (!rendered.includes('href="/')) throw changed('link to "/…"');
  return [rendered.replaceAll('href="/', 'href="#/'), ...programs].join('<script type="module">');
}

function changed(what: string): Error {
  return new Error(`Redoc does not ${what} any more. See what it does now, and change scripts/reference/alone.ts.`);
}
