-- The form in which searches compare texts: composed, in lower case by the rules of Unicode, and the same in every locale of a database. lower()
-- without a collation would leave Ü in the locale C, and turn I into ı in Turkish. What lower() writes differently by its place
-- in a word or with a mark of its own, the end of a Greek word and the Turkish İ, is written as elsewhere.
CREATE FUNCTION "search_fold"(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN replace(translate(lower(normalize($1) COLLATE "und-x-icu"), U&'\03C2', U&'\03C3'), U&'i\0307', 'i');
