import type { Pool } from 'pg';

/**
 * Describes the schema of a database as SQL that can be read: each table with its constraints, indexes, policies, privileges and triggers,
 * and each function, by name. Two databases with the same description have the same schema, whatever their engine and version.
 *
 * Not in it: partitions by month, which the service adds and drops; and whether functions are LEAKPROOF, which depends on the privileges of
 * the user who migrates.
 */
export async function describeSchema(pool: Pool): Promise<string> {
  const texts = await Promise.all(sections.map(async (section) => (await pool.query<Row>(section)).rows));
  return `${texts
    .flat()
    .map(({ text }) => text.trim())
    .join('\n\n')}\n`;
}

interface Row {
  readonly text: string;
}

const ours = `nspname = 'public'`;
/** Objects that an extension owns come with it. */
const own = (catalog: string, id: string) =>
  `not exists (select from pg_depend where classid = '${catalog}'::regclass and objid = ${id} and deptype = 'e')`;

const sections = [
  `select format('create extension %I;', extname) as text from pg_extension where extname <> 'plpgsql' order by extname`,
  `select format('create collation %I;', collname) as text from pg_collation c join pg_namespace n on n.oid = collnamespace
   where ${ours} order by collname`,
  `select format('create type %I.%I as %s;', nspname, typname,
     coalesce('enum (' || (select string_agg(quote_literal(enumlabel), ', ' order by enumsortorder) from pg_enum where enumtypid = t.oid) || ')',
       '(' || (select string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' order by attnum) from pg_attribute where attrelid = typrelid) || ')')) as text
   from pg_type t join pg_namespace n on n.oid = typnamespace left join pg_class c on c.oid = typrelid
   where ${ours} and (typtype = 'e' or (typtype = 'c' and relkind = 'c')) and ${own('pg_type', 't.oid')} order by 1`,
  `select format('create sequence %I;', relname) as text from pg_class c join pg_namespace n on n.oid = relnamespace
   where ${ours} and relkind = 'S' and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype in ('a', 'i'))
   order by relname`,
  // Tables, each with what belongs to it.
  `select format(E'create table %s (\\n%s\\n)%s;', c.oid::regclass, (
       select string_agg('  ' || line, E',\\n' order by kind, position, line) from (
         select 1 as kind, attnum::integer as position, concat_ws(' ', quote_ident(attname), format_type(atttypid, atttypmod),
             case when attcollation not in (0, t.typcollation) then 'collate ' || quote_ident(collname) end,
             case when attidentity <> '' then 'generated ' || case attidentity when 'a' then 'always' else 'by default' end || ' as identity' end,
             case when attgenerated <> '' then 'generated always as (' || pg_get_expr(adbin, adrelid, true) || ') stored'
                  when adbin is not null then 'default ' || pg_get_expr(adbin, adrelid, true) end,
             case when attnotnull then 'not null' end) as line
         from pg_attribute a join pg_type t on t.oid = atttypid left join pg_collation l on l.oid = attcollation
         left join pg_attrdef d on adrelid = attrelid and adnum = attnum
         where attrelid = c.oid and attnum > 0 and not attisdropped
         union all
         select 2, 0, format('constraint %I %s', conname, pg_get_constraintdef(k.oid, true)) from pg_constraint k
         where conrelid = c.oid and contype in ('p', 'u', 'c', 'f', 'x') and conparentid = 0) lines),
     case when relkind = 'p' then ' partition by ' || pg_get_partkeydef(c.oid) else '' end
     || case when reloptions is not null then ' with (' || array_to_string(reloptions, ', ') || ')' else '' end)
   || coalesce((select E'\\n' || string_agg(pg_get_indexdef(i.indexrelid, 0, true) || ';', E'\\n' order by i.indexrelid::regclass::text) from pg_index i
       where indrelid = c.oid and not exists (select from pg_constraint where conindid = i.indexrelid and contype in ('p', 'u', 'x'))), '')
   || case when relrowsecurity then format(E'\\nalter table %s enable row level security%s;', c.oid::regclass, case when relforcerowsecurity then ', force row level security' else '' end) else '' end
   || coalesce((select E'\\n' || string_agg(format('create policy %I on %s for %s to %s%s%s;', polname, c.oid::regclass,
         case polcmd when '*' then 'all' when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' else 'delete' end,
         (select string_agg(case when role = 0 then 'public' when role = c.relowner then 'the owner' else pg_get_userbyid(role) end, ', ') from unnest(polroles) role),
         ' using (' || pg_get_expr(polqual, polrelid, true) || ')', ' with check (' || pg_get_expr(polwithcheck, polrelid, true) || ')'), E'\\n' order by polname)
       from pg_policy where polrelid = c.oid), '')
   || coalesce((select E'\\n' || string_agg(format('grant %s on %s to %I;', privileges, c.oid::regclass, grantee), E'\\n' order by grantee)
       from (select pg_get_userbyid(a.grantee) as grantee, string_agg(lower(privilege_type), ', ' order by privilege_type) as privileges
         from aclexplode(relacl) a where a.grantee not in (0, relowner) group by a.grantee) grants), '')
   || coalesce((select E'\\n' || string_agg(format('grant %s (%I) on %s to %I;', lower(privilege_type), attname, c.oid::regclass, pg_get_userbyid(a.grantee)), E'\\n' order by attname, privilege_type)
       from pg_attribute, aclexplode(attacl) a where attrelid = c.oid and not attisdropped and a.grantee <> relowner), '')
   || coalesce((select E'\\n' || string_agg(pg_get_triggerdef(g.oid, true) || ';' || case tgenabled when 'O' then '' else ' -- ' || tgenabled::text end, E'\\n' order by tgname) from pg_trigger g
       where tgrelid = c.oid and not tgisinternal and tgparentid = 0), '') as text
   from pg_class c join pg_namespace n on n.oid = relnamespace
   where ${ours} and relkind in ('r', 'p') and not relispartition and relname not in ('schema_migration', 'schema_expansion') and ${own('pg_class', 'c.oid')}
   order by nspname desc, relname`,
  `select format(E'create view %s%s as\\n%s', c.oid::regclass, case when reloptions is not null then ' with (' || array_to_string(reloptions, ', ') || ')' else '' end, pg_get_viewdef(c.oid, true))
   || coalesce((select E'\\n' || string_agg(format('grant %s on %s to %I;', lower(privilege_type), c.oid::regclass, pg_get_userbyid(a.grantee)), E'\\n' order by privilege_type) from aclexplode(relacl) a where a.grantee not in (0, relowner)), '')
   || coalesce((select E'\\n' || string_agg(pg_get_triggerdef(g.oid, true) || ';', E'\\n' order by tgname) from pg_trigger g where tgrelid = c.oid), '') as text
   from pg_class c join pg_namespace n on n.oid = relnamespace where ${ours} and relkind in ('v', 'm') and ${own('pg_class', 'c.oid')} order by relname`,
  // The properties of a function are in one line, as migrations have them.
  String.raw`select regexp_replace(rtrim(pg_get_functiondef(p.oid), chr(10)), '\n( (?=RETURNS |LANGUAGE |IMMUTABLE|STABLE|STRICT|PARALLEL |SECURITY |SET )|(?=AS \$))', ' ', 'g') || ';'
   || case when proacl is null or exists (select from aclexplode(proacl) a where a.grantee = 0) then '' else coalesce(E'\n' || (select string_agg(format('grant execute to %s', case when a.grantee = 0 then 'public' else pg_get_userbyid(a.grantee) end), E'\n' order by a.grantee::regrole::text) from aclexplode(proacl) a where a.grantee <> proowner), E'\n-- for its owner alone') end as text
   from pg_proc p join pg_namespace n on n.oid = pronamespace
   where ${ours} and prokind in ('f', 'p') and ${own('pg_proc', 'p.oid')}
   order by nspname desc, proname, pg_get_function_identity_arguments(p.oid)`,
  `select pg_get_statisticsobjdef(s.oid) || ';' as text from pg_statistic_ext s join pg_namespace n on n.oid = stxnamespace where ${ours} order by stxname`,
  `select format('create event trigger %I on %s execute function %s();', evtname, evtevent, evtfoid::regproc) as text from pg_event_trigger order by evtname`,
  `select format('comment on %s is %L;', pg_describe_object(classoid, objoid, objsubid), description) as text
   from pg_description d where classoid in ('pg_class'::regclass, 'pg_proc'::regclass, 'pg_constraint'::regclass, 'pg_trigger'::regclass)
     and objoid >= 16384 and not exists (select from pg_depend p where p.objid = d.objoid and deptype = 'e') order by 1`,
];
