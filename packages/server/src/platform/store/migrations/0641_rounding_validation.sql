-- Validates the purposes of accounts, with that of rounding.
-- without transaction
-- locks: share update exclusive on gl_mapping

alter table gl_mapping validate constraint gl_mapping_purpose_enum;
