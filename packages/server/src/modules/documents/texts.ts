import type { Language } from './format.ts';
import de from './texts/de.json' with { type: 'json' };
import en from './texts/en.json' with { type: 'json' };
import es from './texts/es.json' with { type: 'json' };
import fr from './texts/fr.json' with { type: 'json' };

/** What the service writes to clients. Each language has a file with all texts, in which names in braces stand for values. */
export type Texts = typeof en;

/** The texts of one kind of document in all languages. */
export function textsOf<Kind extends keyof Texts>(kind: Kind): Readonly<Record<Language, Texts[Kind]>> {
  const languages: Readonly<Record<Language, Texts>> = { en, de, fr, es };
  return { en: languages.en[kind], de: languages.de[kind], fr: languages.fr[kind], es: languages.es[kind] };
}
