-- The trace of the call that caused an event (W3C Trace Context), which deliveries pass on; null where it had none.
alter table outbox_event add column traceparent text collate "C";
