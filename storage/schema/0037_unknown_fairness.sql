-- An interval in which fewer than two hosts took part, or none of them did an I/O, has no fairness:
-- NULL then, where 1 stood before.
ALTER TABLE fleet_intervals ALTER COLUMN jain DROP NOT NULL;
