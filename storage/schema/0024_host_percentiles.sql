ALTER TABLE percentile_figures
ADD COLUMN worker_index integer,
ADD COLUMN metric text,
ADD COLUMN is_reported boolean;
COMMENT ON TABLE percentile_figures IS
'The report''s percentiles of the fleet and of hosts, of a workload or of all (empty), with the '
'bounds of their 95 % confidence intervals';
