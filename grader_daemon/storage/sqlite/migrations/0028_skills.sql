-- Which skills a session used and how, as a list of [name, how]; NULL is what nobody knows, which is not [].
ALTER TABLE session_details ADD COLUMN skills TEXT;
ALTER TABLE session_list ADD COLUMN skills TEXT;
