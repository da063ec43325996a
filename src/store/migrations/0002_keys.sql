-- Keys say what they are for; the role that was called user is called member.
ALTER TABLE api_key ADD COLUMN label TEXT NOT NULL DEFAULT '';
UPDATE api_key SET role = 'member' WHERE role = 'user';
