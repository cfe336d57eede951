-- Texts as _search compares them: by the folding of Unicode, without case and accents.
-- locks: none

-- By parts of PostgreSQL itself, so that it needs no extension, is the same on both engines, and can be inlined: PostgreSQL uses an index under row-level
-- security only for functions that are declared leakproof (platform/store/leakproof.ts). Upper case first, because ς and σ have the same. The
-- marks are those of Latin, Greek, Cyrillic, Hebrew and Arabic; in other scripts they are letters.
create function search_text(value text) returns text
  language sql immutable parallel safe
  return regexp_replace(
    normalize(
      translate(
        replace(replace(replace(lower(upper(value collate fa_case) collate fa_case) collate "C", 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'),
        'øłđħŧı', 'oldhti'),
      nfkd) collate "C",
    U&'[\0300-\036F\0591-\05C7\064B-\065F\0670\1AB0-\1AFF\1DC0-\1DFF\20D0-\20FF\FE20-\FE2F]', '', 'g') collate "C";
