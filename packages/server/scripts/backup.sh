#!/bin/sh
# Backs up an installation and restores it: its databases and the content of files, in one order. "Back up and restore" in the run book
# says when to use which, and what the variables are.
#
#   backup.sh dump FOLDER            writes a folder with the databases as of now, and the files
#   backup.sh restore FOLDER         creates the databases and the files from it
#   backup.sh base FOLDER            copies the data directory of a PostgreSQL server, for recovery to a point in time
#   backup.sh recover FOLDER TIME    prepares such a copy: when PostgreSQL is started on it, it recovers up to that time
set -eu
umask 077

fail() {
  echo "$1" >&2
  exit 1
}

# The variable of a database: BACKUP_URL of the one with the directory, and BACKUP_URL_EAST of the database "east".
url_of() {
  case $2 in
    home) variable=$1 ;;
    *) variable=$1_$(echo "$2" | tr 'a-z-' 'A-Z_') ;;
  esac
  eval "url=\${$variable:-}"
  [ -n "$url" ] || fail "Set $variable to the address of the database \"$2\"."
  echo "$url"
}

# Writes the password of an address, whose special characters are percent-encoded.
decoded() {
  rest=$1
  while [ -n "$rest" ]; do
    case $rest in
      %[0-9A-Fa-f][0-9A-Fa-f]*)
        code=${rest#%}
        rest=${code#??}
        printf "\\$(printf %03o "0x${code%"$rest"}")"
        ;;
      *)
        printf %s "${rest%"${rest#?}"}"
        rest=${rest#?}
        ;;
    esac
  done
}

# Runs a program of PostgreSQL with an address. Every user of the machine can read the arguments of programs, so the password is not among them.
at() {
  address=$1
  shift
  password=$(printf %s "$address" | sed -n 's|^[a-z]*://[^:/@]*:\([^/@]*\)@.*|\1|p')
  set -- "$@" --dbname="$(printf %s "$address" | sed 's|^\([a-z]*://[^:/@]*\):[^/@]*@|\1@|')"
  if [ -n "$password" ]; then PGPASSWORD=$(decoded "$password") "$@"; else "$@"; fi
}

dump() {
  [ ! -e "$1" ] || fail "$1 exists. Name a new folder."
  unfinished=$1.unfinished
  rm -rf "$unfinished"
  mkdir -p "$unfinished"
  # The directory comes first: a tenant that is created or moved meanwhile is in a later dump, where "operator adopt" finds it.
  home=$(url_of BACKUP_URL home)
  names=$(at "$home" psql --no-psqlrc --quiet --tuples-only --no-align --command='select name from cell order by number')
  for name in home $names; do
    url=$(url_of BACKUP_URL "$name")
    at "$url" pg_dump --format=custom --file="$unfinished/$name.dump"
    # Functions of PostgreSQL itself, which a dump leaves out.
    at "$url" psql --no-psqlrc --quiet --tuples-only --no-align --output="$unfinished/$name.leakproof.sql" --command="
      select format('alter function pg_catalog.%I(%s) leakproof;', proname, pg_get_function_identity_arguments(oid))
      from pg_proc where proleakproof and pronamespace = 'pg_catalog'::regnamespace order by 1"
  done
  # Files come last, so that no row refers to content that the backup lacks. Objects of a bucket are copied by its own means.
  if [ -n "${DATA_DIR:-}" ]; then tar --create --file="$unfinished/files.tar" --directory="$DATA_DIR" .; fi
  mv "$unfinished" "$1"
  if [ -n "${TEXTFILE:-}" ]; then
    printf '# TYPE backup_completed_timestamp_seconds gauge\nbackup_completed_timestamp_seconds %s\n' "$(date +%s)" >"$TEXTFILE.unfinished"
    chmod 644 "$TEXTFILE.unfinished"
    mv "$TEXTFILE.unfinished" "$TEXTFILE"
  fi
}

# Statements of an administrator, who is not always a superuser.
as_admin() {
  at "${ADMIN_URL:?Set ADMIN_URL to the address of PostgreSQL for an administrator}" psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 "$@"
}

restore_database() {
  url=$(url_of RESTORED_URL "$2")
  # Parameters can have slashes too, such as sslrootcert=/etc/ca.crt.
  name=${url%%\?*}
  name=${name##*/}
  as_admin --set=user="${SERVICE_USER:?Set SERVICE_USER to the user of the service}" --set=name="$name" <<'SQL'
do 'begin create role financial_automation_service nologin; exception when duplicate_object then null; end';
grant financial_automation_service to :"user";
grant :"user" to current_user;
create database :"name" owner :"user" template template0;
SQL
  at "$url" pg_restore --no-owner --exit-on-error "$1/$2.dump"
  if [ "$(as_admin --tuples-only --no-align --command='select rolsuper from pg_roles where rolname = current_user')" = t ]; then
    { printf '\\connect "%s"\n' "$name"; cat "$1/$2.leakproof.sql"; } | as_admin --output=/dev/null
  else
    echo "Searches by a part of a name are slow until a superuser runs $1/$2.leakproof.sql in the database $name."
  fi
}

restore() {
  [ -f "$1/home.dump" ] || fail "$1 is not a backup."
  for file in "$1"/*.dump; do
    name=$(basename "$file" .dump)
    [ "$name" = home ] || restore_database "$1" "$name"
  done
  if [ -f "$1/files.tar" ]; then
    mkdir -p "${DATA_DIR:?Set DATA_DIR to the folder for the content of files}"
    tar --extract --file="$1/files.tar" --directory="$DATA_DIR"
  fi
  # The directory comes last: with it, processes can start.
  restore_database "$1" home
}

base() {
  at "${REPLICATION_URL:?Set REPLICATION_URL to the address of PostgreSQL for a user with REPLICATION}" pg_basebackup \
    --pgdata="$1" --wal-method=stream --checkpoint=fast
}

recover() {
  [ -f "$1/PG_VERSION" ] || fail "$1 is not the copy of a data directory."
  : "${ARCHIVE:?Set ARCHIVE to the folder with the archived write-ahead log}"
  # PostgreSQL knows no abbreviations of time zones, such as Z, when it reads its settings.
  case $2 in
    *Z) time=${2%Z}+00 ;;
    *) time=$2 ;;
  esac
  cat >>"$1/postgresql.auto.conf" <<CONF
restore_command = 'cp "$ARCHIVE/%f" "%p"'
recovery_target_time = '$time'
recovery_target_action = 'promote'
CONF
  touch "$1/recovery.signal"
}

case "${1:-} $#" in
  'dump 2' | 'restore 2' | 'base 2' | 'recover 3') "$@" ;;
  *) sed -n '5,9s/^# *//p' "$0" >&2 && exit 2 ;;
esac
