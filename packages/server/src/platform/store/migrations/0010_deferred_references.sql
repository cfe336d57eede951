-- The rows of a change are written with one statement for each table, so where tables refer to each other in cycles, or to
-- themselves, a reference can be written before the row that it names. These are checked at the commit. Rows are never
-- deleted, and whether a referenced row exists is checked before anything is written.
alter table client_group alter constraint client_group_primary_client_id_reference deferrable initially deferred;
alter table client alter constraint client_client_contact_info_id_reference deferrable initially deferred;
alter table client alter constraint client_billing_address_id_reference deferrable initially deferred;
alter table client alter constraint client_parent_client_id_reference deferrable initially deferred;
alter table contact alter constraint contact_primary_contact_info_id_reference deferrable initially deferred;
alter table contact_info alter constraint contact_info_owner_client_id_reference deferrable initially deferred;
alter table contact_info alter constraint contact_info_owner_contact_id_reference deferrable initially deferred;
alter table contact_info alter constraint contact_info_owner_office_id_reference deferrable initially deferred;
alter table department alter constraint department_head_id_reference deferrable initially deferred;
alter table department alter constraint department_parent_id_reference deferrable initially deferred;
alter table industry alter constraint industry_parent_id_reference deferrable initially deferred;
alter table staff alter constraint staff_manager_id_reference deferrable initially deferred;
