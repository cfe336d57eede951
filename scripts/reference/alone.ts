/**
 * Redoc shows its maker's logo from the maker's server. The page is to ask no other host for anything, so the name stands
 * there as an image of its own.
 */
const logos = ['https://cdn.redoc.ly/redoc/logo-mini-full.svg', 'https://cdn.redoc.ly/redoc/logo-mini.svg'];

const name =
  "<svg xmlns='http://www.w3.org/2000/svg' width='44' height='14'><text y='11' font-family='sans-serif' font-size='11' fill='%23666'>Redocly</text></svg>";

/** The page without the images of other hosts. Throws where Redoc has changed them. */
export function alone(page: string): string {
  return logos.reduce((text, logo) => {
    if (!text.includes(logo))
      throw new Error(`Redoc does not load ${logo} any more. See what it loads now: scripts/reference/alone.ts`);
    return text.replaceAll(logo, `data:image/svg+xml,${name}`);
  }, page);
}
