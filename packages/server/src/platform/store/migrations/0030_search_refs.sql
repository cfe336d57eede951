-- People search clients and jobs by a part of their number, also from contacts and from clients.
create index client_refs_index on client using gin (tenant_id, client_ref gin_trgm_ops,
    (lower(client_ref collate fa_case) collate "C") gin_trgm_ops);
create index job_refs_index on job using gin (tenant_id, job_ref gin_trgm_ops,
    (lower(job_ref collate fa_case) collate "C") gin_trgm_ops);
