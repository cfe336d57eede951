-- People who sign in to the console at an identity provider: who they are there.
-- locks: access exclusive on api_user

alter table api_user add column identity text collate "C";
